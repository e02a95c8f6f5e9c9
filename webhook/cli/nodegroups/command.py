"""`kubectl espalier nodegroups`: pools and zones with their bounds, sizes and troubles."""

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

from webhook.cli.nodegroups import listing
from webhook.cli.nodegroups.listing import Row
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError
from webhook.domain.pools import DiscoveryError, Unfit, discoveries
from webhook.runtime.clock import SystemClock
from webhook.settings import Settings

NAME: Final = "nodegroups"
HELP: Final = "show worker pools as node groups, with bounds, sizes and troubles"

_POLL_SECONDS: Final = 1.0
_WIDE: Final = 200


class Seen(NamedTuple):
    """What there is at one moment."""

    rows: list[Row]
    unfit: list[Unfit]

    @property
    def json(self) -> dict[str, Any]:
        """Spell it for programs."""
        left_out = [{"name": each.name, "why": each.why} for each in self.unfit]
        return {"groups": [row.json for row in self.rows], "leftOut": left_out}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    add = parser.add_argument
    add("-n", "--namespace", default="", help="one shoot's namespace; without it all of them")
    add("-w", "--watch", action="store_true", help="go on until interrupted")
    add("-o", "--output", choices=("table", "json"), default="table", help="how to print")
    add("--kubeconfig", help="the kubeconfig file to use")
    add("--context", help="the context of the kubeconfig to use")
    default = Settings.model_fields["namespace"].default
    add("--espalier-namespace", default=default, help=f"where records are (default {default})")
    add(
        "--node-group-auto-discovery",
        action="append",
        default=[],
        metavar="mcm:KEY[=VALUE]",
        help="as the server was told; repeatable",
    )


def run(args: argparse.Namespace) -> int:
    """Show; 1 if there is nothing to show, 2 if nobody could be asked."""
    try:
        discoveries(tuple(args.node_group_auto_discovery))
        return asyncio.run(_run(args))
    except (ConfigError, ApiError, DiscoveryError) as error:
        print(f"nodegroups: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


async def _run(args: argparse.Namespace) -> int:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
    access = await config.load(args.kubeconfig, args.context)
    async with Client(access) as client:
        seen = await _look(args, client)
        if args.watch:
            await _watch(args, client, console, seen)
        elif args.output == "json":
            print(json.dumps(seen.json, indent=2))
        else:
            console.print(_shown(*seen))
    return 0 if seen.rows else 1


async def _watch(args: argparse.Namespace, client: Client, console: Console, seen: Seen) -> None:
    """Go on showing: in place on a terminal, else whatever changed, one JSON document a line."""
    in_place = args.output != "json" and console.is_terminal
    with Live(console=console, auto_refresh=False) if in_place else nullcontext() as live:
        shown = None
        while True:
            if live is not None:
                live.update(_shown(*seen), refresh=True)
            elif seen != shown and args.output == "json":
                print(json.dumps(seen.json), flush=True)
            elif seen != shown:
                console.print(_shown(*seen))
                sys.stdout.flush()
            shown = seen
            await asyncio.sleep(_POLL_SECONDS)
            try:
                seen = await _look(args, client)
            except ApiError as error:  # it may be back in a moment
                print(f"nodegroups: {' '.join(str(error).split())}", file=sys.stderr)


async def _look(args: argparse.Namespace, client: Client) -> Seen:
    now = SystemClock().now()
    specs = tuple(args.node_group_auto_discovery)
    snapshot = await listing.read(client, args.namespace, args.espalier_namespace, specs, now)
    views = listing.views_of(snapshot)
    rows = [row for view in views for row in listing.rows_of(snapshot, view)]
    return Seen(rows, [each for view in views for each in view.unfit])


def _shown(rows: Iterable[Row], unfit: Iterable[Unfit]) -> RenderableType:
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
    left_out = [Text(f"left out: {each.name}: {each.why}") for each in unfit]
    return Group(table, *left_out)


def _state(row: Row) -> str:
    if row.bad_until is not None:
        return f"bad until {row.bad_until:%H:%M:%S}"
    if row.standing != "good":
        return "bad, as cluster-autoscaler says" if row.standing == "bad" else "on trial"
    return "rolling" if row.is_rolling else ""
