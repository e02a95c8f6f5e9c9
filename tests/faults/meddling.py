"""A proxy before an API server that answers some requests itself, as bad proxies do."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.scripted import CLOSING, Act, Asked, FixedSource
from webhook.cluster.client import Client
from webhook.cluster.config import Access
from webhook.server.listeners import listening

_HOP = {"host", "connection", "content-length", "authorization", "accept-encoding"}

Matches = Callable[[Asked], bool]


def watches(asked: Asked) -> bool:
    return asked.watches


def streams(asked: Asked) -> bool:
    return asked.streams


def lists(asked: Asked) -> bool:
    return asked.lists


@dataclass
class Request(Asked):
    """A request, and when it came."""

    at: float = 0.0


@dataclass
class Meddler:
    """Passes requests on, except where a test has put an act in the way."""

    url: str
    session: aiohttp.ClientSession
    address: str = ""
    asked: list[Request] = field(default_factory=list)
    _acts: deque[tuple[Matches, Act]] = field(default_factory=deque)
    _blocked: dict[str, Act] = field(default_factory=dict)
    _open: dict[asyncio.Task[Any], web.Request] = field(default_factory=dict)

    def meddle(self, matches: Matches, *acts: Act) -> None:
        """Answer the next requests that match by these acts, one after the other."""
        self._acts.extend((matches, act) for act in acts)

    def block(self, path: str, act: Act) -> None:
        """Answer every request to a path (to all, if it is /) by an act, until it is unblocked."""
        self._blocked[path] = act

    def unblock(self) -> None:
        """Let everything pass again."""
        self._blocked.clear()

    @property
    def is_done(self) -> bool:
        """Whether every act was played."""
        return not self._acts

    def cut(self) -> None:
        """Break every connection that is open."""
        for task, request in [*self._open.items()]:
            if request.transport is not None:
                request.transport.abort()
            task.cancel()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        at = asyncio.get_running_loop().time()
        query = dict(request.query)
        asked = Request(request.method, request.path, query, body, request.headers, at)
        self.asked.append(asked)
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = request
        try:
            if self._acts and self._acts[0][0](asked):
                return await self._acts.popleft()[1](request)
            for path, act in self._blocked.items():
                if path in ("/", request.path):
                    return await act(request)
            return await self.forward(request)
        finally:
            del self._open[task]

    async def forward(
        self, request: web.Request, query: Mapping[str, str] | None = None
    ) -> web.StreamResponse:
        """Let the server answer, perhaps to another question."""
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in _HOP
        }
        asking = self.session.request(
            request.method,
            self.url + request.path,
            params=query or dict(request.query),
            headers=headers,
            data=await request.read() or None,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        async with asking as answer:
            response = web.StreamResponse(status=answer.status)
            response.content_type = answer.content_type
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response


@asynccontextmanager
async def meddling(server: Any) -> AsyncIterator[tuple[Meddler, Client]]:
    """Open such a way to a server, with a client that goes over it."""
    admin = await asyncio.to_thread(server.admin.context)
    closing = asyncio.Event()
    app = web.Application(client_max_size=2**24)
    app[CLOSING] = closing
    connector = aiohttp.TCPConnector(ssl=admin, limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        way = Meddler(server.url, session)
        app.router.add_route("*", "/{path:.*}", way.handle)
        async with listening(app, "127.0.0.1", 0) as port:
            way.address = f"http://127.0.0.1:{port}"
            access = Access(FixedSource(way.address))
            async with Client(access) as client:
                try:
                    yield way, client
                finally:
                    closing.set()
                    way.cut()
