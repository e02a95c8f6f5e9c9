"""The embedded API server compared with kube-apiserver and etcd: 10,000 Shoots."""

import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from benchmarks._shoots import make_shoot
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.dev.planes.binaries import missing
from webhook.dev.planes.components import COMPONENTS
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.kubernetes import Kubernetes

NAME = "apiserver"
SHOOTS = 10_000
WORKERS = 16
SECONDS = 3.0
GARDEN = "garden-bench"
PATH = f"/apis/core.gardener.cloud/v1beta1/namespaces/{GARDEN}/shoots"
AIMS = {"creates": 1.0, "gets": 2.0, "lists": 3.0}

Server = Embedded | Kubernetes


def run(rounds: int) -> dict[str, Any]:
    """Measure both servers on the same work; each syncs its disk before it answers a write."""
    parts = [part for part in COMPONENTS if part.name in {"etcd", "kubernetes"}]
    if lacking := [name for part in parts for name in missing(part)]:
        return {"not_run": f"{', '.join(lacking)} not built: run `make real`"}
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    rates: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        async with (
            Embedded(Path(directory, "embedded")) as embedded,
            Kubernetes(Path(directory, "real"), durable=True) as real,
        ):
            servers: dict[str, Server] = {"embedded": embedded, "real": real}
            for name, server in servers.items():
                await _prepare(server)
                rates[name] = {what: [] for what in AIMS}
            for numbers in _shares(rounds):
                for name, server in servers.items():
                    rates[name]["creates"].append(await _with(server, partial(_fill, numbers)))
            for _ in range(rounds):
                for name, server in servers.items():
                    rates[name]["gets"].append(await _with(server, _get))
                    rates[name]["lists"].append(await _with(server, _list))
    figures = []
    for what, aim in AIMS.items():
        ratio = median(rates["embedded"][what]) / median(rates["real"][what])
        figures.append(
            {
                "what": f"{what} of the embedded server to kube-apiserver's",
                "value": f"{ratio:.1f}",
                "aim": f">= {aim:g}",
                "met": ratio >= aim,
            }
        )
    medians = {
        name: {what: round(median(values), 2) for what, values in measured.items()}
        for name, measured in rates.items()
    }
    return {"figures": figures, "per_second": medians, "shoots": SHOOTS}


async def _with(
    server: Server, measure: Callable[[aiohttp.ClientSession], Awaitable[float]]
) -> float:
    context = await asyncio.to_thread(server.admin.context)
    connector = aiohttp.TCPConnector(ssl=context, limit=WORKERS)
    timeout = aiohttp.ClientTimeout(total=300)
    async with aiohttp.ClientSession(server.url, connector=connector, timeout=timeout) as session:
        return await measure(session)


async def _prepare(server: Server) -> None:
    definition = crd(kind_of_model(Shoot), beside_gardener=False)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GARDEN}}
    await server.kubectl("create", "-f", "-", input=[namespace, definition])
    name = definition["metadata"]["name"]
    await server.kubectl("wait", "--for=condition=Established", f"crd/{name}")


def _shares(rounds: int) -> Iterator[range]:
    """Divide the Shoots over rounds, so that the servers are filled in turn."""
    edges = [SHOOTS * number // rounds for number in range(rounds + 1)]
    return (range(*edge) for edge in pairwise(edges))


async def _fill(numbers: range, session: aiohttp.ClientSession) -> float:
    """Create a share of the Shoots; return how many a second."""
    bodies = [json.dumps(make_shoot(number)).encode() for number in numbers]

    async def work() -> None:
        while bodies:
            headers = {"Content-Type": "application/json"}
            async with session.post(PATH, data=bodies.pop(), headers=headers) as response:
                if response.status != 201:
                    raise RuntimeError(await response.text())
                await response.read()

    begun = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return len(numbers) / (time.perf_counter() - begun)


async def _get(session: aiohttp.ClientSession) -> float:
    """Get single Shoots for some seconds; return how many a second."""
    count = 0
    begun = time.perf_counter()

    async def work(first: int) -> None:
        nonlocal count
        number = first
        while time.perf_counter() - begun < SECONDS:
            number = (number + 7919) % SHOOTS
            async with session.get(f"{PATH}/shoot-{number:05}") as response:
                await response.read()
                count += response.status == 200

    await asyncio.gather(*(work(worker) for worker in range(WORKERS)))
    return count / (time.perf_counter() - begun)


async def _list(session: aiohttp.ClientSession) -> float:
    """List all Shoots once; return how many such lists a second are possible."""
    begun = time.perf_counter()
    async with session.get(PATH) as response:
        body = await response.read()
    elapsed = time.perf_counter() - begun
    if body.count(b'"kind":"Shoot"') < SHOOTS:
        raise RuntimeError("the list is not complete")
    return 1 / elapsed
