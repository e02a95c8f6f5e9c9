"""A server at its memory limit: waves of clients that never finish their requests."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from tests.faults.test_processes import scrape
from tests.support.campaigns import IN_SOAK
from tests.support.review_load import ReviewLoad
from tests.support.server_processes import Replica, running
from webhook.cli.install.generate.workload import MEMORY_LIMIT
from webhook.kube import quantity
from webhook.server.bodies import MAX_BODY
from webhook.server.handshakes import MAX_HANDSHAKES

WAVES = 30 if IN_SOAK else 3
CLIENTS = 60
HEADS = 300 if IN_SOAK else 50
SILENT = 8000 if IN_SOAK else 600

pytestmark = pytest.mark.timeout(1800 if IN_SOAK else 300)

HEAD = (
    b"POST /validate?timeout=30s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n" % MAX_BODY
)
BODY = b" " * (MAX_BODY - 1)


def most_memory(replica: Replica) -> int:
    """Return the largest number of bytes that a process had in memory so far."""
    lines = Path(f"/proc/{replica.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


async def test_half_sent_bodies_stay_below_the_memory_limit(garden, tmp_path) -> None:
    """Beside them every review is answered, and none of it looks like a bug."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    replica = Replica("one", tmp_path, garden.kubeconfig, "--roles", "admission")
    async with running(replica), aiohttp.ClientSession() as session:
        await replica.until_ready()
        load = ReviewLoad(lambda: f"https://127.0.0.1:{replica.port}/validate", context)
        writers: list[asyncio.StreamWriter] = []

        async def send(*parts: bytes) -> None:
            _, writer = await asyncio.open_connection("127.0.0.1", replica.port, ssl=context)
            writers.append(writer)
            with suppress(ConnectionError):
                writer.writelines(parts)
                await writer.drain()

        async def be_silent() -> None:
            writers.append((await asyncio.open_connection("127.0.0.1", replica.port))[1])

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(load.run(reusing=4, pause=0.01))
            await load.until(20)
            await asyncio.gather(*(be_silent() for _ in range(SILENT)))
            await asyncio.gather(*(send(HEAD) for _ in range(HEADS)))
            for _ in range(WAVES):
                await asyncio.gather(*(send(HEAD, b"\r\n", BODY) for _ in range(CLIENTS)))
                await load.until(load.answered + 20)
            for writer in writers:
                writer.transport.abort()
            await load.until(load.answered + 20)
            load.stop()
        assert load.failures == []
        assert most_memory(replica) < quantity.parse(MEMORY_LIMIT)
        found = await scrape(replica, session)
        assert found['espalier_requests_shed_total{path="/validate",reason="bytes"}'] > 0
        silent = found['espalier_incomplete_requests_total{reason="late-handshake"}']
        assert silent >= SILENT - MAX_HANDSHAKES
        assert found.get('espalier_panics_total{path="/validate"}', 0) == 0
        assert not [line for line in replica.lines() if line["level"] in ("error", "critical")]
