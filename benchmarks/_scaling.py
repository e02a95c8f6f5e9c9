"""Workloads with a Tortoise each, on an API server with a running Espalier."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from benchmarks._measurement import certify
from tests.support.fake_scaling_cluster import SHOP, make_autoscaler, make_tortoise
from tests.support.fake_tortoise import AUTOSCALERS, TORTOISES
from webhook.dev.planes.binaries import missing
from webhook.dev.planes.components import COMPONENTS
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess
from webhook.kube.meta import Draft


class Stage(NamedTuple):
    """An API server, a running Espalier and a client of an administrator."""

    server: Any
    espalier: EspalierProcess
    session: aiohttp.ClientSession
    port: str
    certificates: Path


def is_real() -> bool:
    """Return whether a real API server is built here."""
    return not any(missing(part) for part in COMPONENTS if part.name in ("etcd", "kubernetes"))


@asynccontextmanager
async def stage(definitions: Iterable[Draft | Path], *flags: str) -> AsyncIterator[Stage]:
    """Start an API server with definitions, and Espalier with its webhooks."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plane: Any = Kubernetes(directory / "api") if is_real() else Embedded(directory / "api")
        server = await enter(plane)
        for item in definitions:
            source = {"input": item} if isinstance(item, dict) else {}
            name = "-" if source else str(item)
            await server.kubectl("apply", "--server-side", "-f", name, **source)
        await server.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        certificates = directory / "certificates"
        certificates.mkdir()
        certify(certificates)
        flags = (f"--certificate-directory={certificates}", *flags)
        ports = (free_port(), free_port())
        espalier = EspalierProcess(directory / "espalier", server.kubeconfig, ports, *flags)
        await espalier.start()
        stack.push_async_callback(espalier.stop)
        hook = "mutatingwebhookconfiguration/espalier"
        await server.kubectl("wait", "--for=create", "--timeout=60s", hook)
        context = await asyncio.to_thread(server.admin.context)
        connector = aiohttp.TCPConnector(ssl=context, limit=20)
        session = await enter(aiohttp.ClientSession(server.url, connector=connector))
        await post(session, "/api/v1/namespaces", {"metadata": {"name": SHOP}})
        yield Stage(server, espalier, session, str(ports[0]), certificates)


async def put_up(session: aiohttp.ClientSession, number: int) -> None:
    """Create a Tortoise and its autoscaler."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"t{number}"}
    autoscaler = make_autoscaler(f"tortoise-hpa-t{number}")
    autoscaler["spec"]["scaleTargetRef"] = target
    path = f"{AUTOSCALERS}/namespaces/{SHOP}/horizontalpodautoscalers"
    await post(session, path, autoscaler)
    path = f"{TORTOISES}/namespaces/{SHOP}/tortoises"
    await post(session, path, make_tortoise(f"t{number}"))


async def post(session: aiohttp.ClientSession, path: str, body: Draft) -> None:
    async with session.post(path, json=body) as response:
        if response.status >= 300:
            raise RuntimeError(await response.text())
