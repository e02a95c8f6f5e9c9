"""Accepts TLS connections, with a limit for handshakes that are not complete.

A server of asyncio accepts any number of connections, and knows one only after its handshake.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

logger = logging.getLogger(__name__)

HANDSHAKE_SECONDS: Final = 10.0
"""How long a client may take for its TLS handshake."""

MAX_HANDSHAKES: Final = 500
"""Handshakes that are not complete; one takes about 50 KiB."""

BACKLOG: Final = 1024
"""Connections that wait for being accepted."""

_ACCEPT_DELAY: Final = 1.0
"""The pause after the system could not accept a connection, for instance for want of files."""


class TlsPort:
    """A port that accepts TLS connections; of too many handshakes the oldest one is closed."""

    def __init__(
        self,
        sockets: list[socket.socket],
        connect: Callable[[], asyncio.BaseProtocol],
        context: ssl.SSLContext,
        count: Callable[[str], None],
    ) -> None:
        self._sockets = sockets
        self._connect = connect
        self._context = context
        self._count = count
        self._opened = asyncio.Event()
        self._accepting: list[asyncio.Task[None]] = []
        self._handshakes: dict[asyncio.Task[None], None] = {}

    async def run(self) -> None:
        """Complete handshakes until cancelled, beyond the end of `accepting`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._opened.wait()
                self._accepting = [
                    tasks.create_task(self._accept(each, tasks)) for each in self._sockets
                ]
                await asyncio.Event().wait()
        finally:
            self._close()

    @asynccontextmanager
    async def accepting(self) -> AsyncIterator[int]:
        """Accept connections during the block, and yield the number of the port."""
        self._opened.set()
        try:
            yield self._sockets[0].getsockname()[1]
        finally:
            for task in self._accepting:
                task.cancel()
            await asyncio.gather(*self._accepting, return_exceptions=True)
            self._close()

    def _close(self) -> None:
        for each in self._sockets:
            each.close()

    async def _accept(self, listener: socket.socket, tasks: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(listener)
            except ConnectionError:
                continue
            except OSError as error:
                logger.warning("could not accept a connection", extra={"error": str(error)})
                await asyncio.sleep(_ACCEPT_DELAY)
                continue
            self._begin(client, tasks)

    def _begin(self, client: socket.socket, tasks: asyncio.TaskGroup) -> None:
        task = tasks.create_task(self._complete(client))
        self._handshakes[task] = None
        task.add_done_callback(lambda done: self._handshakes.pop(done, None))
        if len(self._handshakes) > MAX_HANDSHAKES:
            oldest = next(iter(self._handshakes))
            del self._handshakes[oldest]
            oldest.cancel()
            self._count("late-handshake")

    async def _complete(self, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.connect_accepted_socket(
                self._connect,
                client,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
            )
        except OSError as error:
            # asyncio reports a handshake that takes too long as an aborted connection.
            late = isinstance(error, ConnectionAbortedError)
            self._count("late-handshake" if late else "malformed")
            logger.debug("a TLS handshake failed", extra={"error": str(error)[:200]})


async def bind(host: str, port: int) -> list[socket.socket]:
    """Open a port on every address of a host; raise OSError if one is in use."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            each = socket.socket(family, kind, protocol)
            sockets.append(each)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.setblocking(False)
            each.bind(address)
            each.listen(BACKLOG)
    except OSError:
        for each in sockets:
            each.close()
        raise
    return sockets
