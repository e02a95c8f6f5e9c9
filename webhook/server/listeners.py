"""Open ports, and leave them without dropping anybody."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import cast

from aiohttp import web

from webhook.server.lane import LANES, Connection, Short
from webhook.server.traffic import Traffic

KEEP_ALIVE = 300.0
"""Clients close idle connections after 90 seconds; closing first would cost them a request."""

IN_FLIGHT_SECONDS = 35.0
"""How long what is in flight may take once the port is closed: longer than any deadline."""

_BACKLOG = 1024


class ListenError(Exception):
    """A port that cannot be opened; the message says which, why and what to do."""


def require_free(host: str, port: int) -> None:
    """Raise ListenError if a port cannot be opened, before anything else is begun."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise _explain(host, port, error) from error


def _explain(host: str, port: int, error: OSError) -> ListenError:
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
    return ListenError(f"cannot listen on {host}:{port}: {reason}")


@asynccontextmanager
async def listening(
    app: web.Application, host: str, port: int, context: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve an application and give the port, which the system chooses if it is 0."""
    runner = web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=IN_FLIGHT_SECONDS,
    )
    await runner.setup()
    try:
        opened = await _open(runner, app.get(LANES, {}), (host, port), context)
        try:
            yield opened.sockets[0].getsockname()[1]
        finally:
            opened.close()
    finally:
        await runner.cleanup()


async def _open(
    runner: web.AppRunner,
    lanes: Mapping[str, Short],
    address: tuple[str, int],
    context: ssl.SSLContext | None,
) -> asyncio.Server:
    loop, server = asyncio.get_running_loop(), cast("web.Server", runner.server)

    def connect() -> asyncio.BaseProtocol:
        return Connection(server, lanes, loop=loop, keepalive_timeout=KEEP_ALIVE, access_log=None)

    factory = connect if lanes else server
    try:
        return await loop.create_server(factory, *address, ssl=context, backlog=_BACKLOG)
    except OSError as error:
        raise _explain(*address, error) from error


@asynccontextmanager
async def lame_duck(traffic: Traffic, quiet: float, longest: float) -> AsyncIterator[None]:
    """Drain when the block ends: not ready any more, but served until nobody comes."""
    try:
        yield
    finally:
        await traffic.drain(quiet, longest)
