"""How long a scheduler waits for the filter, beside an endpoint that only reads the names."""

import asyncio
import json
import ssl
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from benchmarks._extender_door import WAITING
from benchmarks._load import AUTHORITY_FILE
from benchmarks.scheduling import NAMES

NAME = "extender"
CALLS = 300
DOORS = ("bare", "ours")
AIM = 20.0


def run(rounds: int) -> dict[str, Any]:
    """Ask both in turn, one call after the other as a scheduler does, on one connection."""
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    measured: dict[str, list[dict[str, float]]] = {door: [] for door in DOORS}
    for _ in range(rounds):
        for door in DOORS:
            measured[door].append(await _measure(door))
    p99 = median(each["p99_ms"] for each in measured["ours"])
    pairs = zip(measured["ours"], measured["bare"], strict=True)
    multiple = median(ours["p50_ms"] / bare["p50_ms"] for ours, bare in pairs)
    return {
        "measured": measured,
        "figures": [
            {
                "what": f"filter with {NAMES:,} names over TLS, p99 in ms",
                "value": round(p99, 2),
                "aim": f"at most {AIM:g}",
                "met": p99 <= AIM,
            },
            {
                "what": "the same, median, as a multiple of the endpoint that only reads",
                "value": round(multiple, 1),
                "aim": "told, no aim",
                "met": True,
            },
        ],
    }


async def _measure(door: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks._extender_door", door, folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert server.stdout is not None
        port = int(await server.stdout.readline())
        waits = await _ask(port, Path(folder))
        await server.communicate(b"")
    waits.sort()
    return {
        "p50_ms": round(median(waits) * 1e3, 2),
        "p99_ms": round(waits[int(len(waits) * 0.99)] * 1e3, 2),
    }


async def _ask(port: int, folder: Path) -> list[float]:
    context = ssl.create_default_context(cafile=str(folder / AUTHORITY_FILE))
    url = f"https://localhost:{port}/scheduler/filter"
    bodies = [_body(index) for index in range(WAITING)]
    waits = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        for call in range(CALLS + WAITING):
            began = time.perf_counter()
            async with session.post(url, data=bodies[call % WAITING]) as response:
                answer = await response.read()
            waits.append(time.perf_counter() - began)
            if response.status != 200 or b'"Error":""' not in answer.replace(b": ", b":"):
                raise RuntimeError(answer[:200].decode())
    return waits[WAITING:]  # what is remembered of each shoot is found out in the first calls


def _body(index: int) -> bytes:
    shoot = {"espalier.gardener.cloud/shoot": f"garden-dev/new-{index:05}"}
    pod = {"metadata": {"name": f"shadow-{index}", "annotations": shoot}}
    names = [f"seed-{number:04}" for number in range(NAMES)]
    return json.dumps({"Pod": pod, "NodeNames": names}).encode()
