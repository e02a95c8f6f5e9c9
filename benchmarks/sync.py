"""How fast, how small and how smoothly the cache takes in 10,000 Shoots of 9 KB."""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._shoots import make_shoot
from webhook.api.core import CustomResourceDefinition, Namespace
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import Selection
from webhook.planes.binaries import missing
from webhook.planes.kubernetes import Kubernetes
from webhook.planes.parts import PARTS

NAME = "sync"
SHOOTS = 10_000
WRITERS = 16

MODES = ("pages", "cache", "empty")


def run(rounds: int) -> dict[str, Any]:
    """Measure against one kube-apiserver; every figure is of a fresh process."""
    if lacking := [
        name for part in PARTS if part.name in ("etcd", "kubernetes") for name in missing(part)
    ]:
        return {"not_run": f"{', '.join(lacking)} not built: run `make real`"}
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        async with Kubernetes(Path(directory), durable=False) as server:
            size = await _fill(str(server.kubeconfig))
            measured: dict[str, list[dict[str, Any]]] = {mode: [] for mode in MODES}
            for _ in range(rounds):
                for mode in MODES:
                    measured[mode].append(await _child(mode, str(server.kubeconfig)))
    return _summary(size, measured)


def _summary(size: float, measured: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    def middle(mode: str, what: str) -> float:
        return float(median(each[what] for each in measured[mode]))

    ratio = median(
        ours["seconds"] / theirs["seconds"]
        for ours, theirs in zip(measured["cache"], measured["pages"], strict=True)
    )
    grown = middle("cache", "peak_mb") - middle("empty", "peak_mb")
    stall = middle("cache", "stall_ms")
    return {
        "shoots": SHOOTS,
        "bytes_each": round(size),
        "figures": [
            _figure("start to ready / fetching and decoding pages", round(ratio, 2), 1.5),
            _figure("peak memory over the empty server, MB", round(grown, 1), 150),
            _figure("longest stall of the loop, ms of its own CPU", round(stall, 1), 50),
        ],
        "seconds": {mode: round(middle(mode, "seconds"), 2) for mode in ("cache", "pages")},
        "longest_stall_by_the_clock_ms": round(middle("cache", "stall_wall_ms"), 1),
        "raw": measured,
    }


def _figure(what: str, value: float, most: float) -> dict[str, Any]:
    return {"what": what, "value": value, "aim": f"at most {most:g}", "met": value <= most}


async def _child(mode: str, kubeconfig: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks._sync_child", mode, kubeconfig, stdout=subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), 300)
    if process.returncode:
        raise RuntimeError(f"{mode} failed")
    result: dict[str, Any] = json.loads(output)
    return result


async def _fill(kubeconfig: str) -> float:
    """Create the Shoots, and give the bytes of one as the server sends it."""
    definitions, namespaces, shoots = map(
        kind_of_model, (CustomResourceDefinition, Namespace, Shoot)
    )
    async with Client(await config.load(kubeconfig)) as client:
        definition = crd(shoots, beside_gardener=False)
        for version in definition["spec"]["versions"]:
            version.pop("subresources", None)  # one write then makes a Shoot with its status
        await client.create(definitions, ObjectKey("", ""), definition)
        namespace = {"metadata": {"name": "garden-bench"}}
        await client.create(namespaces, ObjectKey("", ""), namespace)
        await _until_served(client)
        numbers = iter(range(SHOOTS))
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(_write(client, numbers))
        first = await client.get(shoots, ObjectKey("garden-bench", "shoot-00000"))
        return float(len(json.dumps(first, separators=(",", ":"))))


async def _write(client: Client, numbers: Iterator[int]) -> None:
    kind = kind_of_model(Shoot)
    for number in numbers:
        await client.create(kind, ObjectKey("garden-bench", ""), make_shoot(number))


async def _until_served(client: Client) -> None:
    while True:
        try:
            await client.page(Selection(kind_of_model(Shoot)))
        except NotFoundError:
            await asyncio.sleep(0.1)
        else:
            return
