"""`kubectl espalier schedule`: prints when which floors of scheduled scaling apply."""

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
from webhook.cli import connection, svg
from webhook.cli.schedule import drawing, terminal
from webhook.cli.schedule.timeline import lanes
from webhook.cluster.config import ConfigError
from webhook.cluster.documents import read
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import Selection

_UNUSABLE: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Show the windows of ScheduledScalings on a timeline, grouped by Tortoise, with the "
        "floors that apply in them. All times are UTC."
    )
    parser.add_argument("-n", "--namespace", default="", help="only this namespace (default: all)")
    parser.add_argument("--days", type=float, default=7, help="length of the timeline (default 7)")
    parser.add_argument("--svg", metavar="FILE", help="also write the timeline to an SVG file")
    connection.add_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the timeline; 2 if the cluster cannot be read."""
    if not 0 < arguments.days <= 366:
        print("--days: must be more than 0 and at most 366", file=sys.stderr)
        return _UNUSABLE
    try:
        scalings = asyncio.run(_read(arguments))
    except (ConfigError, ApiError) as error:
        print(f"the cluster cannot be read: {error}", file=sys.stderr)
        return _UNUSABLE
    since = datetime.now(UTC).replace(microsecond=0)
    until = since + timedelta(days=arguments.days)
    found = lanes(scalings, since, until)
    width = shutil.get_terminal_size((100, 24)).columns
    print(terminal.draw(found, since, until, width), end="")
    if arguments.svg:
        try:
            picture = svg.write(drawing.draw(found, since, until))
            Path(arguments.svg).write_text(picture, encoding="utf-8")
        except OSError as error:
            print(f"cannot write {arguments.svg}: {error.strerror}", file=sys.stderr)
            return _UNUSABLE
    return 0


async def _read(arguments: argparse.Namespace) -> Sequence[ScheduledScaling]:
    kind = kind_of_model(ScheduledScaling)
    found: list[ScheduledScaling] = []
    async with connection.connect(arguments) as client:
        try:
            async for page in client.pages(Selection(kind, arguments.namespace)):
                for item in page.items:
                    entry = read(kind, item).entry
                    if entry is not None and isinstance(entry.object, ScheduledScaling):
                        found.append(entry.object)
        except NotFoundError:
            return ()  # the kind is not served
    return found
