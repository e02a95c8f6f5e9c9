import asyncio
import socket

import aiohttp
import pytest
from aiohttp import web

from tests.clocks import FakeClock, settle
from webhook.server.listeners import ListenError, lame_duck, listening, require_free
from webhook.server.traffic import Traffic


def make_app() -> web.Application:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="here")

    app = web.Application()
    app.router.add_get("/", answer)
    return app


async def test_the_system_chooses_the_port_and_it_is_closed_again() -> None:
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


async def test_a_lame_duck_leaves_only_when_it_is_quiet() -> None:
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
