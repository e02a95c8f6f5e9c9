"""A way to an API server that can hang, and that remembers what went over it."""

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
    """One request that was answered: when it came, what it was, what became of it."""

    at: float
    method: str
    path: str
    status: int
    body: bytes

    @property
    def writes(self) -> bool:
        return self.method not in ("GET", "HEAD")


class Proxy:
    """Speaks for one client to the API server with the administrator's certificate."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session
        self._open = asyncio.Event()
        self._open.set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.calls: list[Call] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self.kubeconfig = Path()

    def hang(self) -> None:
        """Take requests and never answer, and stop the streams that are open."""
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    def hold_watches(self) -> None:
        """Pass nothing on that watches tell; all else goes on."""
        self._flowing.clear()

    def release_watches(self) -> None:
        self._flowing.set()

    def end(self) -> None:
        """Let go of everything that is still open, watches above all."""
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
            return web.Response()  # whoever asked has gone
        finally:
            self._tasks.discard(task)

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        came = time.time()
        body = await request.read()
        await self._open.wait()
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
async def proxy(
    server: Any, directory: Path, name: str, access: Any = None
) -> AsyncIterator[Proxy]:
    """Open such a way, the administrator's or another's, with a kubeconfig that leads over it."""
    now = datetime.now(UTC)
    authority = Authority.create(name, now)
    context = ServingContext(authority.sign_server(["127.0.0.1"], now)).context
    admin = await asyncio.to_thread((access or server.admin).context)
    connector = aiohttp.TCPConnector(ssl=admin, limit=0)
    app = web.Application(client_max_size=2**24)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=True) as session:
        way = Proxy(server.url, session)
        app.router.add_route("*", "/{path:.*}", way.handle)
        async with listening(app, "127.0.0.1", 0, context) as port:
            (directory / f"{name}.crt").write_bytes(authority.certificate)
            way.kubeconfig = directory / f"{name}.kubeconfig"
            cluster = {
                "server": f"https://127.0.0.1:{port}",
                "certificate-authority": str(directory / f"{name}.crt"),
            }
            way.kubeconfig.write_text(
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
                yield way
            finally:
                way.end()
