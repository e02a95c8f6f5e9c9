"""Clients that connect and do not complete their TLS handshake, on both event loops."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
import uvloop
from aiohttp import web

from webhook.runtime.metrics import Metrics
from webhook.server import handshakes
from webhook.server.keys import METRICS
from webhook.server.listeners import listening
from webhook.tls.authority import Authority
from webhook.tls.bundle import merge_certificates
from webhook.tls.serving import ServingContext

NOW = datetime.now(UTC)
SERVER = Authority.create("server", NOW)

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Port:
    """A TLS port with an application that answers."""

    def __init__(self, number: int, metrics: Metrics) -> None:
        self.number = number
        self._metrics = metrics

    async def connect(self) -> Connection:
        return await asyncio.open_connection("127.0.0.1", self.number)

    async def get(self) -> str:
        context = ssl.create_default_context(cadata=SERVER.certificate.decode())
        connector = aiohttp.TCPConnector(ssl=context)
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.get(f"https://localhost:{self.number}/") as response,
        ):
            return await response.text()

    def counted(self, reason: str) -> float:
        name = "espalier_incomplete_requests_total"
        return self._metrics.registry.get_sample_value(name, {"reason": reason}) or 0


@asynccontextmanager
async def tls_port() -> AsyncIterator[Port]:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="here")

    app = web.Application()
    app[METRICS] = metrics = Metrics()
    app.router.add_get("/", answer)
    pair = SERVER.sign_server(["localhost"], NOW)
    context = ServingContext(pair, merge_certificates(SERVER.certificate)).context
    async with listening(app, "127.0.0.1", 0, context) as number:
        yield Port(number, metrics)


Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a coroutine on each of the two event loops."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(main())

    return run


async def is_closed(connection: Connection) -> bool:
    async with asyncio.timeout(10):
        return await connection[0].read() == b""


async def close(connections: list[Connection]) -> None:
    for _, writer in connections:
        writer.transport.abort()
    await asyncio.sleep(0)


def test_above_the_limit_the_oldest_handshakes_are_closed_and_others_are_served(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "MAX_HANDSHAKES", 5)

    async def main() -> None:
        async with tls_port() as port:
            silent = [await port.connect() for _ in range(8)]
            assert all([await is_closed(each) for each in silent[:3]])
            assert await port.get() == "here"
            assert await is_closed(silent[3])
            assert not any(reader.at_eof() for reader, _ in silent[4:])
            assert port.counted("late-handshake") == 4
            await close(silent)

    run(main)


def test_a_handshake_has_a_deadline(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS", 0.1)

    async def main() -> None:
        async with tls_port() as port:
            silent = await port.connect()
            assert await is_closed(silent)
            assert port.counted("late-handshake") == 1
            assert await port.get() == "here"
            await close([silent])

    run(main)


def test_a_client_without_tls_is_counted_and_is_no_bug(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with tls_port() as port:
            rude = await port.connect()
            rude[1].write(b"GET / HTTP/1.1\r\n\r\n")
            async with asyncio.timeout(10):
                await rude[0].read()
            assert port.counted("malformed") == 1
            assert await port.get() == "here"
            await close([rude])

    run(main)
    assert not [each for each in caplog.records if each.levelname not in ("DEBUG", "INFO")]
