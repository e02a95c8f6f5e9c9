"""`kubectl espalier schedule`: a timeline of windows and their floors for the next days."""

import argparse
import asyncio
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from webhook.api.kinds import kind_of_model
from webhook.api.scaling import ScheduledScaling
from webhook.cli.schedule import drawing, texts
from webhook.cli.schedule.timeline import lanes
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.documents import read
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import Selection

NAME: Final = "schedule"
HELP: Final = "show when which floors of scheduled scaling hold, for the next days"

_UNUSABLE: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Draw the windows of ScheduledScalings on a line of time, Tortoise by Tortoise, with the "
        "floors that hold in them. All times are UTC."
    )
    parser.add_argument("-n", "--namespace", default="", help="only this one; without it, all")
    parser.add_argument("--days", type=float, default=7, help="how far to look (default 7)")
    parser.add_argument("--svg", metavar="FILE", help="draw into a file, too")
    parser.add_argument("--kubeconfig", metavar="FILE", help="the cluster to look at")
    parser.add_argument("--context", metavar="NAME", help="the kubeconfig's context to use")


def run(arguments: argparse.Namespace) -> int:
    """Draw; 2 if the cluster cannot be asked."""
    if not 0 < arguments.days <= 366:
        print("--days: write a number up to 366", file=sys.stderr)
        return _UNUSABLE
    try:
        scalings = asyncio.run(_read(arguments))
    except (config.ConfigError, ApiError) as error:
        print(f"the cluster cannot be asked: {error}", file=sys.stderr)
        return _UNUSABLE
    since = datetime.now(UTC).replace(microsecond=0)
    until = since + timedelta(days=arguments.days)
    found = lanes(scalings, since, until)
    width = shutil.get_terminal_size((100, 24)).columns
    print(texts.draw(found, since, until, width), end="")
    if arguments.svg:
        try:
            Path(arguments.svg).write_text(drawing.draw(found, since, until), encoding="utf-8")
        except OSError as error:
            print(f"cannot write {arguments.svg}: {error.strerror}", file=sys.stderr)
            return _UNUSABLE
    return 0


async def _read(arguments: argparse.Namespace) -> Sequence[ScheduledScaling]:
    kind = kind_of_model(ScheduledScaling)
    access = await config.load(arguments.kubeconfig, arguments.context)
    found: list[ScheduledScaling] = []
    async with Client(access) as client:
        token = ""
        while True:
            try:
                page = await client.page(Selection(kind, arguments.namespace), token)
            except NotFoundError:
                return ()  # a kind that is not served has no objects
            for item in page.items:
                entry = read(kind, item).entry
                if entry is not None and isinstance(entry.object, ScheduledScaling):
                    found.append(entry.object)
            if not page.token:
                return found
            token = page.token
