"""POST /scheduler/{filter,prioritize,preempt,bind} and GET /scheduler/explain."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec
from aiohttp import web

from webhook.cluster.cache import NotSyncedError
from webhook.cluster.live_reader import LiveReadError
from webhook.kube.meta import ObjectKey
from webhook.scheduling import extender
from webhook.scheduling.extender import ExtenderBindingArgs, ExtenderError, ExtenderResult
from webhook.server import bodies
from webhook.server.authentication import Authenticator, Identity
from webhook.server.errors import (
    AccessDeniedError,
    RequestError,
    RetryLaterError,
    TooLargeError,
    UnauthenticatedError,
)
from webhook.server.keys import TRAFFIC
from webhook.server.middleware import Handler
from webhook.state.live_reads import (
    LiveRead,
    LiveResults,
    MissingReads,
    ReadChainError,
    evaluate_with_reads,
)
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheReader

T = TypeVar("T")

ALL_SHOOTS: Final = ObjectKey("", "")
"""In an access review: every shoot in every namespace."""

_JSON: Final = {"Content-Type": "application/json"}
_TOO_LARGE: Final = "the body is too large, set nodeCacheCapable to send names only"


class ExtenderBackend(Protocol):
    """The scheduling behind the extender; its results contain the errors of the client."""

    def filter(self, body: bytes, snapshot: Snapshot, *, authorized: bool) -> ExtenderResult: ...

    def prioritize(
        self, body: bytes, snapshot: Snapshot, *, authorized: bool
    ) -> ExtenderResult: ...

    def record(self, result: ExtenderResult) -> None:
        """Reserve capacity and emit Events for the result of an authorized client."""

    def explain(self, shoot: ObjectKey, snapshot: Snapshot) -> Any | None:
        """Return the result of every seed; None if the shoot does not exist."""

    async def find_shoot(self, binding: ExtenderBindingArgs, seconds: float) -> ObjectKey:
        """Return the shoot of a binding; raises ExtenderError."""

    async def bind(self, shoot: ObjectKey, binding: ExtenderBindingArgs, seconds: float) -> None:
        """Assign the shoot to the seed, unless it is already; raises ExtenderError."""


class _Call(Protocol):
    """Filters or scores seeds for the shoot in a body."""

    def __call__(self, body: bytes, snapshot: Snapshot, *, authorized: bool) -> ExtenderResult: ...


class Extender:
    """Responds to a scheduler; the status is always 200 and errors are in the body."""

    def __init__(
        self, cache: CacheReader, backend: ExtenderBackend, authenticator: Authenticator
    ) -> None:
        self._cache = cache
        self._backend = backend
        self._authenticator = authenticator
        self.filter = self._handler(
            backend.filter, lambda _body, error: extender.filter_error(error)
        )
        self.prioritize = self._handler(
            backend.prioritize, lambda body, _error: extender.zero_scores(body)
        )

    def _handler(self, call: _Call, error_body: Callable[[bytes, str], bytes]) -> Handler:
        async def handle(request: web.Request, deadline: float) -> web.Response:
            body = b""
            try:
                body = await _read(request, deadline)
                authorized = await self._may_bind_all(request, deadline)
                traffic = request.app[TRAFFIC]
                pacing = traffic.pacing if authorized else traffic.open_pacing

                def evaluate(snapshot: Snapshot) -> ExtenderResult:
                    with pacing.working(len(body)):
                        return call(body, snapshot, authorized=authorized)

                await pacing.turn(len(body), deadline)
                result = await self._evaluate(evaluate, deadline)
                if authorized:
                    self._backend.record(result)
                answer = result.body
            except (RequestError, NotSyncedError, LiveReadError, TimeoutError) as error:
                answer = error_body(body, str(error) or "no answer in time")
            return web.Response(body=answer, headers=_JSON)

        return handle

    async def _may_bind_all(self, request: web.Request, deadline: float) -> bool:
        """Return whether a client has proved that it may bind all shoots, as a scheduler may."""
        try:
            identity = await self._authenticator.identify(request, _time_left(deadline))
            await self._authenticator.authorize(identity, ALL_SHOOTS, _time_left(deadline))
        except (UnauthenticatedError, AccessDeniedError):
            return False
        return True

    async def preempt(self, request: web.Request, deadline: float) -> web.Response:
        return web.Response(body=extender.preempt(), headers=_JSON)

    async def bind(self, request: web.Request, deadline: float) -> web.Response:
        """Bind a shoot; a failed authentication is an HTTP error, all others are in the body."""
        identity = await self._authenticator.identify(request, _time_left(deadline))
        try:
            binding = extender.decode_binding(await _read(request, deadline))
            shoot = await self._authorized_shoot(identity, binding, deadline)
            async with asyncio.timeout_at(deadline):
                await self._backend.bind(shoot, binding, _time_left(deadline))
        except (ExtenderError, RequestError, NotSyncedError, LiveReadError) as error:
            return _binding_result(str(error))
        except TimeoutError:
            return _binding_result("no answer in time, the same call may be repeated")
        return _binding_result("")

    async def _authorized_shoot(
        self, identity: Identity, binding: ExtenderBindingArgs, deadline: float
    ) -> ObjectKey:
        """Return the shoot of a binding; nothing is looked up for a client that may bind nothing.

        What the client names may be a Pod in our namespace. So a client that may not bind all
        shoots needs the permission twice: for what it names, and for the shoot of that Pod.
        """
        authorize = self._authenticator.authorize
        try:
            await authorize(identity, ALL_SHOOTS, _time_left(deadline))
        except AccessDeniedError:
            await authorize(identity, binding.pod, _time_left(deadline))
            shoot = await self._backend.find_shoot(binding, _time_left(deadline))
            if shoot != binding.pod:
                await authorize(identity, shoot, _time_left(deadline))
            return shoot
        return await self._backend.find_shoot(binding, _time_left(deadline))

    async def explain(self, request: web.Request, deadline: float) -> web.Response:
        """Explain the seeds of a shoot to clients that may bind it."""
        shoot = ObjectKey(request.match_info["namespace"], request.match_info["shoot"])
        identity = await self._authenticator.identify(request, _time_left(deadline))
        await self._authenticator.authorize(identity, shoot, _time_left(deadline))

        def evaluate(snapshot: Snapshot) -> bytes:
            return msgspec.json.encode(self._backend.explain(shoot, snapshot))

        answer = await self._evaluate(evaluate, deadline)
        if answer == b"null":
            return web.Response(status=404, text=f"there is no shoot {shoot}\n")
        return web.Response(body=answer, headers=_JSON)

    async def _evaluate(self, evaluate: Callable[[Snapshot], T], deadline: float) -> T:
        def evaluate_once(results: LiveResults) -> T | MissingReads:
            snapshot = self._cache.snapshot(results)
            answer = evaluate(snapshot)
            if snapshot.stale_reads:
                stale = ", ".join(sorted(model.__name__ for model in snapshot.stale_reads))
                raise RetryLaterError(f"not up to date on {stale}, try again")
            return MissingReads(snapshot.live_reads) if snapshot.live_reads else answer

        async def read(live_reads: Sequence[LiveRead]) -> LiveResults:
            return await self._cache.read_live(live_reads, _time_left(deadline))

        try:
            return await evaluate_with_reads(evaluate_once, read, rounds=2)
        except ReadChainError:
            raise RetryLaterError("the answer needs more than one round of live reads") from None


async def _read(request: web.Request, deadline: float) -> bytes:
    try:
        return await bodies.read_body(request, deadline, request.app[TRAFFIC].bodies)
    except TooLargeError as error:
        raise TooLargeError(_TOO_LARGE) from error


def _time_left(deadline: float) -> float:
    return max(0.05, deadline - asyncio.get_running_loop().time())


def _binding_result(error: str) -> web.Response:
    return web.Response(body=extender.encode_binding(error), headers=_JSON)
