"""A TCP proxy that breaks connections at random."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class BreakingProxy:
    """Forwards bytes in both directions and breaks connections at random."""

    def __init__(self, url: str, seed: int) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname, address.port
        self._chance = random.Random(seed)
        self._open: set[asyncio.StreamWriter] = set()
        self.is_calm = False
        self.breaks = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            there, onward = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, onward}
        try:
            await asyncio.gather(self._pass(reader, onward), self._pass(there, writer))
        finally:
            self._open -= {writer, onward}
            for each in (writer, onward):
                each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(2**16):
                if not self.is_calm and self._chance.random() < 0.01:
                    # In the middle of a message.
                    data = data[: self._chance.randrange(len(data))]
                    writer.write(data)
                    self.breaks += 1
                    break
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    def cut(self) -> None:
        """Break every open connection."""
        for writer in [*self._open]:
            self.breaks += 1
            writer.transport.abort()


@asynccontextmanager
async def open_breaking_proxy(url: str, seed: int) -> AsyncIterator[tuple[BreakingProxy, str]]:
    """Start a proxy, and return its address."""
    proxy = BreakingProxy(url, seed)
    server = await asyncio.start_server(proxy.carry, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield proxy, f"https://127.0.0.1:{port}"
    finally:
        server.close()
        proxy.cut()
        await server.wait_closed()
