"""What /validate costs beside an endpoint that only reads the body, with the same TLS."""

import asyncio
import tempfile
from typing import Any

from benchmarks import _measured
from benchmarks._measured import Found, Load

NAME = "validate"
DOORS = ("bare", "ours")
LOAD = Load(connections=16, update=False)
AIM = 0.5


def run(rounds: int) -> dict[str, Any]:
    """Measure both in turn, each round in fresh processes, server and client on a core each."""
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    measured = await _measured.in_turn(rounds, DOORS, _measure)
    ratio = _measured.beside(measured, "ours", "bare", "rate")
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


async def _measure(door: str) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        return await _measured.measure(_measured.door(door, folder), folder, LOAD)
