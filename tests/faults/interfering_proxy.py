"""A proxy before an API server that answers some requests itself, as bad proxies do."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.support.scripted_server import CLOSING, FixedSource, Handler, ReceivedRequest
from webhook.cluster.client import Client
from webhook.cluster.config import Access
from webhook.server.listeners import listening

_HOP = {"host", "connection", "content-length", "authorization", "accept-encoding"}

Matches = Callable[[ReceivedRequest], bool]


def watches(request: ReceivedRequest) -> bool:
    return request.watches


def streams(request: ReceivedRequest) -> bool:
    return request.streams


def lists(request: ReceivedRequest) -> bool:
    return request.lists


@dataclass
class Request(ReceivedRequest):
    """A request, and its time."""

    at: float = 0.0


@dataclass
class InterferingProxy:
    """Forwards requests, except those for which a test has set a response."""

    url: str
    session: aiohttp.ClientSession
    address: str = ""
    requests: list[Request] = field(default_factory=list)
    _acts: deque[tuple[Matches, Handler]] = field(default_factory=deque)
    _blocked: dict[str, Handler] = field(default_factory=dict)
    _open: dict[asyncio.Task[Any], web.Request] = field(default_factory=dict)

    def answer_next(self, matches: Matches, *acts: Handler) -> None:
        """Answer the next requests that match with these responses, one after the other."""
        self._acts.extend((matches, act) for act in acts)

    def block(self, path: str, act: Handler) -> None:
        """Answer every request to a path (to all, if it is /) with a response until `unblock`."""
        self._blocked[path] = act

    def unblock(self) -> None:
        """Forward everything again."""
        self._blocked.clear()

    @property
    def is_done(self) -> bool:
        """Whether every scripted response was sent."""
        return not self._acts

    def cut(self) -> None:
        """Break every open connection."""
        for task, request in [*self._open.items()]:
            if request.transport is not None:
                request.transport.abort()
            task.cancel()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        at = asyncio.get_running_loop().time()
        query = dict(request.query)
        recorded = Request(request.method, request.path, query, body, request.headers, at)
        self.requests.append(recorded)
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = request
        try:
            if self._acts and self._acts[0][0](recorded):
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
        """Forward a request, possibly with other parameters."""
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
async def open_interfering_proxy(server: Any) -> AsyncIterator[tuple[InterferingProxy, Client]]:
    """Start a proxy to a server, with a client that uses it."""
    admin = await asyncio.to_thread(server.admin.context)
    closing = asyncio.Event()
    app = web.Application(client_max_size=2**24)
    app[CLOSING] = closing
    connector = aiohttp.TCPConnector(ssl=admin, limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        proxy = InterferingProxy(server.url, session)
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        async with listening(app, "127.0.0.1", 0) as port:
            proxy.address = f"http://127.0.0.1:{port}"
            access = Access(FixedSource(proxy.address))
            async with Client(access) as client:
                try:
                    yield proxy, client
                finally:
                    closing.set()
                    proxy.cut()
