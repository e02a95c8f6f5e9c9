"""The cost of all policies, compared with a bare endpoint and with a handler in Go.

The server is measured with its fast path and, as `ordinary`, without it.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import _measurement
from benchmarks._measurement import Found, Load, Rounds

NAME = "admission"
LOAD = Load()
AIM_BARE = (0.45, 0.55)
AIM_GO = (1.2, 1.5)
AIM_ORDINARY = (1.3, 1.7)
"""What is required, and what is aimed at."""

PEER = Path(__file__).parent / "peer-go"


def run(rounds: int) -> dict[str, Any]:
    """Measure all in turn, each round in new processes, server and client on a core each."""
    with tempfile.TemporaryDirectory() as folder:
        peer = _build(Path(folder))
        return asyncio.run(_run(rounds, peer))


def _build(folder: Path) -> Path | None:
    """Build the handler in Go; None without Go or its modules."""
    if shutil.which("go") is None:
        return None
    binary = folder / "peer"
    command = ["go", "build", "-o", str(binary), "."]
    built = subprocess.run(command, cwd=PEER, env=os.environ | {"CGO_ENABLED": "0"}, check=False)
    return binary if built.returncode == 0 else None


async def _run(rounds: int, peer: Path | None) -> dict[str, Any]:
    servers = ("bare", "full", "ordinary", *(("go",) if peer is not None else ()))
    measured = await _measurement.in_turn(rounds, servers, lambda server: _measure(server, peer))
    figures = [
        _ratio_to(measured, "bare", "a bare endpoint", AIM_BARE),
        _ratio_to(measured, "ordinary", "the same without its fast path", AIM_ORDINARY),
    ]
    if peer is not None:
        figures += [_ratio_to(measured, "go", "a handler in Go", AIM_GO), _slowest(measured)]
    missing = {} if peer is not None else {"not_run": "the handler in Go: it needs Go and network"}
    return {
        "measured": measured,
        "review_bytes": measured["full"][0]["bytes"],
        "figures": figures,
        **missing,
    }


def _ratio_to(
    measured: Rounds, other: str, other_name: str, wanted: tuple[float, float]
) -> dict[str, Any]:
    least, aim = wanted
    ratio = _measurement.median_ratio(measured, "full", other, "rate")
    return {
        "what": f"/validate with every policy beside {other_name}, requests per second",
        "value": round(ratio, 3),
        "aim": f"at least {least}, better {aim}",
        "met": ratio >= least,
    }


def _slowest(measured: Rounds) -> dict[str, Any]:
    ours, theirs = (
        median(each["p99_ms"] for each in measured[server]) for server in ("full", "go")
    )
    return {
        "what": "99th percentile of the time to an answer beside the handler in Go's",
        "value": round(ours / theirs, 3),
        "aim": "at most 1",
        "met": ours <= theirs,
    }


async def _measure(server: str, peer: Path | None) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        if server != "go":
            return await _measurement.measure(
                _measurement.server_command(server, folder), folder, LOAD
            )
        certificates = Path(folder)
        _measurement.certify(certificates)
        command = (str(peer), str(certificates / "tls.crt"), str(certificates / "tls.key"))
        return await _measurement.measure(command, folder, LOAD)
