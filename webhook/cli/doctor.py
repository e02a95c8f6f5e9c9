"""`espalier doctor`: what is missing on this machine, and what would happen in a cluster."""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final

from rich.console import Console
from rich.table import Table

from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.cli.install import prospects
from webhook.cli.install.examination import Finding, State, machine
from webhook.cli.install.layout import Layout
from webhook.cluster import config, landscape, remembrance
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, ForbiddenError
from webhook.cluster.requests import Request, Selection

NAME: Final = "doctor"
HELP: Final = "say what is missing on this machine, and what Espalier would do in a cluster"
_COLOURS: Final = {"ok": "green", "missing": "red", "optional": "yellow", "note": "cyan"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Look at this machine and, where a kubeconfig leads to one, at a cluster: who serves "
        "which kinds, what Espalier would take on, which rights are missing. Nothing is changed."
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="the cluster to look at")
    parser.add_argument("--context", metavar="NAME", help="the kubeconfig's context to use")
    parser.add_argument(
        "--namespace", default=Layout().namespace, help="where Espalier is; default: %(default)s"
    )
    parser.add_argument("--no-cluster", action="store_true", help="look at this machine only")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")


def run(arguments: argparse.Namespace) -> int:
    """Look around; 1 if something is missing that everybody needs."""
    findings = list(machine())
    if not arguments.no_cluster:
        findings += asyncio.run(_cluster(arguments))
    _show(findings, arguments.output)
    return 1 if any(finding.state == "missing" for finding in findings) else 0


async def _cluster(arguments: argparse.Namespace) -> list[Finding]:
    """Look at the cluster; one that was named must answer, any other need not be there."""
    state: State = "missing" if arguments.kubeconfig or arguments.context else "optional"
    try:
        access = await config.load(arguments.kubeconfig, arguments.context)
        async with Client(access) as client:
            return await _look(client, arguments.namespace)
    except (config.ConfigError, ApiError, OSError) as error:
        return [Finding(state, "cluster", f"cannot be asked: {error}")]


async def _look(client: Client, namespace: str) -> list[Finding]:
    """Look at one thing after the other: what cannot be told keeps nothing else from being."""
    findings: list[Finding] = []
    with suppress(ForbiddenError):
        await client.document(Request("GET", "/version"))
    async with _telling(findings, "landscape"):
        found = await landscape.ask(client)
        served = await landscape.discover(client)
        was_seen = await remembrance.is_kept(client, namespace)
        findings += prospects.judge(found, served, was_seen=was_seen)
        if found.has_gardener:
            async with _telling(findings, "rollouts"):
                sets = await landscape.read_all(client, Selection(kind_of_model(ManagedSeedSet)))
                findings += prospects.rollouts(sets)
    async with _telling(findings, "rights"):
        for right in await prospects.refused(client):
            message = f"you may not {', '.join(right.verbs)}, which serving needs for {right.why}"
            findings.append(Finding("optional", right.resource, message))
    return findings


@asynccontextmanager
async def _telling(findings: list[Finding], subject: str) -> AsyncIterator[None]:
    try:
        yield
    except ApiError as error:
        findings.append(Finding("optional", subject, f"cannot be told: {error}"))


def _show(findings: Iterable[Finding], output: str) -> None:
    if output == "json":
        print(json.dumps([finding._asdict() for finding in findings], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "how it is"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        colour = _COLOURS[finding.state]
        table.add_row(f"[{colour}]{finding.state}[/]", finding.subject, finding.message)
    Console(file=sys.stdout, highlight=False).print(table)
