"""`espalier dev`: an API server, Espalier beside it and a simulated landscape, on loopback."""

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
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.dev.landscapes import gardenerdemo, loader
from webhook.dev.landscapes.loader import LandscapeError
from webhook.dev.localprovider import controllers
from webhook.dev.planes import admissionconfig
from webhook.dev.planes.access import ADMIN
from webhook.dev.planes.binaries import find
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.gardener import Gardener
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.plane import Plane
from webhook.dev.server import EspalierProcess
from webhook.kube.clock import SystemClock
from webhook.kube.meta import Draft
from webhook.runtime.tasks import background, root_cause

_GARDENER: Final = "gardener"
_PLANES: Final = {"embedded": Embedded, "kube-apiserver": Kubernetes, _GARDENER: Gardener}
"""The control planes by the choices of `--api`."""

_REGISTRATION_SECONDS: Final = 30.0
"""How long Espalier may take to register its webhooks."""

_DESCRIPTION: Final = """\
Run an API server on loopback, Espalier beside it and a landscape in it, until Ctrl-C. Once
everything runs, a line that begins with "ready" names the address and the kubeconfig.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = _DESCRIPTION
    add = parser.add_argument
    add(
        "--dir",
        type=Path,
        default=Path(".espalier"),
        help="folder of data, logs and keys; a restart continues from it (default .espalier)",
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
        choices=sorted(_PLANES),
        default="embedded",
        help="which API server to run (default embedded); the others need what make real builds",
    )
    add(
        "--no-local-provider",
        action="store_true",
        help="do not simulate gardenlets and extensions: seeds and shoots stay as they are",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run until Ctrl-C; return 2 when something is missing or in the way."""
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
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    drafts = await asyncio.to_thread(loader.read, arguments.landscape)
    if arguments.api == _GARDENER and arguments.landscape == "demo":
        drafts = [*gardenerdemo.adapt(drafts)]
    for flag in ("api_port", "port", "http_port"):
        _require_free(getattr(arguments, flag), flag)
    directory = arguments.dir.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    console.print(f"starting the {arguments.api} API server ...")
    plane = _PLANES[arguments.api](
        directory, port=arguments.api_port, webhook_hosts=(f"127.0.0.1:{arguments.port}",)
    )
    async with plane, _supervised(plane):
        access = await config.load(str(plane.kubeconfig))
        async with Client(access) as client:
            await _run_landscape(arguments, plane, client, drafts, console)


async def _run_landscape(
    arguments: argparse.Namespace,
    plane: Embedded | Kubernetes,
    client: Client,
    drafts: list[Draft],
    console: Console,
) -> None:
    clock = SystemClock()
    await loader.install(client, clock)
    console.print("starting Espalier ...")
    ports = (arguments.port, arguments.http_port)
    espalier = Plane(plane.directory)
    proofs = (
        f"--client-ca={plane.admin.ca_file}",
        f"--admission-client-ca={plane.admin.ca_file}",
        f"--admission-client-names={admissionconfig.USER},{ADMIN}",
    )
    espalier.steps = [EspalierProcess(plane.directory, plane.kubeconfig, ports, *proofs)]
    async with espalier, _supervised(espalier), asyncio.TaskGroup() as tasks:
        await _wait_for_webhooks(client, clock)
        if not arguments.no_local_provider:
            beside_gardener = arguments.api == _GARDENER
            clusters = plane.directory / "clusters"
            provider = controllers.run(client, clock, clusters, beside_gardener=beside_gardener)
            tasks.create_task(provider)
        if drafts and not await loader.is_loaded(client):
            await _load(client, drafts, console)
        _announce(arguments, plane)
        await asyncio.Event().wait()


async def _load(client: Client, drafts: list[Draft], console: Console) -> None:
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("loading the landscape", total=len(drafts))
        await loader.load(client, drafts, lambda done: progress.update(task, completed=done))
    console.print(f"loaded {len(drafts)} objects")


async def _wait_for_webhooks(client: Client, clock: SystemClock) -> None:
    """Wait for the webhook configurations: objects loaded before them bypass admission."""
    models = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
    deadline = clock.monotonic() + _REGISTRATION_SECONDS
    while clock.monotonic() < deadline:
        pages = [await client.page(Selection(kind_of_model(model))) for model in models]
        if all(page.items for page in pages):
            return
        await clock.sleep(0.1)
    raise PlaneError("Espalier did not register its webhooks in time; see its log in --dir")


@contextlib.asynccontextmanager
async def _supervised(plane: Plane) -> AsyncIterator[None]:
    """Cancel the block when one of the plane's processes exits by itself."""
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
    """Return a command as it can be pasted into another terminal on this machine."""
    if shutil.which(name):
        return name
    path = find("kubectl") if name == "kubectl" else Path(sys.executable).with_name(name)
    if path is None or not path.exists():
        return name
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _announce(arguments: argparse.Namespace, plane: Embedded | Kubernetes) -> None:
    """Print the line that scripts wait for, and commands to try next."""
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
