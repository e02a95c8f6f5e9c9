"""Connections with limits: a deadline for heads and responses, and a number of connections.

Bodies have their own limits in `bodies`. An idle connection between two requests has no deadline
but the keep-alive timeout, because clients send requests on it at any time.
"""

import asyncio
import logging
import ssl
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from typing_extensions import override

from webhook.runtime.metrics import Metrics
from webhook.server.aiohttp_connection import AiohttpConnection

logger = logging.getLogger(__name__)

HEAD_SECONDS: Final = 10.0
"""How long the head of a request may take from its first byte; API servers send it at once."""

MAX_HEAD: Final = 2**16
"""The bytes of a head that may arrive before it is complete."""

WRITE_SECONDS: Final = 30.0
"""How long a client may leave a response unread that does not fit into the system's buffers."""

LINGER_SECONDS: Final = 2.0
"""How long the rest of a body is read and dropped after its request was rejected, so that its
client reads the response before it notices that the connection is closed."""

MAX_CONNECTIONS: Final = 2000
"""Several times as many as API servers open; an idle one takes about 50 KiB."""

_CLIENT_ERRORS: Final = (
    HttpProcessingError,
    web.RequestPayloadError,
    ConnectionError,
    ssl.SSLError,
)


class Connections:
    """The open connections of a port."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics
        self._open: set[LimitedConnection] = set()

    def add(self, connection: "LimitedConnection") -> None:
        """Add a connection; above the limit the one that is idle for the longest time is closed."""
        self._open.add(connection)
        if len(self._open) <= MAX_CONNECTIONS:
            return
        idle = (each for each in self._open if each.awaits_head)
        longest = min(idle, key=lambda each: each.idle_until, default=connection)
        self._open.discard(longest)
        longest.force_close()

    def discard(self, connection: "LimitedConnection") -> None:
        self._open.discard(connection)

    def count(self, reason: str) -> None:
        """Count a request that its client did not complete."""
        if self._metrics is not None:
            self._metrics.incomplete_requests.labels(reason).inc()


class LimitedConnection(AiohttpConnection):
    """A connection whose client cannot keep it busy for nothing."""

    __slots__ = ("_connections", "_head_size", "_head_timer", "_write_timer")

    def __init__(self, server: web.Server, connections: Connections, **options: Any) -> None:
        super().__init__(
            server,
            **{"access_log": None} | options,
            auto_decompress=False,
            lingering_time=LINGER_SECONDS,
        )
        self._connections = connections
        self._head_size = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.add(self)

    @override
    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.discard(self)
        self._end_head()
        self._end_write()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.awaits_head:
            if self._head_timer is not None:
                self._end_head()
        elif data:
            self._continue_head(len(data))

    def _continue_head(self, size: int) -> None:
        self._head_size += size
        if self._head_timer is None:
            loop = asyncio.get_running_loop()
            self._head_timer = loop.call_later(HEAD_SECONDS, self._reject_head)
        elif self._head_size > MAX_HEAD:
            self._reject_head()

    def _reject_head(self) -> None:
        self._end_head()
        if self.awaits_head:
            self._connections.count("late-head")
            logger.debug("a head was not complete in time", extra={"remote": self._remote()})
            self.force_close()

    def _end_head(self) -> None:
        self._head_size = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        loop = asyncio.get_running_loop()
        self._write_timer = loop.call_later(WRITE_SECONDS, self._abort)

    @override
    def resume_writing(self) -> None:
        self._end_write()
        super().resume_writing()

    def _end_write(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _abort(self) -> None:
        logger.debug("a response was not read in time", extra={"remote": self._remote()})
        if self.transport is not None:
            self.transport.abort()

    @override
    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if not isinstance(exc, _CLIENT_ERRORS):
            return super().handle_error(request, status, exc, message)
        self._connections.count("malformed")
        logger.debug("malformed HTTP", extra={"remote": request.remote, "error": str(exc)[:200]})
        response = web.Response(status=status, text=f"malformed HTTP: {message or ''}\n")
        response.force_close()
        return response

    @override
    def log_exception(self, *args: Any, **options: Any) -> None:
        error = options.get("exc_info")
        if isinstance(error, _CLIENT_ERRORS):
            logger.debug("a connection failed", extra={"error": str(error)[:200]})
        else:
            super().log_exception(*args, **options)

    def _remote(self) -> str:
        peer = self.peername
        return str(peer[0]) if isinstance(peer, tuple) else str(peer or "")
