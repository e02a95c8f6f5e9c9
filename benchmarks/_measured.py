"""One server at a time under the same load: a core for itself, the other one for the client."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks._load import AUTHORITY_FILE
from webhook.tls.authority import Authority

CONNECTIONS = 10


def door(name: str, folder: str) -> tuple[str, ...]:
    """Name the command for one of the servers of `benchmarks._doors`, which certify themselves."""
    return sys.executable, "-m", "benchmarks._doors", name, folder


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


async def measure(
    command: Sequence[str], folder: str, seconds: float, port: str = ""
) -> dict[str, float]:
    """Start a server, send it updates of Shoots, and stop it; it prints its port if it has none."""
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
        before = _processor_seconds(server.pid)
        found = await _load(port, folder, seconds)
        used = _processor_seconds(server.pid) - before
    finally:
        server.kill()
        await server.communicate()
    # Processor time tells the same on a machine that others use, too.
    found["server_microseconds"] = round(used / found["answers"] * 1e6, 1)
    return found


async def _load(port: str, folder: str, seconds: float) -> dict[str, float]:
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks._load", port, folder),
        *(str(seconds), str(CONNECTIONS), "update"),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await client.communicate()
    found: dict[str, float] = json.loads(said)
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
