"""How long a scheduler waits for the filter, compared with an endpoint that only reads names."""

import asyncio
import json
import ssl
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from benchmarks import _measurement
from benchmarks._extender_server import WAITING
from benchmarks._load import AUTHORITY_FILE, CLIENT_FILE
from benchmarks._measurement import Found
from benchmarks.scheduling import NAMES

NAME = "extender"
CALLS = 300
SERVERS = ("bare", "ours")
AIM = 20.0


def run(rounds: int) -> dict[str, Any]:
    """Call both in turn as a scheduler does: with a certificate, one call after the other."""
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    measured = await _measurement.in_turn(rounds, SERVERS, _measure)
    p99 = median(each["p99_ms"] for each in measured["ours"])
    multiple = _measurement.median_ratio(measured, "ours", "bare", "p50_ms")
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
                "aim": "reported, no aim",
                "met": True,
            },
        ],
    }


async def _measure(server: str) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        command = _measurement.server_command(server, folder, "_extender_server")
        async with _measurement.serving(command) as (_, port):
            waits = await _call_filter(port, Path(folder))
    waits.sort()
    return {
        "p50_ms": round(median(waits) * 1e3, 2),
        "p99_ms": round(waits[int(len(waits) * 0.99)] * 1e3, 2),
    }


async def _call_filter(port: str, folder: Path) -> list[float]:
    context = ssl.create_default_context(cafile=str(folder / AUTHORITY_FILE))
    context.load_cert_chain(folder / CLIENT_FILE)
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
    return waits[WAITING:]  # the cached results of each shoot are computed in the first calls


def _body(index: int) -> bytes:
    shoot = {"espalier.gardener.cloud/shoot": f"garden-dev/new-{index:05}"}
    pod = {"metadata": {"name": f"shadow-{index}", "annotations": shoot}}
    names = [f"seed-{number:04}" for number in range(NAMES)]
    return json.dumps({"Pod": pod, "NodeNames": names}).encode()
