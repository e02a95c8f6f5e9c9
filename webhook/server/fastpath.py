"""The fast path for reviews: a complete request is answered from its bytes as they arrive.

Most of the time of a small request goes into streams, tasks and headers that a review does not
need. Requests that are not plain, not complete or not answered at once with 200 go through aiohttp
unchanged; afterwards the connection returns to the fast path if the end of the request is known.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from aiohttp import web
from typing_extensions import override

from webhook.server.aiohttp_connection import http_date
from webhook.server.bodies import BodyBudget
from webhook.server.connection import Connections, LimitedConnection

FastHandler: TypeAlias = Callable[[bytes, str], bytes | None]
"""Returns the JSON of a 200 for a body and a query; None sends the request through aiohttp."""

MAX_BODY: Final = 2**17
"""Larger bodies arrive in many pieces and go through aiohttp."""

MAX_HEAD: Final = 2**12
COMPLETION_SECONDS: Final = 0.5
"""How long the rest of a request may take before aiohttp, with its deadline, gets the request."""

_END: Final = b"\r\n\r\n"
_REQUEST_LINE: Final = re.compile(rb"POST (/[a-z/]*)(?:\?([!-~]*))? HTTP/1\.1")
_HEADER: Final = re.compile(
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([!-~](?:[ -~\t]*[!-~])?)?[ \t]*"
)
_LENGTH: Final = re.compile(rb"0|[1-9][0-9]{0,6}")
_UNSUPPORTED: Final = frozenset(
    {b"connection", b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"trailer"}
)
"""Headers that change the meaning of a request; aiohttp handles them."""


def _admit_all(_transport: asyncio.BaseTransport) -> bool:
    return True


class FastPaths(NamedTuple):
    """The paths of an application that have a fast path, and the clients that may use it."""

    handlers: Mapping[str, FastHandler]
    admits: Callable[[asyncio.BaseTransport], bool] = _admit_all
    """Whether the client of a new connection, after its TLS handshake, may use the fast path."""
    bodies: BodyBudget | None = None
    """The budget of the bytes that are kept until their request is complete."""


FAST_PATHS: Final = web.AppKey("fast_paths", FastPaths)


class RequestHead(NamedTuple):
    """The head of a plain request."""

    path: str
    query: str
    body_size: int
    size: int
    """The size of the whole request, head and body."""


@lru_cache(maxsize=512)
def parse_head(head: bytes) -> RequestHead | None:
    """Parse the head of a plain request with a JSON body; None for any other request."""
    line, *lines = head.split(b"\r\n")
    found = _REQUEST_LINE.fullmatch(line)
    headers: dict[bytes, bytes] = {}
    for each in lines:
        header = _HEADER.fullmatch(each)
        if header is None or (name := header[1].lower()) in headers or name in _UNSUPPORTED:
            return None
        headers[name] = header[2] or b""
    length = headers.get(b"content-length", b"")
    is_plain = headers.get(b"content-type") == b"application/json" and b"host" in headers
    if found is None or not is_plain or not _LENGTH.fullmatch(length):
        return None
    query, body_size = (found[2] or b"").decode(), int(length)
    return RequestHead(found[1].decode(), query, body_size, len(head) + len(_END) + body_size)


class FastPathConnection(LimitedConnection):
    """One connection: complete plain requests are answered at once, aiohttp handles the rest."""

    __slots__ = ("_budget", "_buffer", "_forwarding", "_is_plain", "_paths", "_timer")

    def __init__(
        self, server: web.Server, connections: Connections, paths: FastPaths, **options: Any
    ) -> None:
        super().__init__(server, connections, **options)
        self._paths = paths
        self._budget = paths.bodies or BodyBudget()
        self._is_plain = True
        """Whether the next byte belongs to a plain request; False for good after any other."""
        self._buffer = b""
        self._forwarding = 0
        """How many further bytes of the current request go to aiohttp."""
        self._timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._is_plain = self._paths.admits(transport)

    @override
    def data_received(self, data: bytes) -> None:
        if self._is_plain and self._forwarding:
            part, data = data[: self._forwarding], data[self._forwarding :]
            self._forwarding -= len(part)
            super().data_received(part)
            if not data:
                return
        if not self._is_plain or not data:  # aiohttp calls itself without data
            super().data_received(data)
            return
        self._receive_plain(self._buffer + data if self._buffer else data)

    def _receive_plain(self, data: bytes) -> None:
        """Answer, buffer or forward the data, which starts with a new request."""
        head, end = _find_head(data)
        is_large = head is not None and head.body_size > MAX_BODY
        missing = (head.size if head is not None else MAX_HEAD) - len(data)
        if (head is not None or end < 0) and missing > 0 and not is_large:
            self._keep(data)
            return
        self._clear()
        if head is None or missing < 0 or head.path not in self._paths.handlers:
            self._is_plain = False
        elif is_large:
            self._forwarding = missing
        elif self.is_idle and self._answer(data[end + len(_END) :], head):
            return
        super().data_received(data)

    @override
    def eof_received(self) -> None:
        self._forward_buffer()
        super().eof_received()

    @override
    def connection_lost(self, exc: BaseException | None) -> None:
        self._clear()
        super().connection_lost(exc)

    def _answer(self, body: bytes, head: RequestHead) -> bool:
        answer = self._paths.handlers[head.path](body, head.query)
        if answer is None or self.transport is None:
            return False
        self.restart_keepalive()
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
            b"Date: %b\r\n\r\n%b" % (len(answer), http_date(), answer)
        )
        return True

    def _keep(self, data: bytes) -> None:
        self._budget.used += len(data) - len(self._buffer)
        self._buffer = data
        if self._budget.used > self._budget.limit:
            # On the ordinary path bodies that arrive slowly give way to others.
            self._forward_buffer()
            return
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(COMPLETION_SECONDS, self._forward_buffer)

    def _clear(self) -> None:
        self._budget.used -= len(self._buffer)
        self._buffer = b""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _forward_buffer(self) -> None:
        """Give an incomplete request to aiohttp."""
        data = self._buffer
        self._clear()
        if data:
            head, _ = _find_head(data)
            if head is None:
                self._is_plain = False
            else:
                self._forwarding = head.size - len(data)
            super().data_received(data)


def _find_head(data: bytes) -> tuple[RequestHead | None, int]:
    """Return the head of a plain request and where it ends; -1 while the head is incomplete."""
    end = data.find(_END, 0, MAX_HEAD)
    return (parse_head(data[:end]) if end >= 0 else None), end
