"""`espalier dev`: an API server, Espalier beside it and a living landscape, on loopback."""

import argparse
import asyncio
import contextlib
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress

from webhook.api.core import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft
from webhook.cli.dev import garden_demo, landscape, provider
from webhook.cli.dev.landscape import LandscapeError
from webhook.cli.dev.server import Server
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.planes.binaries import find
from webhook.planes.embedded import Embedded
from webhook.planes.errors import PlaneError
from webhook.planes.gardener import Gardener
from webhook.planes.kubernetes import Kubernetes
from webhook.planes.plane import Plane
from webhook.runtime.clock import SystemClock
from webhook.runtime.manager import background, root_cause

NAME: Final = "dev"
HELP: Final = "run a landscape on this machine: API server, webhooks, scheduler, controllers"

_DESCRIPTION: Final = """\
Run an API server on loopback, Espalier beside it and a landscape in it, until Ctrl-C. One line
that begins with "ready" tells that all is up and where the kubeconfig is.
"""
_GARDENER: Final = "gardener"
_SERVERS: Final = {"embedded": Embedded, "kube-apiserver": Kubernetes, _GARDENER: Gardener}
_WEBHOOK_SECONDS: Final = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be chosen."""
    parser.description = _DESCRIPTION
    add = parser.add_argument
    add(
        "--dir",
        type=Path,
        default=Path(".espalier"),
        help="where data, logs and keys live, and a restart goes on (default .espalier)",
    )
    add("--api-port", type=int, default=6443, help="port of the API server (default 6443)")
    add("--port", type=int, default=9443, help="TLS port of Espalier (default 9443)")
    add("--http-port", type=int, default=8080, help="port of probes and metrics (default 8080)")
    add(
        "--landscape",
        default="demo",
        metavar="demo|empty|FILE",
        help="what to load at the first start: the demo, nothing, or your manifests",
    )
    add(
        "--api",
        choices=sorted(_SERVERS),
        default="embedded",
        help="which API server to run (default embedded); the others need what make real builds",
    )
    add(
        "--no-local-provider",
        action="store_true",
        help="do not play gardenlets and extensions: seeds and shoots stay as they are",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run until Ctrl-C; 2 when something is missing or in the way."""
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    try:
        asyncio.run(_run(arguments, console))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 0
    except (PlaneError, LandscapeError, config.ConfigError, ExceptionGroup) as failure:
        console.print(f"espalier dev: {root_cause(failure)}")
        return 2
    return 0


async def _run(arguments: argparse.Namespace, console: Console) -> None:
    me = asyncio.current_task()
    if me is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, me.cancel)
    drafts = await asyncio.to_thread(landscape.read, arguments.landscape)
    if arguments.api == _GARDENER and arguments.landscape == "demo":
        drafts = [*garden_demo.adapt(drafts)]
    for flag in ("api_port", "port", "http_port"):
        _require_free(getattr(arguments, flag), flag)
    directory = arguments.dir.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    console.print(f"starting the {arguments.api} API server ...")
    plane = _SERVERS[arguments.api](directory, port=arguments.api_port)
    async with plane, _supervised(plane), Client(await _access(plane)) as client:
        await _live(arguments, plane, client, drafts, console)


async def _access(plane: Embedded | Kubernetes) -> config.Access:
    return await config.load(str(plane.kubeconfig))


async def _live(
    arguments: argparse.Namespace,
    plane: Embedded | Kubernetes,
    client: Client,
    drafts: list[Draft],
    console: Console,
) -> None:
    clock = SystemClock()
    await landscape.install(client, clock)
    console.print("starting Espalier ...")
    ports = (arguments.port, arguments.http_port)
    server = Server(plane.directory, plane.kubeconfig, ports, f"--client-ca={plane.admin.ca_file}")
    beside = Plane(plane.directory)
    beside.steps = [server]
    async with beside, _supervised(beside), asyncio.TaskGroup() as tasks:
        await _until_called(client, clock)
        if not arguments.no_local_provider:
            beside_gardener = arguments.api == _GARDENER
            clusters = plane.directory / "clusters"
            play = provider.run(client, clock, clusters, beside_gardener=beside_gardener)
            tasks.create_task(play)
        if drafts and not await landscape.is_loaded(client):
            await _load(client, drafts, console)
        _announce(arguments, plane)
        await asyncio.Event().wait()


async def _load(client: Client, drafts: list[Draft], console: Console) -> None:
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("loading the landscape", total=len(drafts))
        await landscape.load(client, drafts, lambda done: progress.update(task, completed=done))
    console.print(f"loaded {len(drafts)} objects")


async def _until_called(client: Client, clock: SystemClock) -> None:
    """Wait until the API server has our webhooks: what is loaded before passes unjudged."""
    models = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
    deadline = clock.monotonic() + _WEBHOOK_SECONDS
    while clock.monotonic() < deadline:
        pages = [await client.page(Selection(kind_of_model(model))) for model in models]
        if all(page.items for page in pages):
            return
        await clock.sleep(0.1)
    raise PlaneError("Espalier did not register its webhooks in time; see its log in --dir")


@contextlib.asynccontextmanager
async def _supervised(plane: Plane) -> AsyncIterator[None]:
    """End the block when one of its processes ends by itself."""
    async with background("supervision", plane.supervise()):
        yield


def _require_free(port: int, flag: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            option = flag.replace("_", "-")
            raise PlaneError(
                f"port {port} cannot be used ({error.strerror}); choose another with --{option}"
            ) from error


def _command(name: str) -> str:
    """Name a command so that it can be pasted into another terminal on this machine."""
    if shutil.which(name):
        return name
    beside = Path(sys.executable).with_name(name)
    path = find("kubectl") if name == "kubectl" else beside
    if path is None or not path.exists():
        return name
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _announce(arguments: argparse.Namespace, plane: Embedded | Kubernetes) -> None:
    """Print the one line that scripts wait for, and what a person may try next."""
    kubectl, espalier = _command("kubectl"), _command("espalier")
    demo = arguments.landscape == "demo"
    lines = [
        f"ready: {plane.url} kubeconfig {plane.kubeconfig}",
        "",
        f"  export KUBECONFIG={plane.kubeconfig}",
        f"  {kubectl} get seeds,managedseeds,shoots -A",
        f"  {espalier} explain garden-alpha/alpha-00" if demo else f"  {kubectl} api-resources",
        "",
        f"metrics and probes: http://127.0.0.1:{arguments.http_port}/metrics   Ctrl-C stops",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
