"""The middleware of every path: deadline, load shedding, metrics, draining, error responses."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Final, TypeAlias

from aiohttp import web

from webhook.admission.review import ReviewError
from webhook.cluster.cache import NotSyncedError
from webhook.cluster.live_reader import LiveReadError
from webhook.runtime.metrics import Metrics
from webhook.server import bodies
from webhook.server.deadline import time_budget
from webhook.server.errors import (
    BrokenBodyError,
    ClientDisconnectedError,
    LateBodyError,
    MalformedRequestError,
    NoRoomError,
    RequestError,
    RetryLaterError,
)
from webhook.server.fastpath import FastHandler
from webhook.server.keys import TRAFFIC
from webhook.server.traffic import Traffic

logger = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[web.Request, float], Awaitable[web.Response]]
"""Responds to a request before a time of the event loop's clock."""

GuardedHandler: TypeAlias = Callable[[web.Request], Awaitable[web.Response]]

_JSON: Final = "application/json"
_RETRY: Final = {"Retry-After": "1"}

# Errors of other rooms, and the response that they lead to.
_CONVERSIONS: Final[tuple[tuple[type[Exception], type[RequestError]], ...]] = (
    (ReviewError, MalformedRequestError),
    (NotSyncedError, RetryLaterError),
    (LiveReadError, RetryLaterError),
    (TimeoutError, RetryLaterError),
    (web.RequestPayloadError, BrokenBodyError),
)


class RequestGuard:
    """Limits and measures the requests of one path, on the fast path and on the ordinary one."""

    def __init__(self, path: str, traffic: Traffic, metrics: Metrics) -> None:
        self._path = path
        self._traffic = traffic
        self._metrics = metrics
        self._observe_duration = metrics.request_duration.labels(path).observe
        self._statuses = _StatusCounts(metrics, path)
        self._in_flight = 0
        metrics.requests_in_flight.labels(path).set_function(lambda: self._in_flight)

    def wrap(self, handler: Handler) -> GuardedHandler:
        """Return a handler for aiohttp."""
        traffic = self._traffic

        async def guarded(request: web.Request) -> web.Response:
            started = perf_counter()
            traffic.enter()
            self._in_flight += 1
            try:
                seconds, overload = self._check_load(request.query_string)
                if overload is None:
                    deadline = asyncio.get_running_loop().time() + seconds
                    response = await handler(request, deadline)
                else:
                    response = self._shed(overload)
            except ClientDisconnectedError:
                return self._client_disconnected(request)
            except Exception as error:  # noqa: BLE001 - every error has a response
                response = self._error_response(request, error)
            finally:
                bodies.give_back(request, traffic.bodies)
                self._in_flight -= 1
                traffic.leave()
            if traffic.draining:
                response.force_close()
            self._record(response.status, started)
            return response

        return guarded

    def wrap_fast(self, handler: Callable[[bytes], bytes | None]) -> FastHandler:
        """Return a handler for the fast path; any error is repeated on the ordinary path."""
        traffic = self._traffic

        def guarded(body: bytes, query: str) -> bytes | None:
            started = perf_counter()
            if traffic.draining or self._check_load(query)[1] is not None:
                return None
            try:
                answer = handler(body)
            except Exception:  # noqa: BLE001 - the ordinary path reports it
                return None
            if answer is not None:
                self._record(200, started)
            return answer

        return guarded

    def _check_load(self, query: str) -> tuple[float, str | None]:
        """Return the time for a response, and the reason to shed the request, if there is one."""
        seconds = time_budget(query)
        return seconds, self._traffic.overload(seconds)

    def _record(self, status: int, started: float) -> None:
        self._statuses.add(status)
        self._observe_duration(perf_counter() - started)

    def _shed(self, overload: str) -> web.Response:
        self._metrics.requests_shed.labels(self._path, overload).inc()
        return _retry_later("overloaded, try again")

    def _error_response(self, request: web.Request, error: Exception) -> web.Response:
        known = _as_request_error(error)
        if known is None:
            return self._internal_error(error)
        if isinstance(known, LateBodyError | BrokenBodyError):
            self._metrics.incomplete_requests.labels(known.reason).inc()
            fields = {"path": self._path, "error": str(known), "remote": request.remote}
            logger.debug("a body was not complete", extra=fields)
            headers = _RETRY if isinstance(known, LateBodyError) else None
            return web.Response(status=known.status, text=f"{known}\n", headers=headers)
        if isinstance(known, RetryLaterError):
            return self._refuse_for_now(known)
        about = {"path": self._path, "remote": request.remote, "status": known.status}
        logger.info("rejected a request", extra={**about, "error": str(known)})
        headers = {"WWW-Authenticate": "Bearer"} if known.status == 401 else None
        return web.Response(status=known.status, text=f"{known}\n", headers=headers)

    def _refuse_for_now(self, error: RetryLaterError) -> web.Response:
        no_room = isinstance(error, NoRoomError)
        reason = "bytes" if no_room else "unavailable"
        self._metrics.requests_shed.labels(self._path, reason).inc()
        # A flood of bodies must not become a flood of warnings; the metric has an alert.
        level = logging.DEBUG if no_room else logging.WARNING
        logger.log(level, "could not answer", extra={"path": self._path, "error": str(error)})
        return _retry_later(str(error))

    def _client_disconnected(self, request: web.Request) -> web.Response:
        """Return a response that nobody reads: the client left while it sent its body."""
        self._metrics.incomplete_requests.labels(ClientDisconnectedError.reason).inc()
        logger.debug("a client hung up", extra={"path": self._path, "remote": request.remote})
        return web.Response(status=ClientDisconnectedError.status)

    def _internal_error(self, error: Exception) -> web.Response:
        number = secrets.token_hex(8)
        self._metrics.panics.labels(self._path).inc()
        logger.error("bug", exc_info=error, extra={"path": self._path, "request": number})
        return web.Response(status=500, text=f"internal error, request {number}\n")


async def read_body(request: web.Request, deadline: float) -> bytes:
    """Read a JSON body within its limits."""
    # The headers of API servers are compared without parsing, which saves a tenth of a request.
    if request.headers.get("Content-Type") != _JSON and request.content_type != _JSON:
        raise MalformedRequestError(f"the body is {request.content_type}, send {_JSON}")
    return await bodies.read_body(request, deadline, request.app[TRAFFIC].bodies)


def _retry_later(message: str) -> web.Response:
    return web.Response(status=503, text=f"{message}\n", headers=_RETRY)


def _as_request_error(error: Exception) -> RequestError | None:
    if isinstance(error, RequestError):
        return error
    for known, converted in _CONVERSIONS:
        if isinstance(error, known):
            return converted(str(error) or "no answer in time")
    return None


class _StatusCounts:
    """Counts responses by status in a dictionary; the metric is updated before each scrape."""

    def __init__(self, metrics: Metrics, path: str) -> None:
        self._counter = metrics.requests
        self._path = path
        self._counts: dict[int, int] = {}
        metrics.before_scrape(self._update_metric)

    def add(self, status: int) -> None:
        self._counts[status] = self._counts.get(status, 0) + 1

    def _update_metric(self) -> None:
        counts, self._counts = self._counts, {}
        for status, number in counts.items():
            self._counter.labels(self._path, str(status)).inc(number)
