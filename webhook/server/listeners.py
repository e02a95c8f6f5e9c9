"""Opens ports, and closes them without dropping requests."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, cast

from aiohttp import web

from webhook.runtime.tasks import background
from webhook.server.connection import Connections, LimitedConnection
from webhook.server.fastpath import FAST_PATHS, FastPathConnection, FastPaths
from webhook.server.handshakes import BACKLOG, TlsPort, bind
from webhook.server.keys import METRICS
from webhook.server.traffic import Traffic

KEEP_ALIVE: Final = 300.0
"""Longer than the 90 seconds after which Go clients close idle connections, so that the server
does not close a connection on which a request is being sent."""

IN_FLIGHT_SECONDS: Final = 35.0
"""How long requests in flight may take after the port is closed: longer than any deadline."""
PROBE_SECONDS: Final = 5.0
"""The same for probes and scrapes of metrics."""


class ListenError(Exception):
    """A port cannot be opened; the message names the address and the reason."""


def require_free(host: str, port: int) -> None:
    """Raise ListenError if a port cannot be opened, before anything else starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise _listen_error(host, port, error) from error


def _listen_error(host: str, port: int, error: OSError) -> ListenError:
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
    return ListenError(f"cannot listen on {host}:{port}: {reason}")


@asynccontextmanager
async def listening(
    app: web.Application,
    host: str,
    port: int,
    context: ssl.SSLContext | None = None,
    in_flight_seconds: float = IN_FLIGHT_SECONDS,
) -> AsyncIterator[int]:
    """Serve an application and yield the port, which the system chooses if it is 0."""
    runner = web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=in_flight_seconds,
    )
    connections = Connections(app.get(METRICS))
    connect = _protocols(runner, app.get(FAST_PATHS), connections)
    if context is None:
        async with _running(runner), _plain(connect, host, port) as opened:
            yield opened
    else:
        tls = TlsPort(await _bind(host, port), connect, context, connections.count)
        handshakes = background("TLS handshakes", tls.run())
        async with handshakes, _running(runner), tls.accepting() as opened:
            yield opened


@asynccontextmanager
async def _running(runner: web.AppRunner) -> AsyncIterator[None]:
    await runner.setup()
    try:
        yield
    finally:
        await runner.cleanup()


def _protocols(
    runner: web.AppRunner, paths: FastPaths | None, connections: Connections
) -> Callable[[], asyncio.BaseProtocol]:
    options = {"loop": asyncio.get_running_loop(), "keepalive_timeout": KEEP_ALIVE}

    def connect() -> asyncio.BaseProtocol:
        server = cast("web.Server", runner.server)
        if paths is None:
            return LimitedConnection(server, connections, **options)
        return FastPathConnection(server, connections, paths, **options)

    return connect


@asynccontextmanager
async def _plain(
    connect: Callable[[], asyncio.BaseProtocol], host: str, port: int
) -> AsyncIterator[int]:
    try:
        opened = await asyncio.get_running_loop().create_server(
            connect, host, port, backlog=BACKLOG
        )
    except OSError as error:
        raise _listen_error(host, port, error) from error
    try:
        yield opened.sockets[0].getsockname()[1]
    finally:
        opened.close()


async def _bind(host: str, port: int) -> list[socket.socket]:
    try:
        return await bind(host, port)
    except OSError as error:
        raise _listen_error(host, port, error) from error


@asynccontextmanager
async def lame_duck(traffic: Traffic, quiet: float, longest: float) -> AsyncIterator[None]:
    """Drain after the block: not ready any more, but serving until requests cease."""
    try:
        yield
    finally:
        await traffic.drain(quiet, longest)
