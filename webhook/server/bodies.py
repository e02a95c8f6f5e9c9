"""The bodies of requests in memory: one budget of bytes for all, and a deadline for each.

A body takes bytes from the budget as they arrive and returns them when its request ends, however
it ends. API servers send a body within milliseconds. If the budget is used up, the body that has
been arriving for the longest time therefore gives way, so clients that never finish do not keep
out those that do.
"""

import asyncio
from typing import Final

from aiohttp import web

from webhook.server.errors import (
    ClientDisconnectedError,
    LateBodyError,
    MalformedRequestError,
    NoRoomError,
    TooLargeError,
)

MAX_BODY: Final = 7 * 2**20
"""Two objects of 3 MiB, the limit of API servers, and 1 MiB for the rest of a review."""

MEMORY_LIMIT: Final = 2**30
"""The memory limit of the manifests."""

DEFAULT_BYTES: Final = MEMORY_LIMIT // 8
"""Room for 18 of the largest bodies. The cache of a large landscape takes half of the memory limit,
and one decoded body up to a quarter."""

BODY_SECONDS: Final = 10.0
"""How long a body may take to arrive; the deadline of its request may be earlier."""


class HeldBody:
    """The bytes of one body that count against the budget."""

    __slots__ = ("size", "timeout", "was_evicted")

    def __init__(self) -> None:
        self.size = 0
        self.was_evicted = False
        self.timeout: asyncio.Timeout | None = None
        """Ends the arrival of the body early, while it is arriving."""


HELD: Final = web.RequestKey("held", HeldBody)


class BodyBudget:
    """The bytes of bodies that may be in memory at the same time."""

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        self.limit = limit
        self.used = 0
        self._arriving: dict[HeldBody, None] = {}
        """Bodies that are not complete, in the order of their arrival."""

    @property
    def arriving(self) -> int:
        """The number of bodies that are not complete."""
        return len(self._arriving)

    def begin(self, held: HeldBody, timeout: asyncio.Timeout) -> None:
        """Record that a body begins to arrive."""
        held.timeout = timeout
        self._arriving[held] = None

    def end(self, held: HeldBody) -> None:
        """Record that a body is complete, or that no more of it is read."""
        held.timeout = None
        self._arriving.pop(held, None)

    def take(self, held: HeldBody, size: int) -> None:
        """Take bytes that have arrived; raises NoRoomError if no other body can give way."""
        held.size += size
        self.used += size
        while self.used > self.limit:
            oldest = next(iter(self._arriving), held)
            if oldest is held:
                raise NoRoomError("too many bytes of requests in memory, try again")
            self._evict(oldest)

    def give_back(self, held: HeldBody) -> None:
        """Return the bytes of a request that has ended."""
        self.used -= held.size
        held.size = 0

    def _evict(self, held: HeldBody) -> None:
        timeout = held.timeout
        held.was_evicted = True
        self.end(held)
        self.give_back(held)
        if timeout is not None and not timeout.expired():
            timeout.reschedule(asyncio.get_running_loop().time())


async def read_body(request: web.Request, deadline: float, budget: BodyBudget) -> bytes:
    """Read a body within its limits; `give_back` returns its bytes to the budget."""
    headers = request.headers
    if "Content-Encoding" in headers:
        raise MalformedRequestError("the body is compressed, send it without Content-Encoding")
    length = headers.get("Content-Length", "")
    if len(length) > 6 and (request.content_length or 0) > MAX_BODY:
        raise TooLargeError(_too_large(request.content_length))
    held = request[HELD] = HeldBody()
    if not request.content.is_eof():
        return await _read_arriving(request, deadline, budget, held)
    body = await request.content.readany()
    _check_size(len(body))
    budget.take(held, len(body))
    return body


def give_back(request: web.Request, budget: BodyBudget) -> None:
    """Return what the body of a request has taken from the budget."""
    held = request.get(HELD)
    if held is not None:
        budget.give_back(held)


async def _read_arriving(
    request: web.Request, deadline: float, budget: BodyBudget, held: HeldBody
) -> bytes:
    until = min(deadline, asyncio.get_running_loop().time() + BODY_SECONDS)
    body = bytearray()
    try:
        async with asyncio.timeout_at(until) as timeout:
            budget.begin(held, timeout)
            # Many small pieces would take far more memory than their bytes, so they are joined.
            while chunk := await request.content.readany():
                _check_size(len(body) + len(chunk))
                budget.take(held, len(chunk))
                body += chunk
    except TimeoutError:
        if held.was_evicted:
            raise NoRoomError("too many bytes of requests in memory, send faster") from None
        raise LateBodyError("the body did not arrive in time, try again") from None
    except (OSError, RuntimeError) as error:
        if request.transport is None:
            raise ClientDisconnectedError("the client left before its body was complete") from error
        raise
    finally:
        budget.end(held)
    return bytes(body)


def _check_size(size: int) -> None:
    if size > MAX_BODY:
        raise TooLargeError(_too_large(None))


def _too_large(length: int | None) -> str:
    size = f"{length} bytes" if length is not None else "too large"
    return f"the body is {size}, send at most {MAX_BODY} bytes"
