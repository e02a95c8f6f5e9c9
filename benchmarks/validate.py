"""What /validate costs beside an endpoint that only reads the body, with the same TLS."""

import asyncio
import json
import sys
import tempfile
import time
from statistics import median
from typing import Any

NAME = "validate"
SECONDS = 3.0
CONNECTIONS = 16
AIM = 0.5

DOORS = ("bare", "ours")


def run(rounds: int) -> dict[str, Any]:
    """Measure both in turn, each round in fresh processes, server and client on a core each."""
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    measured: dict[str, list[dict[str, float]]] = {door: [] for door in DOORS}
    for _ in range(rounds):
        for door in DOORS:
            measured[door].append(await _measure(door))
    ratio = median(
        ours["rate"] / bare["rate"]
        for ours, bare in zip(measured["ours"], measured["bare"], strict=True)
    )
    return {
        "measured": measured,
        "review_bytes": measured["ours"][0]["bytes"],
        "figures": [
            {
                "what": "/validate with an empty table beside a bare endpoint, requests per second",
                "value": round(ratio, 3),
                "aim": f"at least {AIM}",
                "met": ratio >= AIM,
            }
        ],
    }


async def _measure(door: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks._doors", door, folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        port = (await server.stdout.readline()).decode().strip()
        started = time.perf_counter()
        client = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks._load", port, folder),
            *(str(SECONDS), str(CONNECTIONS)),
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await client.communicate()
        elapsed = time.perf_counter() - started
        rest, _ = await server.communicate(b"")
    found: dict[str, float] = json.loads(said)
    # Processor time tells the same on a machine that others use, too.
    found["server_busy"] = round(float(rest) / elapsed, 2)
    found["server_microseconds"] = round(float(rest) / found["answers"] * 1e6, 1)
    found["rate"] = round(found["rate"], 1)
    return found
