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
    """The load: reviews of Shoots, updates or creates."""

    seconds: float = 3.0
    connections: int = 10
    update: bool = True


def server_command(name: str, folder: str, module: str = "_servers") -> tuple[str, ...]:
    """Return the command of one of our servers in Python, which create their own certificates."""
    return sys.executable, "-m", f"benchmarks.{module}", name, folder


def certify(folder: Path) -> None:
    """Write the certificates for a server in Go, the same as ours creates for itself."""
    now = datetime.now(UTC)
    authority = Authority.create("bench", now)
    pair = authority.sign_server(["localhost", "127.0.0.1"], now)
    for name, content in (
        (AUTHORITY_FILE, authority.certificate),
        ("tls.crt", pair.certificate),
        ("tls.key", pair.key),
    ):
        (folder / name).write_bytes(content)


async def in_turn(
    rounds: int, servers: Iterable[str], measure: Callable[[str], Awaitable[Found]]
) -> Rounds:
    """Measure all servers in each round, so that other work of the machine affects all alike."""
    measured: Rounds = {server: [] for server in servers}
    for _ in range(rounds):
        for server, found in measured.items():
            found.append(await measure(server))
    return measured


def median_ratio(measured: Rounds, ours: str, theirs: str, what: str) -> float:
    """Compare two servers round by round; return the median ratio."""
    pairs = zip(measured[ours], measured[theirs], strict=True)
    return median(one[what] / other[what] for one, other in pairs)


async def measure(command: Sequence[str], folder: str, load: Load, port: str = "") -> Found:
    """Start a server, put it under load, and stop it."""
    async with serving(command, port) as (pid, open_port):
        before, began = processor_seconds(pid), time.perf_counter()
        found = await send(open_port, folder, load)
        used, elapsed = processor_seconds(pid) - before, time.perf_counter() - began
    # CPU time is comparable also on a machine with other work.
    found["server_busy"] = round(used / elapsed, 2)
    found["server_microseconds"] = round(used / found["answers"] * 1e6, 1)
    return found


@asynccontextmanager
async def serving(command: Sequence[str], port: str = "") -> AsyncIterator[tuple[int, str]]:
    """Run a server, and return its process and port; it prints the port if it was given none."""
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


async def send(port: str, folder: str, load: Load) -> Found:
    """Put a running server under load, from a process of its own."""
    """Put a running server under load."""
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks._load", port, folder),
        *(str(load.seconds), str(load.connections), *(("update",) if load.update else ())),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await client.communicate()
    found: Found = json.loads(output)
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


def processor_seconds(pid: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
