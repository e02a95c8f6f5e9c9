"""The cost of serving autoscalers, compared with a gRPC server that does nothing.

Both have the same TLS.
"""

import asyncio
import json
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from statistics import median
from typing import Any

NAME = "nodegroups"
SHOOTS = 25
FEW = 5
AIM = 0.5
SECONDS = 10.0
FLAT = 1.25


def run(rounds: int) -> dict[str, Any]:
    """Measure in turn, each round in new processes, server and callers on a core each.

    Rates are calls per second of the server's own CPU time: callers are no faster than it.
    """
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    measured: dict[str, list[dict[str, float]]] = {"noop": [], "ours": [], "few": []}
    for _ in range(rounds):
        measured["noop"].append(await _measure("noop", SHOOTS))
        measured["ours"].append(await _measure("ours", SHOOTS))
        measured["few"].append(await _measure("ours", FEW))
    ratio = median(_rate(ours) / _rate(noop) for noop, ours in _pairs(measured, "noop", "ours"))
    growth = median(_rate(few) / _rate(ours) for few, ours in _pairs(measured, "few", "ours"))
    seconds = median(each["seconds"] for each in measured["ours"])
    return {
        "measured": measured,
        "figures": [
            {
                "what": "calls of a scan per second of one core, beside a grpc.aio no-op",
                "value": round(ratio, 3),
                "aim": f"at least {AIM}",
                "met": ratio >= AIM,
            },
            {
                "what": f"seconds for the scans of {SHOOTS} shoots of 90 nodes in 9 groups",
                "value": round(seconds, 2),
                "aim": f"at most {SECONDS:g}",
                "met": seconds <= SECONDS,
            },
            {
                "what": f"cost of a call with {SHOOTS} shoots beside {FEW}",
                "value": round(growth, 3),
                "aim": f"at most {FLAT}",
                "met": growth <= FLAT,
            },
        ],
    }


def _pairs(
    measured: dict[str, list[dict[str, float]]], one: str, other: str
) -> list[tuple[dict[str, float], dict[str, float]]]:
    return [*zip(measured[one], measured[other], strict=True)]


def _rate(found: dict[str, float]) -> float:
    return found["calls"] / found["server_seconds"]


async def _measure(what: str, shoots: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        server = await _start("serve", what, str(shoots), folder)
        port = await _read_line(server)
        client = await _start("load", port, str(shoots), folder)
        await _read_line(client)
        await _send_line(server)
        await _read_line(server)
        await _send_line(client)
        found: dict[str, float] = json.loads(await _read_line(client))
        await _send_line(server)
        found["server_seconds"] = round(float(await _read_line(server)), 3)
        await client.wait()
        await server.wait()
    found["seconds"] = round(found["seconds"], 3)
    return found


async def _start(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks._node_groups", *arguments, stdin=PIPE, stdout=PIPE
    )


async def _send_line(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    await process.stdin.drain()


async def _read_line(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()
