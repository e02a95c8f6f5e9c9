"""How long a scheduler waits for the filter, beside an endpoint that only reads the names."""

import asyncio
import json
import ssl
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from benchmarks import _measured
from benchmarks._extender_door import WAITING
from benchmarks._load import AUTHORITY_FILE
from benchmarks._measured import Found
from benchmarks.scheduling import NAMES

NAME = "extender"
CALLS = 300
DOORS = ("bare", "ours")
AIM = 20.0


def run(rounds: int) -> dict[str, Any]:
    """Ask both in turn, one call after the other as a scheduler does, on one connection."""
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    measured = await _measured.in_turn(rounds, DOORS, _measure)
    p99 = median(each["p99_ms"] for each in measured["ours"])
    multiple = _measured.beside(measured, "ours", "bare", "p50_ms")
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


async def _measure(door: str) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        command = _measured.door(door, folder, "_extender_door")
        async with _measured.serving(command) as (_, port):
            waits = await _ask(port, Path(folder))
    waits.sort()
    return {
        "p50_ms": round(median(waits) * 1e3, 2),
        "p99_ms": round(waits[int(len(waits) * 0.99)] * 1e3, 2),
    }


async def _ask(port: str, folder: Path) -> list[float]:
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
