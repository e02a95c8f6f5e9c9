"""`espalier fix worker-pools`: raise `maximum` where a pool has more zones than nodes."""

import argparse
import asyncio
import sys
from typing import Final, NamedTuple

from rich.console import Console
from rich.progress import Progress

from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError
from webhook.cluster.requests import Selection

NAME: Final = "fix"
HELP: Final = "mend objects that are older than the rules"
_FAILED: Final = 1
_UNUSABLE: Final = 2


class Repair(NamedTuple):
    """What is changed in one shoot: a JSON patch that fails if somebody was faster."""

    key: ObjectKey
    raised: tuple[str, ...]
    patch: tuple[Draft, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Raise the maximum of worker pools that have more zones than nodes to the number of their "
        "zones (document 002: fix existing clusters)."
    )
    parser.add_argument("what", choices=("worker-pools",))
    parser.add_argument("--dry-run", action="store_true", help="only say what would change")
    parser.add_argument("--kubeconfig", metavar="FILE")
    parser.add_argument("--context", metavar="NAME", help="the kubeconfig's context to use")


def run(args: argparse.Namespace) -> int:
    """Mend what needs it; 1 if some shoot could not be mended, 2 if none could be read."""
    try:
        return asyncio.run(_run(args))
    except (config.ConfigError, ApiError, OSError) as error:
        print(f"espalier fix: {error}", file=sys.stderr)
        return _UNUSABLE


def plan(shoot: Shoot) -> Repair | None:
    """Say what a shoot needs; a pool without nodes, or one that suffices, is left alone.

    Each raise is guarded by the pool's name and its maximum, so a shoot that has changed
    meanwhile is not touched.
    """
    patch: list[Draft] = []
    raised = []
    for index, pool in enumerate(shoot.spec.provider.workers):
        zones = len(pool.zones)
        if 0 < pool.maximum < zones:
            path = f"/spec/provider/workers/{index}"
            patch += [
                {"op": "test", "path": f"{path}/name", "value": pool.name},
                {"op": "test", "path": f"{path}/maximum", "value": pool.maximum},
                {"op": "replace", "path": f"{path}/maximum", "value": zones},
            ]
            raised.append(f"{pool.name}: {pool.maximum} → {zones}")
    return Repair(shoot.key, tuple(raised), tuple(patch)) if patch else None


async def _run(args: argparse.Namespace) -> int:
    access = await config.load(args.kubeconfig or None, args.context or None)
    console = Console(stderr=True)
    async with Client(access) as client:
        seen, repairs = await _find(client)
        failures: list[str] = []
        if not args.dry_run:
            with Progress(console=console, transient=True) as progress:
                for repair in progress.track(repairs, description="mending shoots"):
                    failures += await _mend(client, repair)
    for repair in repairs:
        print(f"{repair.key}: {', '.join(repair.raised)}")
    for failure in failures:
        print(failure, file=sys.stderr)
    done = "would be mended" if args.dry_run else f"mended, {len(failures)} failed"
    number = len(repairs) - len(failures)
    print(f"{seen} shoots looked at, {number} {done}", file=sys.stderr)
    return _FAILED if failures else 0


async def _find(client: Client) -> tuple[int, list[Repair]]:
    repairs, seen, token = [], 0, ""
    while True:
        page = await client.page(Selection(kind_of_model(Shoot)), token)
        for item in page.items:
            seen += 1
            repair = plan(decode(Shoot, item))
            if repair is not None:
                repairs.append(repair)
        token = page.token
        if not token:
            return seen, repairs


async def _mend(client: Client, repair: Repair) -> list[str]:
    try:
        await client.patch(kind_of_model(Shoot), repair.key, repair.patch)
    except ApiError as error:
        return [f"{repair.key}: not mended: {error}"]
    return []
