"""The cost of /validate, compared with an endpoint that only reads the body.

Both have the same TLS.
"""

import asyncio
import tempfile
from typing import Any

from benchmarks import _measurement
from benchmarks._measurement import Found, Load

NAME = "validate"
SERVERS = ("bare", "ours")
LOAD = Load(connections=16, update=False)
AIM = 0.5


def run(rounds: int) -> dict[str, Any]:
    """Measure both in turn, each round in new processes, server and client on a core each."""
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    measured = await _measurement.in_turn(rounds, SERVERS, _measure)
    ratio = _measurement.median_ratio(measured, "ours", "bare", "rate")
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


async def _measure(server: str) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        return await _measurement.measure(_measurement.server_command(server, folder), folder, LOAD)
