"""How fast, how small and how smoothly the cache reads 10,000 Shoots of 9 KB."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from benchmarks._shoots import make_shoot
from webhook.api.core import CustomResourceDefinition, Namespace
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import GoneError, NotFoundError, UnavailableError
from webhook.cluster.requests import Selection
from webhook.dev.planes.binaries import missing
from webhook.dev.planes.components import COMPONENTS
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.ports import free_port
from webhook.kube.meta import ObjectKey

NAME = "sync"
SHOOTS = 10_000
WRITERS = 16

GARDEN = "garden-bench"
_LONGEST = 300.0
_PADDING = 860  # makes 9 KB of each as the server sends it
_EXTRA_SECONDS = 2.0


def run(rounds: int) -> dict[str, Any]:
    """Measure with one kube-apiserver; every figure is of a new process."""
    parts = [part for part in COMPONENTS if part.name in {"etcd", "kubernetes"}]
    if lacking := [name for part in parts for name in missing(part)]:
        return {"not_run": f"{', '.join(lacking)} not built: run `make real`"}
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    measured: dict[str, list[dict[str, Any]]] = {}

    async def note(name: str, measuring: Coroutine[Any, Any, dict[str, Any]]) -> None:
        measured.setdefault(name, []).append(await measuring)

    with tempfile.TemporaryDirectory() as directory:
        async with Kubernetes(Path(directory), durable=False) as server:
            kubeconfig = str(server.kubeconfig)
            await _prepare(kubeconfig)
            for _ in range(rounds):
                await note("empty", _serve(kubeconfig))
            size = await _fill(kubeconfig)
            for _ in range(rounds):
                await note("pages", _child("pages", kubeconfig))
                await note("serve", _serve(kubeconfig))
                await note("cache", _child("cache", kubeconfig))
    return _summary(size, measured)


def _summary(size: float, measured: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    def middle(mode: str, what: str) -> float:
        return round(float(median(each[what] for each in measured[mode])), 2)

    ratio = median(
        ours["seconds"] / theirs["seconds"]
        for ours, theirs in zip(measured["serve"], measured["pages"], strict=True)
    )
    grown = middle("serve", "peak_mb") - middle("empty", "peak_mb")
    return {
        "shoots": SHOOTS,
        "bytes_each": round(size),
        "figures": [
            _figure("start to ready / fetching and decoding the same pages", ratio, 1.5),
            _figure("peak memory over the empty server, MB", grown, 150),
            _figure(
                "longest stall of the loop, ms of its own CPU", middle("cache", "stall_ms"), 50
            ),
        ],
        "seconds": {mode: middle(mode, "seconds") for mode in ("serve", "pages", "empty")},
        "longest_stall_by_the_clock_ms": middle("cache", "stall_wall_ms"),
        "full_garbage_collection_ms": {
            "as served, frozen": middle("cache", "frozen_ms"),
            "if nothing were frozen": middle("cache", "thawed_ms"),
        },
        "raw": measured,
    }


def _figure(what: str, value: float, most: float) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 2),
        "aim": f"at most {most:g}",
        "met": value <= most,
    }


async def _serve(kubeconfig: str) -> dict[str, Any]:
    """Start the server as users do, and wait until it is ready."""
    port = free_port()
    flags = {
        "kubeconfig": kubeconfig,
        "host": "127.0.0.1",
        "port": "0",
        "http-host": "127.0.0.1",
        "http-port": str(port),
        "manage-webhooks": "false",
        "drain-quiet": "0",
        "log-level": "error",
    }
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "webhook", "serve"),
        *(f"--{name}={value}" for name, value in flags.items()),
    )
    try:
        async with asyncio.timeout(_LONGEST), aiohttp.ClientSession() as session:
            await _until_ready(session, f"http://127.0.0.1:{port}/readyz")
        seconds = time.perf_counter() - began
        await asyncio.sleep(_EXTRA_SECONDS)  # what comes right after readiness counts as well
        return {"seconds": seconds, "peak_mb": _peak_mb(process.pid)}
    finally:
        process.terminate()
        await process.wait()


async def _until_ready(session: aiohttp.ClientSession, url: str) -> None:
    while True:
        try:
            async with session.get(url) as response:
                if response.status == 200:
                    return
        except aiohttp.ClientConnectionError:
            pass
        await asyncio.sleep(0.02)


def _peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not report a process's peak memory")


async def _child(mode: str, kubeconfig: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks._sync_child", mode, kubeconfig, str(time.time())),
        stdout=subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(process.communicate(), _LONGEST)
    if process.returncode:
        raise RuntimeError(f"{mode} failed")
    result: dict[str, Any] = json.loads(output)
    return result


async def _prepare(kubeconfig: str) -> None:
    """Define Shoots and create the namespaces."""
    async with Client(await config.load(kubeconfig)) as client:
        definition = crd(kind_of_model(Shoot), beside_gardener=False)
        for version in definition["spec"]["versions"]:
            version.pop("subresources", None)  # one write then creates a Shoot with its status
        nowhere = ObjectKey("", "")
        await client.create(kind_of_model(CustomResourceDefinition), nowhere, definition)
        for name in (GARDEN, "espalier-system"):
            namespace = {"metadata": {"name": name}}
            await client.create(kind_of_model(Namespace), nowhere, namespace)
        await _until_listed(client)


async def _fill(kubeconfig: str) -> float:
    """Create the Shoots; return the bytes of one as the server sends it."""
    async with Client(await config.load(kubeconfig)) as client:
        numbers = iter(range(SHOOTS))
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(_write(client, numbers))
        await _until_listed(client)  # its watch cache may still be busy with our writes
        first = await client.get(kind_of_model(Shoot), ObjectKey(GARDEN, "shoot-00000"))
        return float(len(json.dumps(first, separators=(",", ":"))))


async def _write(client: Client, numbers: Iterator[int]) -> None:
    kind = kind_of_model(Shoot)
    for number in numbers:
        shoot = make_shoot(number)
        shoot["metadata"]["annotations"]["description"] = "x" * _PADDING
        await client.create(kind, ObjectKey(GARDEN, ""), shoot)


async def _until_listed(client: Client) -> None:
    """Wait until the server lists all Shoots without lag behind its own storage."""
    async with asyncio.timeout(_LONGEST):
        while True:
            try:
                await client.list(Selection(kind_of_model(Shoot)))
            except (NotFoundError, GoneError, UnavailableError):
                await asyncio.sleep(0.5)
            else:
                return
