"""POST /scheduler/{filter,prioritize,preempt,bind} and GET /scheduler/explain."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec
from aiohttp import web

from webhook.api.meta import ObjectKey
from webhook.cluster.answers import UnanswerableError
from webhook.cluster.cache import NotSyncedError
from webhook.scheduling import extender
from webhook.scheduling.extender import Binding, ExtenderError
from webhook.server.authentication import Authenticator
from webhook.server.errors import LaterError, RequestError, TooLargeError
from webhook.server.middleware import MAX_BODY, Handler
from webhook.state.questions import Answers, Question
from webhook.state.snapshot import Snapshot

Judge: TypeAlias = Callable[[bytes, Snapshot], bytes]

_JSON = {"Content-Type": "application/json"}
_TOO_LARGE = "the body is too large, set nodeCacheCapable to send names only"


class Memory(Protocol):
    """What answers are made from."""

    def snapshot(self, answers: Answers | None = None) -> Snapshot: ...

    async def answer(self, questions: Sequence[Question], seconds: float) -> Answers: ...


class Scheduling(Protocol):
    """What the extender asks; faults of the caller are in the answers already."""

    def filter(self, body: bytes, snapshot: Snapshot) -> bytes: ...

    def prioritize(self, body: bytes, snapshot: Snapshot) -> bytes: ...

    def explain(self, shoot: ObjectKey, snapshot: Snapshot) -> Any | None:
        """Tell what became of every seed; None if there is no such shoot."""

    async def find_shoot(self, binding: Binding, seconds: float) -> ObjectKey:
        """Say which shoot a binding is about; raises ExtenderError."""

    async def bind(self, shoot: ObjectKey, binding: Binding, seconds: float) -> None:
        """Assign the shoot to the seed; done already is done. Raises ExtenderError."""


class Extender:
    """Answers a scheduler; whatever it sends, the status is 200 and faults are in the answer."""

    def __init__(
        self, memory: Memory, scheduling: Scheduling, authenticator: Authenticator
    ) -> None:
        self._memory = memory
        self._scheduling = scheduling
        self._authenticator = authenticator
        self.filter = self._judging(
            scheduling.filter, lambda _body, error: extender.filter_fault(error)
        )
        self.prioritize = self._judging(
            scheduling.prioritize, lambda body, _error: extender.no_scores(body)
        )

    def _judging(self, judge: Judge, fault: Callable[[bytes, str], bytes]) -> Handler:
        async def handle(request: web.Request, deadline: float) -> web.Response:
            body = b""
            try:
                body = await _read(request, deadline)
                answer = await self._judge(judge, body, deadline)
            except (RequestError, NotSyncedError, UnanswerableError, TimeoutError) as error:
                answer = fault(body, str(error) or "no answer in time")
            return web.Response(body=answer, headers=_JSON)

        return handle

    async def preempt(self, request: web.Request, deadline: float) -> web.Response:
        return web.Response(body=extender.preempt(b""), headers=_JSON)

    async def bind(self, request: web.Request, deadline: float) -> web.Response:
        """Bind for those who may; a stranger is told so by the status, all else in the answer."""
        identity = await self._authenticator.identify(request, _left(deadline))
        try:
            binding = extender.decode_binding(await _read(request, deadline))
            shoot = await self._scheduling.find_shoot(binding, _left(deadline))
            await self._authenticator.authorize(identity, shoot, _left(deadline))
            async with asyncio.timeout_at(deadline):
                await self._scheduling.bind(shoot, binding, _left(deadline))
        except (ExtenderError, RequestError, NotSyncedError, UnanswerableError) as error:
            return _bound(str(error))
        except TimeoutError:
            return _bound("no answer in time, the same call may be repeated")
        return _bound("")

    async def explain(self, request: web.Request, deadline: float) -> web.Response:
        """Tell those who could bind the shoot where it could go, and why not elsewhere."""
        shoot = ObjectKey(request.match_info["namespace"], request.match_info["shoot"])
        identity = await self._authenticator.identify(request, _left(deadline))
        await self._authenticator.authorize(identity, shoot, _left(deadline))

        def judge(_body: bytes, snapshot: Snapshot) -> bytes:
            return msgspec.json.encode(self._scheduling.explain(shoot, snapshot))

        answer = await self._judge(judge, b"", deadline)
        if answer == b"null":
            return web.Response(status=404, text=f"there is no shoot {shoot}\n")
        return web.Response(body=answer, headers=_JSON)

    async def _judge(self, judge: Judge, body: bytes, deadline: float) -> bytes:
        answers: Answers | None = None
        for _ in range(2):
            snapshot = self._memory.snapshot(answers)
            answer = judge(body, snapshot)
            questions, stale = snapshot.questions, snapshot.stale_reads
            if stale:
                lost = ", ".join(sorted(model.__name__ for model in stale))
                raise LaterError(f"not up to date on {lost}, try again")
            if not questions:
                return answer
            answers = await self._memory.answer(questions, _left(deadline))
        raise LaterError("the answer needs more than one round of questions")


async def _read(request: web.Request, deadline: float) -> bytes:
    if (request.content_length or 0) > MAX_BODY:
        raise LaterError(
            f"the body is too large, set nodeCacheCapable to send less than {MAX_BODY}"
        )
    async with asyncio.timeout_at(deadline):
        try:
            return await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            raise TooLargeError(_TOO_LARGE) from error


def _left(deadline: float) -> float:
    return max(0.05, deadline - asyncio.get_running_loop().time())


def _bound(error: str) -> web.Response:
    return web.Response(body=extender.encode_binding(error), headers=_JSON)
