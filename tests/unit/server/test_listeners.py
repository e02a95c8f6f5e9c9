import asyncio
import socket

import aiohttp
import pytest
from aiohttp import web

from tests.support.clocks import FakeClock, settle
from webhook.server.listeners import ListenError, lame_duck, listening, require_free
from webhook.server.traffic import Traffic


def make_app() -> web.Application:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="here")

    app = web.Application()
    app.router.add_get("/", answer)
    return app


async def test_the_system_chooses_a_port_and_it_is_closed_afterwards() -> None:
    async with (
        listening(make_app(), "127.0.0.1", 0) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/") as response,
    ):
        assert await response.text() == "here"
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"127.0.0.1:{port}: Address already in use"):
            async with listening(make_app(), "127.0.0.1", port):
                pass
        with pytest.raises(ListenError, match=f"127.0.0.1:{port}: Address already in use"):
            require_free("127.0.0.1", port)
    require_free("127.0.0.1", 0)


async def test_a_lame_duck_ends_only_when_requests_cease() -> None:
    clock = FakeClock()
    traffic = Traffic(clock, limit=1)

    async def live() -> None:
        async with lame_duck(traffic, quiet=5, longest=60):
            pass

    duck = asyncio.create_task(live())
    await settle()
    assert traffic.draining
    await clock.advance(4)
    assert not duck.done()
    await clock.advance(2)
    assert duck.done()


async def test_requests_in_flight_are_cut_when_their_time_is_over() -> None:
    begun = asyncio.Event()

    async def hang(_request: web.Request) -> web.Response:
        begun.set()
        await asyncio.Event().wait()
        return web.Response()

    app = web.Application()
    app.router.add_get("/", hang)
    async with aiohttp.ClientSession() as session:
        async with listening(app, "127.0.0.1", 0, in_flight_seconds=0.05) as port:
            request = asyncio.create_task(session.get(f"http://127.0.0.1:{port}/"))
            await begun.wait()
        with pytest.raises(aiohttp.ClientError):
            await request
