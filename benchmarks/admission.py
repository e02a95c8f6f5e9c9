"""What the whole table of policies costs, beside a bare endpoint and beside a handler in Go."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._load import AUTHORITY_FILE
from webhook.tls.authority import Authority

NAME = "admission"
SECONDS = 3.0
CONNECTIONS = 10
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
    measured: dict[str, list[dict[str, float]]] = {door: [] for door in doors}
    for _ in range(rounds):
        for door in doors:
            measured[door].append(await _measure(door, peer))
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


def _beside(
    measured: dict[str, list[dict[str, float]]], other: str, said: str, wanted: tuple[float, float]
) -> dict[str, Any]:
    least, aim = wanted
    pairs = zip(measured["full"], measured[other], strict=True)
    ratio = median(ours["rate"] / theirs["rate"] for ours, theirs in pairs)
    return {
        "what": f"/validate with every policy beside {said}, requests per second",
        "value": round(ratio, 3),
        "aim": f"at least {least}, better {aim}",
        "met": ratio >= least,
    }


def _slowest(measured: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    ours, theirs = (median(each["p99_ms"] for each in measured[door]) for door in ("full", "go"))
    return {
        "what": "99th percentile of the time to an answer beside the handler in Go's",
        "value": round(ours / theirs, 3),
        "aim": "at most 1",
        "met": ours <= theirs,
    }


async def _measure(door: str, peer: Path | None) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = (
            _certified(peer, Path(folder))
            if door == "go" and peer is not None
            else (sys.executable, "-m", "benchmarks._doors", door, folder)
        )
        server = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"GOMAXPROCS": "1"},
            preexec_fn=_take_the_first_core,
        )
        assert server.stdout is not None
        port = (await server.stdout.readline()).decode().strip()
        before = _processor_seconds(server.pid)
        found = await _load(port, folder)
        used = _processor_seconds(server.pid) - before
        if door == "go":
            server.kill()
        await server.communicate(b"")
    # Processor time tells the same on a machine that others use, too.
    found["server_microseconds"] = round(used / found["answers"] * 1e6, 1)
    return found


async def _load(port: str, folder: str) -> dict[str, float]:
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks._load", port, folder),
        *(str(SECONDS), str(CONNECTIONS), "update"),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await client.communicate()
    found: dict[str, float] = json.loads(said)
    found["rate"] = round(found["rate"], 1)
    return found


def _certified(peer: Path, folder: Path) -> tuple[str, ...]:
    now = datetime.now(UTC)
    authority = Authority.create("bench", now)
    pair = authority.sign_server(["localhost"], now)
    for name, content in (
        (AUTHORITY_FILE, authority.certificate),
        ("tls.crt", pair.certificate),
        ("tls.key", pair.key),
    ):
        (folder / name).write_bytes(content)
    return str(peer), str(folder / "tls.crt"), str(folder / "tls.key")


def _take_the_first_core() -> None:
    if len(cores := sorted(os.sched_getaffinity(0))) > 1:
        os.sched_setaffinity(0, cores[:1])


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
