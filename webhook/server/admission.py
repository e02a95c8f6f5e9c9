"""POST /mutate and /validate: decode, decide, ask once what was missing, encode."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Protocol, TypeAlias

from aiohttp import web

from webhook.admission import response, review
from webhook.admission.decision import Decision, Grant, Needs, Outcome, Request
from webhook.cluster.answers import UnanswerableError
from webhook.runtime.metrics import Metrics
from webhook.server.errors import LaterError
from webhook.server.middleware import Handler, Quick, read_body
from webhook.state.questions import Answers, Question
from webhook.state.snapshot import Snapshot

logger = logging.getLogger(__name__)

Decide: TypeAlias = Callable[[Request, Snapshot], Decision | Needs | Grant]

_JSON = {"Content-Type": "application/json"}

_LONGEST_CHAIN = 4
"""A ManagedSeed leads to its Shoot, that to its binding, that to its quotas."""


class Memory(Protocol):
    """What decisions are made from."""

    def snapshot(self, answers: Answers | None = None) -> Snapshot: ...

    async def answer(self, questions: Sequence[Question], seconds: float) -> Answers: ...


class Granter(Protocol):
    """Whoever takes what a decision would take, by compare-and-swap."""

    async def take(self, grant: Grant, *, dry_run: bool) -> int:
        """Give the size that was got, at worst the one that is there; never raises ApiErrors."""


class Admission:
    """Answers reviews from memory."""

    def __init__(self, memory: Memory, metrics: Metrics, granter: Granter | None = None) -> None:
        self._memory = memory
        self._metrics = metrics
        self._granter = granter

    def handlers(self, path: str, decide: Decide) -> tuple[Handler, Quick]:
        """Give the handler of one path, and the one for what memory alone can answer."""
        tally = _Tally(self._metrics, path)

        async def handle(request: web.Request, deadline: float) -> web.Response:
            started = perf_counter()
            asked = review.decode(await read_body(request, deadline))
            decision = self._decide(decide, asked)
            if isinstance(decision, Needs):
                decision = await self._decide_with_answers(decide, asked, decision, deadline)
            if isinstance(decision, Grant):
                decision = await self._take(decision, asked)
            tally.count(asked, decision)
            _tell(path, asked, decision, started)
            return web.Response(body=response.encode(asked, decision), headers=_JSON)

        def handle_quickly(body: bytes) -> bytes | None:
            started = perf_counter()
            asked = review.decode_whole(body)
            decision = self._decide(decide, asked)
            if not isinstance(decision, Decision):
                return None  # it takes questions, or something exclusive: both have to wait
            tally.count(asked, decision)
            _tell(path, asked, decision, started)
            return response.encode(asked, decision)

        return handle, handle_quickly

    def _decide(
        self, decide: Decide, asked: Request, answers: Answers | None = None
    ) -> Decision | Needs | Grant:
        snapshot = self._memory.snapshot(answers)
        decision = decide(asked, snapshot)
        if snapshot.stale_reads:
            # Neither a refusal nor a permission may rest on what is perhaps long past.
            lost = ", ".join(sorted(model.__name__ for model in snapshot.stale_reads))
            raise LaterError(f"not up to date on {lost}, try again")
        return decision

    async def _decide_with_answers(
        self, decide: Decide, asked: Request, needs: Needs, deadline: float
    ) -> Decision | Grant:
        """Find out what is missing and decide again; nothing is asked twice.

        What an answer leads to (the quotas of a binding that memory does not have yet) can only
        be asked for once it is there.
        """
        answers: Answers = {}
        for _ in range(_LONGEST_CHAIN):
            answers = {**answers, **await self._ask(needs, deadline)}
            decision = self._decide(decide, asked, answers)
            if not isinstance(decision, Needs):
                return decision
            needs = decision
        raise LaterError("the decision leads from one question to another, try again")

    async def _take(self, grant: Grant, asked: Request) -> Decision:
        if self._granter is None:
            return grant.given(grant.old)
        return grant.given(await self._granter.take(grant, dry_run=asked.dry_run))

    async def _ask(self, needs: Needs, deadline: float) -> Answers:
        seconds = deadline - asyncio.get_running_loop().time()
        if seconds <= 0:
            raise LaterError("no time left to ask the API server")
        try:
            answers = await self._memory.answer(needs.questions, seconds)
        except UnanswerableError:
            self._metrics.live_reads.labels("failed").inc()
            raise
        self._metrics.live_reads.labels("answered").inc()
        return answers


class _Tally:
    """Counts decisions, as cheaply as can be: counters learn of them when they are read."""

    def __init__(self, metrics: Metrics, path: str) -> None:
        self._metrics = metrics
        self._path = path
        self._counts: dict[tuple[str, str, int, tuple[Outcome, ...]], int] = {}
        metrics.before_reading(self._tell_counters)

    def count(self, asked: Request, decision: Decision) -> None:
        kind = asked.kind.name if asked.kind else "other"
        code = 200 if decision.allowed else response.status(asked, decision)["code"]
        key = (asked.operation, kind, code, decision.outcomes)
        self._counts[key] = self._counts.get(key, 0) + 1
        if decision.patch:
            self._metrics.patch_operations.labels(kind).inc(len(decision.patch))

    def _tell_counters(self) -> None:
        counts, self._counts = self._counts, {}
        verdicts = self._metrics.verdicts
        for (operation, kind, code, outcomes), number in counts.items():
            allowed = "true" if code == 200 else "false"
            labels = (self._path, operation, kind, allowed, str(code))
            self._metrics.decisions.labels(*labels).inc(number)
            for outcome in outcomes:
                verdicts.labels(outcome.policy, operation, outcome.verdict).inc(number)


def _tell(path: str, asked: Request, decision: Decision, started: float) -> None:
    """A refusal is a line that operators see; that something was allowed is not worth one."""
    allowed = decision.allowed
    if not logger.isEnabledFor(logging.DEBUG if allowed else logging.INFO):
        return
    about = {
        "path": path,
        "uid": asked.uid,
        "kind": asked.kind.name if asked.kind else "",
        "object": str(asked.key),
        "operation": asked.operation,
        "subresource": asked.subresource,
        "user": asked.user.username,
        "dry_run": asked.dry_run,
        "patch_operations": len(decision.patch),
        "milliseconds": round((perf_counter() - started) * 1000, 2),
    }
    if allowed:
        logger.debug("allowed", extra=about)
        return
    reasons = [response.describe(finding) for finding in decision.findings if finding.fatal]
    policies = sorted({finding.policy for finding in decision.findings if finding.fatal})
    logger.info("refused", extra={**about, "reasons": reasons[:10], "policies": policies})
