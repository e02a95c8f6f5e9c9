"""`espalier doctor`: what is missing on this machine, and what Espalier would do in a cluster."""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final

from rich.console import Console
from rich.table import Table

from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.cli import connection
from webhook.cli.install.examine import cluster
from webhook.cli.install.examine.machine import CheckState, DoctorCheck, examine_machine
from webhook.cli.install.flags import add_features, add_own
from webhook.cli.install.layout import Layout
from webhook.cluster import discovery, gardener_marker
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError, ForbiddenError
from webhook.cluster.requests import ApiRequest, Selection
from webhook.domain.features import FEATURE_NAMES, closure

_COLOURS: Final = {"ok": "green", "missing": "red", "optional": "yellow", "note": "cyan"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Check this machine and, if there is a kubeconfig, a cluster: who serves which kinds, "
        "what Espalier would manage, which permissions are missing. Nothing is changed."
    )
    connection.add_flags(parser)
    parser.add_argument(
        "--namespace",
        default=Layout().namespace,
        help="namespace of Espalier (default %(default)s)",
    )
    add_features(parser)
    add_own(parser)
    parser.add_argument("--no-cluster", action="store_true", help="check this machine only")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")


def run(arguments: argparse.Namespace) -> int:
    """Print all checks; 1 if something required is missing."""
    checks = list(examine_machine())
    if not arguments.no_cluster:
        checks += asyncio.run(_cluster(arguments))
    _show(checks, arguments.output)
    return 1 if any(check.state == "missing" for check in checks) else 0


async def _cluster(arguments: argparse.Namespace) -> list[DoctorCheck]:
    """Check the cluster; it is required if a flag names it, else optional."""
    state: CheckState = "missing" if arguments.kubeconfig or arguments.context else "optional"
    try:
        async with connection.connect(arguments) as client:
            layout = Layout(
                namespace=arguments.namespace,
                own=arguments.own,
                features=closure(arguments.features or FEATURE_NAMES),
            )
            return await _examine(client, layout)
    except (ConfigError, ApiError, OSError) as error:
        return [DoctorCheck(state, "cluster", f"cannot be read: {error}")]


async def _examine(client: Client, layout: Layout) -> list[DoctorCheck]:
    """Run all checks of a cluster; one that fails does not stop the others."""
    checks: list[DoctorCheck] = []
    with suppress(ForbiddenError):
        await client.document(ApiRequest("GET", "/version"))
    async with _recording_errors(checks, "landscape"):
        found = await discovery.read_installed_apis(client)
        served = await discovery.discover(client)
        was_seen = await gardener_marker.marker_exists(client, layout.namespace)
        layout = replace(layout, beside_gardener=found.has_gardener or was_seen)
        checks += cluster.examine_landscape(found, served, layout, was_seen=was_seen)
        if found.has_gardener:
            async with _recording_errors(checks, "rollouts"):
                sets = await client.list(Selection(kind_of_model(ManagedSeedSet)))
                checks += cluster.examine_rollouts(sets)
    async with _recording_errors(checks, "rights"):
        for rule in await cluster.missing_permissions(client, layout):
            message = f"you may not {', '.join(rule.verbs)}; the server needs this: {rule.why}"
            checks.append(DoctorCheck("optional", rule.resource, message))
    return checks


@asynccontextmanager
async def _recording_errors(checks: list[DoctorCheck], subject: str) -> AsyncIterator[None]:
    try:
        yield
    except ApiError as error:
        checks.append(DoctorCheck("optional", subject, f"cannot be checked: {error}"))


def _show(checks: Iterable[DoctorCheck], output: str) -> None:
    if output == "json":
        print(json.dumps([check._asdict() for check in checks], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("", "check", "result"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        colour = _COLOURS[check.state]
        table.add_row(f"[{colour}]{check.state}[/]", check.subject, check.message)
    Console(file=sys.stdout, highlight=False).print(table)
