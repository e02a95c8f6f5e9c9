"""One server at a time under the same load: a core for itself, the other one for the client."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

from benchmarks._load import AUTHORITY_FILE
from webhook.tls.authority import Authority

Found: TypeAlias = dict[str, float]
Rounds: TypeAlias = dict[str, list[Found]]


class Load(NamedTuple):
    """What a server has to stand: reviews of Shoots, updates or else creates."""

    seconds: float = 3.0
    connections: int = 10
    update: bool = True


def door(name: str, folder: str, module: str = "_doors") -> tuple[str, ...]:
    """Name the command for one of our servers in Python, which certify themselves."""
    return sys.executable, "-m", f"benchmarks.{module}", name, folder


def certify(folder: Path) -> None:
    """Write what a server in Go needs for TLS, the same as ours makes for itself."""
    now = datetime.now(UTC)
    authority = Authority.create("bench", now)
    pair = authority.sign_server(["localhost"], now)
    for name, content in (
        (AUTHORITY_FILE, authority.certificate),
        ("tls.crt", pair.certificate),
        ("tls.key", pair.key),
    ):
        (folder / name).write_bytes(content)


async def in_turn(
    rounds: int, doors: Iterable[str], measure: Callable[[str], Awaitable[Found]]
) -> Rounds:
    """Measure all doors in each round, so that what else the machine does meets all alike."""
    measured: Rounds = {door: [] for door in doors}
    for _ in range(rounds):
        for door, found in measured.items():
            found.append(await measure(door))
    return measured


def beside(measured: Rounds, ours: str, theirs: str, what: str) -> float:
    """Compare two doors round by round; the ratio in the middle counts."""
    pairs = zip(measured[ours], measured[theirs], strict=True)
    return median(one[what] / other[what] for one, other in pairs)


async def measure(command: Sequence[str], folder: str, load: Load, port: str = "") -> Found:
    """Start a server, put it under load, and stop it."""
    async with serving(command, port) as (pid, open_port):
        before, began = _processor_seconds(pid), time.perf_counter()
        found = await _send(open_port, folder, load)
        used, elapsed = _processor_seconds(pid) - before, time.perf_counter() - began
    # Processor time tells the same on a machine that others use, too.
    found["server_busy"] = round(used / elapsed, 2)
    found["server_microseconds"] = round(used / found["answers"] * 1e6, 1)
    return found


@asynccontextmanager
async def serving(command: Sequence[str], port: str = "") -> AsyncIterator[tuple[int, str]]:
    """Run a server, and give its process and port; it prints the port if it was given none."""
    server = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"GOMAXPROCS": "1"},
        preexec_fn=_take_the_first_core,
    )
    try:
        assert server.stdout is not None
        if port:
            await _until_open(int(port))
        else:
            port = (await server.stdout.readline()).decode().strip()
        yield server.pid, port
    finally:
        server.kill()
        await server.communicate()


async def _send(port: str, folder: str, load: Load) -> Found:
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks._load", port, folder),
        *(str(load.seconds), str(load.connections), *(("update",) if load.update else ())),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await client.communicate()
    found: Found = json.loads(said)
    found["rate"] = round(found["rate"], 1)
    return found


async def _until_open(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


def _take_the_first_core() -> None:
    if len(cores := sorted(os.sched_getaffinity(0))) > 1:
        os.sched_setaffinity(0, cores[:1])


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
