"""A way to a server that breaks off at random, to be walked by clients that must not care."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Chaos:
    """Passes bytes on in both directions, until it does not."""

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
                    # In the middle of whatever is being said.
                    data = data[: self._chance.randrange(len(data))]
                    writer.write(data)
                    self.breaks += 1
                    break
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    def cut(self) -> None:
        """Break every connection that is open."""
        for writer in [*self._open]:
            self.breaks += 1
            writer.transport.abort()


@asynccontextmanager
async def chaos(url: str, seed: int) -> AsyncIterator[tuple[Chaos, str]]:
    """Open such a way, and give its address."""
    way = Chaos(url, seed)
    server = await asyncio.start_server(way.carry, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield way, f"https://127.0.0.1:{port}"
    finally:
        server.close()
        way.cut()
        await server.wait_closed()
