"""`espalier fix worker-pools`: raises `maximum` where a pool has more zones than nodes."""

import argparse
import asyncio
import sys
from typing import Final, NamedTuple

from rich.console import Console
from rich.progress import Progress

from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cli import connection
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError
from webhook.kube.meta import Draft, ObjectKey

_FAILED: Final = 1
_UNUSABLE: Final = 2


class Repair(NamedTuple):
    """The repair of one shoot: a JSON patch that fails if the pools have changed."""

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
    parser.add_argument("--dry-run", action="store_true", help="only print what would change")
    connection.add_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Repair shoots; 1 if one could not be repaired, 2 if they cannot be read."""
    try:
        return asyncio.run(_run(args))
    except (ConfigError, ApiError, OSError) as error:
        print(f"espalier fix: {error}", file=sys.stderr)
        return _UNUSABLE


def plan(shoot: Shoot) -> Repair | None:
    """Return the repair of a shoot; None if no pool needs one.

    A pool with maximum 0 needs none. The patch tests name and maximum of each pool, so that it
    fails if they have changed.
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
    console = Console(stderr=True)
    async with connection.connect(args) as client:
        seen, repairs = await _find(client)
        failures: list[str] = []
        if not args.dry_run:
            with Progress(console=console, transient=True) as progress:
                for repair in progress.track(repairs, description="repairing shoots"):
                    failures += await _repair(client, repair)
    for repair in repairs:
        print(f"{repair.key}: {', '.join(repair.raised)}")
    for failure in failures:
        print(failure, file=sys.stderr)
    done = "would be repaired" if args.dry_run else f"repaired, {len(failures)} failed"
    number = len(repairs) - len(failures)
    print(f"{seen} shoots checked, {number} {done}", file=sys.stderr)
    return _FAILED if failures else 0


async def _find(client: Client) -> tuple[int, list[Repair]]:
    shoots = await client.list_objects(Shoot)
    repairs = [repair for shoot in shoots if (repair := plan(shoot)) is not None]
    return len(shoots), repairs


async def _repair(client: Client, repair: Repair) -> list[str]:
    try:
        await client.patch(kind_of_model(Shoot), repair.key, repair.patch)
    except ApiError as error:
        return [f"{repair.key}: not repaired: {error}"]
    return []
