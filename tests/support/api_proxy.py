"""A proxy to an API server that records every call and that a test can make hang."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import yaml
from aiohttp import web

from webhook.server.listeners import listening
from webhook.tls.authority import Authority
from webhook.tls.serving import ServingContext

_HOP = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}


class Call(NamedTuple):
    """One request with its response: time, method, path and status."""

    at: float
    method: str
    path: str
    status: int
    body: bytes

    @property
    def writes(self) -> bool:
        return self.method not in ("GET", "HEAD")


class Proxy:
    """Forwards the requests of one client with the administrator's certificate."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session
        self._open = asyncio.Event()
        self._open.set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.calls: list[Call] = []
        self.has_streaming_lists = True
        self._tasks: set[asyncio.Task[Any]] = set()
        self.kubeconfig = Path()

    def hang(self) -> None:
        """Accept requests without answering them, and stop the open streams."""
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    def hold_watches(self) -> None:
        """Hold back all watch events; other responses are forwarded."""
        self._flowing.clear()

    def release_watches(self) -> None:
        self._flowing.set()

    def end(self) -> None:
        """Close everything that is still open, watches above all."""
        self.resume()
        self.release_watches()
        for task in [*self._tasks]:
            task.cancel()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await self._forward(request)
        except ConnectionResetError:
            return web.Response()  # the caller has disconnected
        finally:
            self._tasks.discard(task)

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        came = time.time()
        body = await request.read()
        await self._open.wait()
        if "sendInitialEvents" in request.query and not self.has_streaming_lists:
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422}
            return web.json_response({**status, "reason": "Invalid"}, status=422)
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in _HOP
        }
        async with self._session.request(
            request.method,
            f"{self._url}{request.rel_url}",
            headers=headers,
            data=body or None,
            timeout=aiohttp.ClientTimeout(total=None),
        ) as answer:
            response = web.StreamResponse(status=answer.status)
            response.content_type = answer.content_type
            await self._open.wait()
            self.calls.append(Call(came, request.method, request.path, answer.status, body))
            await response.prepare(request)
            watches = "watch" in request.query
            async for chunk in answer.content.iter_any():
                await self._open.wait()
                if watches:
                    await self._flowing.wait()
                await response.write(chunk)
            await response.write_eof()
            return response


@asynccontextmanager
async def open_proxy(
    server: Any, directory: Path, name: str, access: Any = None
) -> AsyncIterator[Proxy]:
    """Start a proxy for the administrator or another client, with a kubeconfig for it."""
    now = datetime.now(UTC)
    authority = Authority.create(name, now)
    context = ServingContext(authority.sign_server(["127.0.0.1"], now)).context
    admin = await asyncio.to_thread((access or server.admin).context)
    connector = aiohttp.TCPConnector(ssl=admin, limit=0)
    app = web.Application(client_max_size=2**24)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=True) as session:
        proxy = Proxy(server.url, session)
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        async with listening(app, "127.0.0.1", 0, context) as port:
            (directory / f"{name}.crt").write_bytes(authority.certificate)
            proxy.kubeconfig = directory / f"{name}.kubeconfig"
            cluster = {
                "server": f"https://127.0.0.1:{port}",
                "certificate-authority": str(directory / f"{name}.crt"),
            }
            proxy.kubeconfig.write_text(
                yaml.safe_dump(
                    {
                        "apiVersion": "v1",
                        "kind": "Config",
                        "current-context": "way",
                        "clusters": [{"name": "way", "cluster": cluster}],
                        "contexts": [{"name": "way", "context": {"cluster": "way", "user": "me"}}],
                        "users": [{"name": "me", "user": {}}],
                    }
                )
            )
            try:
                yield proxy
            finally:
                proxy.end()
