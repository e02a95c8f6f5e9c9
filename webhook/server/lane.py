"""The short way in for reviews: a whole request is answered from its bytes as it comes in.

Most of the time of a small request goes into streams, tasks and headers that a review does not
need. Whatever is not a plain, whole request for a path with a short way, or is not answered
there and then with 200, goes the ordinary way through aiohttp, byte for byte.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from aiohttp import web
from aiohttp.helpers import rfc822_formatted_time
from typing_extensions import override

Short: TypeAlias = Callable[[bytes, str], bytes | None]
"""Answers a body, given the query, with the JSON of a 200; None sends it the ordinary way."""

LANES: Final = web.AppKey("lanes", Mapping[str, Short])
"""The paths of an application that have a short way."""

MAX_BODY: Final = 2**17
"""Larger ones come in many pieces, for which aiohttp is made."""

MAX_HEAD: Final = 2**12
HELD_SECONDS: Final = 0.5
"""How long the rest of a request may take before aiohttp, and its deadline, get what is there."""

_END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(rb"POST (/[a-z/]*)(?:\?([!-~]*))? HTTP/1\.1")
_HEADER: Final = re.compile(
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([!-~](?:[ -~\t]*[!-~])?)?[ \t]*"
)
_LENGTH: Final = re.compile(rb"0|[1-9][0-9]{0,6}")
_ORDINARY: Final = frozenset(
    {b"connection", b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"trailer"}
)
"""Headers that change what a request means: aiohttp knows how."""


class Head(NamedTuple):
    """What is to be known of a plain request."""

    path: str
    query: str
    size: int
    """The whole request, head and body."""


@lru_cache(maxsize=512)
def read_head(head: bytes) -> Head | None:
    """Read the head of a plain request with a JSON body; None if it is anything else."""
    line, *lines = head.split(b"\r\n")
    found = _LINE.fullmatch(line)
    headers: dict[bytes, bytes] = {}
    for each in lines:
        header = _HEADER.fullmatch(each)
        if header is None or (name := header[1].lower()) in headers or name in _ORDINARY:
            return None
        headers[name] = header[2] or b""
    length = headers.get(b"content-length", b"")
    is_plain = headers.get(b"content-type") == b"application/json" and b"host" in headers
    if found is None or not is_plain or not _LENGTH.fullmatch(length) or int(length) > MAX_BODY:
        return None
    query = (found[2] or b"").decode()
    return Head(found[1].decode(), query, len(head) + len(_END) + int(length))


class Connection(web.RequestHandler):
    """One connection: plain whole requests are answered at once, the rest is aiohttp's."""

    __slots__ = ("_held", "_is_plain", "_lanes", "_timer")

    def __init__(self, server: web.Server, lanes: Mapping[str, Short], **options: Any) -> None:
        super().__init__(server, **options)
        self._lanes = lanes
        self._is_plain = True  # every byte so far belonged to a whole plain request
        self._held = b""
        self._timer: asyncio.TimerHandle | None = None

    @override
    def data_received(self, data: bytes) -> None:
        if not self._is_plain or not data:  # aiohttp wakes itself with nothing
            super().data_received(data)
            return
        data = self._held + data if self._held else data
        end = data.find(_END, 0, MAX_HEAD)
        head = read_head(data[:end]) if end >= 0 else None
        missing = len(data) < (head.size if head is not None else MAX_HEAD)
        if (head is not None or end < 0) and missing:
            self._hold(data)
            return
        self._let_go()
        if head is None or len(data) != head.size or head.path not in self._lanes:
            self._is_plain = False
        elif self._is_idle and self._answer(data[end + len(_END) :], head):
            return
        super().data_received(data)

    @override
    def eof_received(self) -> None:
        self._give_up_waiting()
        super().eof_received()

    @override
    def connection_lost(self, exc: BaseException | None) -> None:
        self._let_go()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        """Whether nothing that came before is still being answered, or still being sent."""
        waiter = self._waiter
        waits = waiter is not None and not waiter.done()
        return waits and not self._messages and not self._paused and not self._upgraded

    def _answer(self, body: bytes, head: Head) -> bool:
        answer = self._lanes[head.path](body, head.query)
        if answer is None or self.transport is None:
            return False
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
            b"Date: %b\r\n\r\n%b" % (len(answer), rfc822_formatted_time().encode(), answer)
        )
        return True

    def _hold(self, data: bytes) -> None:
        self._held = data
        if self._timer is None:
            self._timer = self._loop.call_later(HELD_SECONDS, self._give_up_waiting)

    def _let_go(self) -> None:
        self._held = b""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up_waiting(self) -> None:
        held = self._held
        self._let_go()
        if held:
            self._is_plain = False
            super().data_received(held)
