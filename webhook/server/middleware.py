"""Around every handler: deadline, shedding, metrics, draining, and what each fault answers."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TypeAlias

from aiohttp import web

from webhook.admission.review import ReviewError
from webhook.cluster.answers import UnanswerableError
from webhook.cluster.cache import NotSyncedError
from webhook.runtime.metrics import Metrics
from webhook.server.deadline import budget
from webhook.server.errors import BadRequestError, LaterError, RequestError, TooLargeError
from webhook.server.lane import Short
from webhook.server.traffic import Traffic

logger = logging.getLogger(__name__)

MAX_BODY = 7 * 2**20
"""Two objects of 3 MiB, the most that an API server takes, and 1 MiB for the rest of a review."""

Handler: TypeAlias = Callable[[web.Request, float], Awaitable[web.Response]]
"""Answers a request before a moment of the loop's clock."""

Quick: TypeAlias = Callable[[bytes], bytes | None]
"""Answers a body at once with the body of a 200, or says by None that this takes more."""

Guarded: TypeAlias = Callable[[web.Request], Awaitable[web.Response]]

_JSON = "application/json"
_RETRY = {"Retry-After": "1"}

# Errors of other rooms, in terms of the door.
_MEANINGS: tuple[tuple[type[Exception], type[RequestError]], ...] = (
    (ReviewError, BadRequestError),
    (NotSyncedError, LaterError),
    (UnanswerableError, LaterError),
    (TimeoutError, LaterError),
    (web.HTTPRequestEntityTooLarge, TooLargeError),
    (web.RequestPayloadError, BadRequestError),
)


class Door:
    """Guards handlers; everything that can be prepared is prepared once a path."""

    def __init__(self, traffic: Traffic, metrics: Metrics) -> None:
        self._traffic = traffic
        self._metrics = metrics

    def guard(self, path: str, handler: Handler) -> Guarded:
        """Wrap a handler; `path` is the label of its metrics."""
        traffic = self._traffic
        observe = self._metrics.request_duration.labels(path).observe
        answered = _Codes(self._metrics, path)
        here = 0
        self._metrics.requests_in_flight.labels(path).set_function(lambda: here)

        async def guarded(request: web.Request) -> web.Response:
            nonlocal here
            started = perf_counter()
            traffic.enter()
            here += 1
            try:
                seconds = budget(request.query_string)
                overload = traffic.overload(seconds)
                if overload is None:
                    deadline = asyncio.get_running_loop().time() + seconds
                    response = await handler(request, deadline)
                else:
                    response = self._shed(path, overload)
            except Exception as error:  # noqa: BLE001 - told below, with a traceback if it is a bug
                response = self._failure(path, request, error)
            finally:
                here -= 1
                traffic.leave()
            if traffic.draining:
                response.force_close()
            answered.count(response.status)
            observe(perf_counter() - started)
            return response

        return guarded

    def shorten(self, path: str, handler: Quick) -> Short:
        """Wrap a handler for the short way; every fault is told at the end of the ordinary one."""
        traffic = self._traffic
        observe = self._metrics.request_duration.labels(path).observe
        answered = _Codes(self._metrics, path)

        def shortened(body: bytes, query: str) -> bytes | None:
            started = perf_counter()
            if traffic.draining or traffic.overload(budget(query)) is not None:
                return None
            try:
                answer = handler(body)
            except Exception:  # noqa: BLE001 - it comes again, and is told there
                return None
            if answer is not None:
                answered.count(200)
                observe(perf_counter() - started)
            return answer

        return shortened

    def _shed(self, path: str, overload: str) -> web.Response:
        self._metrics.requests_shed.labels(path, overload).inc()
        return later("overloaded, try again")

    def _failure(self, path: str, request: web.Request, error: Exception) -> web.Response:
        known = _meaning(error)
        if known is None:
            return self._bug(path, error)
        if isinstance(known, LaterError):
            self._metrics.requests_shed.labels(path, "unavailable").inc()
            logger.warning("could not answer", extra={"path": path, "error": str(known)})
            return later(str(known))
        about = {"path": path, "remote": request.remote, "status": known.status}
        logger.info("turned away", extra={**about, "error": str(known)})
        headers = {"WWW-Authenticate": "Bearer"} if known.status == 401 else None
        return web.Response(status=known.status, text=f"{known}\n", headers=headers)

    def _bug(self, path: str, error: Exception) -> web.Response:
        number = secrets.token_hex(8)
        self._metrics.panics.labels(path).inc()
        logger.error("bug", exc_info=error, extra={"path": path, "request": number})
        return web.Response(status=500, text=f"internal error, request {number}\n")


def later(message: str) -> web.Response:
    """Answer that another replica, or another time, will do better."""
    return web.Response(status=503, text=f"{message}\n", headers=_RETRY)


async def read_body(request: web.Request, deadline: float) -> bytes:
    """Read a JSON body within its limits."""
    headers = request.headers
    # What API servers send is told apart without parsing: this is a tenth of a whole request.
    if headers.get("Content-Type") != _JSON and request.content_type != _JSON:
        raise BadRequestError(f"the body is {request.content_type}, send {_JSON}")
    length = headers.get("Content-Length", "")
    if len(length) > 6 and (request.content_length or 0) > MAX_BODY:
        raise TooLargeError(_too_large(request.content_length))
    if request.content.is_eof():
        return await request.read()
    async with asyncio.timeout_at(deadline):
        return await request.read()


def _meaning(error: Exception) -> RequestError | None:
    if isinstance(error, RequestError):
        return error
    for known, meaning in _MEANINGS:
        if isinstance(error, known):
            if meaning is TooLargeError:
                return TooLargeError(_too_large(None))
            return meaning(str(error) or "no answer in time")
    return None


def _too_large(length: int | None) -> str:
    size = f"{length} bytes" if length is not None else "too large"
    return f"the body is {size}, send at most {MAX_BODY} bytes"


class _Codes:
    """Counts answers by status; the counter learns of them when it is read, which costs less."""

    def __init__(self, metrics: Metrics, path: str) -> None:
        self._counter = metrics.requests
        self._path = path
        self._counts: dict[int, int] = {}
        metrics.before_reading(self._tell_counter)

    def count(self, status: int) -> None:
        self._counts[status] = self._counts.get(status, 0) + 1

    def _tell_counter(self) -> None:
        counts, self._counts = self._counts, {}
        for status, number in counts.items():
            self._counter.labels(self._path, str(status)).inc(number)
