"""An HTTP server with scripted responses, for faults that no real API server produces on demand."""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from webhook.cluster.client import Client
from webhook.cluster.config import Access

CLOSING = web.AppKey("closing", asyncio.Event)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class ReceivedRequest:
    """One request that the server received."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    headers: Mapping[str, str]

    @property
    def streams(self) -> bool:
        return self.query.get("sendInitialEvents") == "true"

    @property
    def watches(self) -> bool:
        return "watch" in self.query and not self.streams

    @property
    def lists(self) -> bool:
        return "watch" not in self.query


@dataclass
class ScriptedServer:
    """Answers each request to a path with the next entry of that path's script.

    At the end of a script, watches stay open without events and everything else gets 404.
    """

    scripts: dict[str, deque[Handler]] = field(default_factory=lambda: defaultdict(deque))
    received: list[ReceivedRequest] = field(default_factory=list)
    activity: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    def respond(self, path: str, *acts: Handler) -> None:
        self.scripts[path].extend(acts)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        received = ReceivedRequest(
            request.method, request.path, dict(request.query), body, request.headers
        )
        self.received.append(received)
        self.activity.set()
        script = self.scripts[request.path]
        if script:
            return await script.popleft()(request)
        if received.watches:
            return await stream(hang=True)(request)
        return await fail(404, "NotFound", "the server could not find the requested resource")(
            request
        )

    async def until(self, holds: Callable[[], bool], seconds: float = 5.0) -> None:
        """Wait until a condition holds; it is checked after each request and event."""
        async with asyncio.timeout(seconds):
            while not holds():
                self.activity.clear()
                await self.activity.wait()


class FixedSource:
    """Credentials for the scripted server: a token that changes when it is rejected."""

    namespace = "default"

    def __init__(self, host: str) -> None:
        self._host = host
        self.loads = 0

    async def load(self, *, anew: bool) -> Any:
        del anew
        self.loads += 1
        return SimpleNamespace(
            host=self._host,
            tls_server_name=None,
            proxy=None,
            api_key={"BearerToken": f"Bearer {self.loads}"},
        )


@asynccontextmanager
async def scripted() -> AsyncIterator[tuple[ScriptedServer, Client]]:
    """Start a scripted server and a client of it."""
    script = ScriptedServer()
    app = web.Application(client_max_size=2**26)
    app[CLOSING] = script.closing
    app.router.add_route("*", "/{path:.*}", script.handle)
    async with TestServer(app) as server:
        access = Access(FixedSource(str(server.make_url("/"))))
        async with Client(access) as client:
            try:
                yield script, client
            finally:
                script.closing.set()


def respond_json(
    document: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Handler:
    async def handle_request(_request: web.Request) -> web.StreamResponse:
        return web.json_response(document, status=status, headers=headers)

    return handle_request


def fail(
    code: int,
    reason: str,
    message: str = "no",
    *,
    headers: Mapping[str, str] | None = None,
    details: Mapping[str, Any] | None = None,
) -> Handler:
    return respond_json(status(code, reason, message, details), code, headers)


def respond_text(text: str, content_type: str = "text/html", status: int = 200) -> Handler:
    async def handle_request(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=text, content_type=content_type, status=status)

    return handle_request


def stall() -> Handler:
    """Accept the request and never answer it."""

    async def handle_request(request: web.Request) -> web.StreamResponse:
        await request.app[CLOSING].wait()
        return web.Response()

    return handle_request


def page(*items: Mapping[str, Any], version: str, token: str = "") -> Handler:
    metadata = {"resourceVersion": version} | ({"continue": token} if token else {})
    return respond_json({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items})


def stream(
    *events: object,
    hang: bool | asyncio.Event = False,
    cut: bool = False,
    content_type: str = "application/json",
) -> Handler:
    """Send events (or raw text) as lines, then end, hang (until an event is set), or break off."""

    async def handle_request(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for event in events:
            line = event if isinstance(event, str) else json.dumps(event) + "\n"
            await response.write(line.encode())
        if hang:
            waits = hang if isinstance(hang, asyncio.Event) else request.app[CLOSING]
            await waits.wait()
        if cut and request.transport is not None:
            request.transport.abort()
        return response

    return handle_request


def event(change: str, document: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": change, "object": document}


def bookmark(version: str, *, ends_list: bool = False) -> dict[str, Any]:
    annotations = {"k8s.io/initial-events-end": "true"} if ends_list else {}
    metadata = {"resourceVersion": version, "annotations": annotations}
    return event("BOOKMARK", {"kind": "Shoot", "metadata": metadata})


def status(
    code: int, reason: str, message: str = "no", details: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": dict(details or {}),
    }
