"""Opens ports, and closes them without dropping requests."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, cast

from aiohttp import web

from webhook.server.connection import Connections, LimitedConnection
from webhook.server.fastpath import FAST_PATHS, FastPathConnection
from webhook.server.keys import METRICS
from webhook.server.traffic import Traffic

KEEP_ALIVE: Final = 300.0
"""Longer than the 90 seconds after which Go clients close idle connections, so that the server
does not close a connection on which a request is being sent."""

IN_FLIGHT_SECONDS: Final = 35.0
"""How long requests in flight may take after the port is closed: longer than any deadline."""
PROBE_SECONDS: Final = 5.0
"""The same for probes and scrapes of metrics."""

HANDSHAKE_SECONDS: Final = 10.0
"""How long a client may take for its TLS handshake."""

_BACKLOG: Final = 1024


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
    await runner.setup()
    try:
        opened = await _open(runner, app, (host, port), context)
        try:
            yield opened.sockets[0].getsockname()[1]
        finally:
            opened.close()
    finally:
        await runner.cleanup()


async def _open(
    runner: web.AppRunner,
    app: web.Application,
    address: tuple[str, int],
    context: ssl.SSLContext | None,
) -> asyncio.Server:
    loop, server = asyncio.get_running_loop(), cast("web.Server", runner.server)
    paths, connections = app.get(FAST_PATHS), Connections(app.get(METRICS))

    def connect() -> asyncio.BaseProtocol:
        options = {"loop": loop, "keepalive_timeout": KEEP_ALIVE}
        if paths is None:
            return LimitedConnection(server, connections, **options)
        return FastPathConnection(server, connections, paths, **options)

    try:
        return await loop.create_server(
            connect,
            *address,
            ssl=context,
            backlog=_BACKLOG,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if context is not None else None,
        )
    except OSError as error:
        raise _listen_error(*address, error) from error


@asynccontextmanager
async def lame_duck(traffic: Traffic, quiet: float, longest: float) -> AsyncIterator[None]:
    """Drain after the block: not ready any more, but serving until requests cease."""
    try:
        yield
    finally:
        await traffic.drain(quiet, longest)
