"""`kubectl espalier nodegroups`: lists pools and zones with bounds, sizes and states."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from webhook.cli import connection
from webhook.cli.nodegroups import listing
from webhook.cli.nodegroups.listing import Disagreement, GroupRow
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError
from webhook.domain.pools.discovery import DiscoveryError, UnusableDeployment, discoveries
from webhook.kube.clock import SystemClock
from webhook.settings import Settings

_POLL_SECONDS: Final = 1.0
_PIPE_WIDTH: Final = 200
"""Wide enough that output to a program is not wrapped."""


class Listing(NamedTuple):
    """All node groups at one moment, and what is wrong with pools and MachineDeployments."""

    rows: list[GroupRow]
    unusable: list[UnusableDeployment]
    disagreements: list[Disagreement]

    @property
    def json(self) -> dict[str, Any]:
        """Return the JSON of `-o json`."""
        left_out = [{"name": each.name, "why": each.why} for each in self.unusable]
        return {
            "groups": [row.json for row in self.rows],
            "leftOut": left_out,
            "disagreements": [each.json for each in self.disagreements],
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    add = parser.add_argument
    add("-n", "--namespace", default="", help="namespace of one shoot (default: all)")
    add("-w", "--watch", action="store_true", help="update until interrupted")
    add(
        "-o",
        "--output",
        choices=("table", "json"),
        default="table",
        help="output format (default %(default)s)",
    )
    connection.add_flags(parser)
    default = Settings.model_fields["namespace"].default
    add(
        "--espalier-namespace",
        default=default,
        help=f"namespace of the pool records (default {default})",
    )
    add(
        "--node-group-auto-discovery",
        action="append",
        default=[],
        metavar="mcm:KEY[=VALUE]",
        help="the flag of the server; repeatable",
    )


def run(args: argparse.Namespace) -> int:
    """Print node groups; 1 if there are none, 2 if the cluster cannot be read."""
    try:
        discoveries(tuple(args.node_group_auto_discovery))
        return asyncio.run(_run(args))
    except (ConfigError, ApiError, DiscoveryError) as error:
        print(f"nodegroups: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


async def _run(args: argparse.Namespace) -> int:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    async with connection.connect(args) as client:
        found = await _read(args, client)
        if args.watch:
            await _watch(args, client, console, found)
        elif args.output == "json":
            print(json.dumps(found.json, indent=2))
        else:
            console.print(_render(*found))
    return 0 if found.rows else 1


async def _watch(
    args: argparse.Namespace, client: Client, console: Console, found: Listing
) -> None:
    """Print updates: in place on a terminal, else each change, as JSON one document a line."""
    in_place = args.output != "json" and console.is_terminal
    with Live(console=console, auto_refresh=False) if in_place else nullcontext() as live:
        printed = None
        while True:
            if live is not None:
                live.update(_render(*found), refresh=True)
            elif found != printed and args.output == "json":
                print(json.dumps(found.json), flush=True)
            elif found != printed:
                console.print(_render(*found))
                sys.stdout.flush()
            printed = found
            await asyncio.sleep(_POLL_SECONDS)
            try:
                found = await _read(args, client)
            except ApiError as error:  # may be temporary
                print(f"nodegroups: {' '.join(str(error).split())}", file=sys.stderr)


async def _read(args: argparse.Namespace, client: Client) -> Listing:
    now = SystemClock().now()
    specs = tuple(args.node_group_auto_discovery)
    snapshot = await listing.read(client, args.namespace, args.espalier_namespace, specs, now)
    views = listing.views_of(snapshot)
    rows = [row for view in views for row in listing.rows_of(snapshot, view)]
    unusable = [each for view in views for each in view.unusable]
    differing = [each for view in views for each in listing.disagreements_of(view)]
    return Listing(rows, unusable, differing)


def _render(
    rows: Iterable[GroupRow],
    unusable: Iterable[UnusableDeployment],
    disagreements: Iterable[Disagreement],
) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("NAMESPACE", "POOL", "ZONE"):
        table.add_column(title, overflow="fold")
    for title in ("MIN", "MAX", "ASSIGNED", "READY"):
        table.add_column(title, justify="right")
    for title in ("STATE", "PERMITS", "STRATEGY"):
        table.add_column(title)
    for row in rows:
        table.add_row(
            *(row.namespace, row.pool, row.zone),
            *(str(each) for each in (row.minimum, row.maximum, row.assigned, row.ready)),
            *(_state(row), row.permits, row.strategy),
        )
    left_out = [Text(f"left out: {each.name}: {each.why}") for each in unusable]
    differing = [Text(each.text) for each in disagreements]
    return Group(table, *differing, *left_out)


def _state(row: GroupRow) -> str:
    if row.bad_until is not None:
        return f"bad until {row.bad_until:%H:%M:%S}"
    if row.health != "good":
        return "bad, reported by cluster-autoscaler" if row.health == "bad" else "on trial"
    return "rolling" if row.is_rolling else ""
