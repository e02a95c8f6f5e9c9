"""What the whole table of policies costs, beside a bare endpoint and beside a handler in Go."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import _measured
from benchmarks._measured import Found, Load, Rounds

NAME = "admission"
LOAD = Load()
BESIDE_BARE = (0.45, 0.55)
BESIDE_GO = (1.2, 1.5)
"""What is needed, and what is aimed at."""

PEER = Path(__file__).parent / "peer-go"


def run(rounds: int) -> dict[str, Any]:
    """Measure all in turn, each round in fresh processes, server and client on a core each."""
    with tempfile.TemporaryDirectory() as folder:
        peer = _build(Path(folder))
        return asyncio.run(_run(rounds, peer))


def _build(folder: Path) -> Path | None:
    """Build the handler in Go; without Go or its modules there is none to compare with."""
    if shutil.which("go") is None:
        return None
    binary = folder / "peer"
    command = ["go", "build", "-o", str(binary), "."]
    built = subprocess.run(command, cwd=PEER, env=os.environ | {"CGO_ENABLED": "0"}, check=False)
    return binary if built.returncode == 0 else None


async def _run(rounds: int, peer: Path | None) -> dict[str, Any]:
    doors = ("bare", "full", *(("go",) if peer is not None else ()))
    measured = await _measured.in_turn(rounds, doors, lambda door: _measure(door, peer))
    figures = [_beside(measured, "bare", "a bare endpoint", BESIDE_BARE)]
    if peer is not None:
        figures += [_beside(measured, "go", "a handler in Go", BESIDE_GO), _slowest(measured)]
    missing = {} if peer is not None else {"not_run": "the handler in Go: it needs Go and network"}
    return {
        "measured": measured,
        "review_bytes": measured["full"][0]["bytes"],
        "figures": figures,
        **missing,
    }


def _beside(measured: Rounds, other: str, said: str, wanted: tuple[float, float]) -> dict[str, Any]:
    least, aim = wanted
    ratio = _measured.beside(measured, "full", other, "rate")
    return {
        "what": f"/validate with every policy beside {said}, requests per second",
        "value": round(ratio, 3),
        "aim": f"at least {least}, better {aim}",
        "met": ratio >= least,
    }


def _slowest(measured: Rounds) -> dict[str, Any]:
    ours, theirs = (median(each["p99_ms"] for each in measured[door]) for door in ("full", "go"))
    return {
        "what": "99th percentile of the time to an answer beside the handler in Go's",
        "value": round(ours / theirs, 3),
        "aim": "at most 1",
        "met": ours <= theirs,
    }


async def _measure(door: str, peer: Path | None) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        if door != "go":
            return await _measured.measure(_measured.door(door, folder), folder, LOAD)
        certificates = Path(folder)
        _measured.certify(certificates)
        command = (str(peer), str(certificates / "tls.crt"), str(certificates / "tls.key"))
        return await _measured.measure(command, folder, LOAD)
