"""POST /mutate and /validate: decode a review, decide, encode the response."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final, Protocol, TypeAlias

from webhook.admission import response, review
from webhook.admission.decision import Decision, Grant, Needs, PolicyOutcome, Request
from webhook.cluster.live_reader import LiveReadError
from webhook.runtime.metrics import Metrics
from webhook.server.errors import RetryLaterError
from webhook.server.pacing import Pacing
from webhook.state.live_reads import (
    LiveRead,
    LiveResults,
    MissingReads,
    ReadChainError,
    evaluate_with_reads,
)
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheReader

logger = logging.getLogger(__name__)

Decide: TypeAlias = Callable[[Request, Snapshot], Decision | Needs | Grant]

_MAX_READ_CHAIN: Final = 4
"""A ManagedSeed leads to its Shoot, that to its binding, that to its quotas."""


class GrantExecutor(Protocol):
    """Takes permits of worker pools by compare-and-swap."""

    async def take(self, grant: Grant, *, dry_run: bool) -> int:
        """Return the size that was granted, at least the current one; never raises ApiErrors."""


class ReviewHandler:
    """Responds to the reviews of one path from the cache."""

    def __init__(
        self,
        path: str,
        decide: Decide,
        cache: CacheReader,
        metrics: Metrics,
        granter: GrantExecutor | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        self._path = path
        self._decide = decide
        self._cache = cache
        self._metrics = metrics
        self._granter = granter
        self._pacing = pacing or Pacing()
        self._counts = _DecisionCounts(metrics, path)

    def handle_now(self, body: bytes) -> bytes | None:
        """Return the response, or None if it needs live reads or a permit, which have to wait."""
        started = perf_counter()
        request = review.decode_whole(body)
        decision = self._evaluate(request)
        if not isinstance(decision, Decision):
            return None
        return self._respond(request, decision, started)

    async def handle(self, body: bytes, deadline: float) -> bytes:
        """Return the response, with live reads and permits where the decision needs them."""
        started = perf_counter()
        request, decision = await self._evaluate_with_reads(body, deadline)
        if isinstance(decision, Grant):
            decision = await self._take(decision, request)
        return self._respond(request, decision, started)

    def _respond(self, request: Request, decision: Decision, started: float) -> bytes:
        self._counts.add(request, decision)
        _log_decision(self._path, request, decision, started)
        return response.encode(request, decision)

    def _evaluate(
        self, request: Request, live_results: LiveResults | None = None
    ) -> Decision | Needs | Grant:
        snapshot = self._cache.snapshot(live_results)
        decision = self._decide(request, snapshot)
        if snapshot.stale_reads:
            # Neither a denial nor a permission may be based on outdated objects.
            stale = ", ".join(sorted(model.__name__ for model in snapshot.stale_reads))
            raise RetryLaterError(f"not up to date on {stale}, try again")
        return decision

    async def _evaluate_with_reads(
        self, body: bytes, deadline: float
    ) -> tuple[Request, Decision | Grant]:
        size = len(body)

        def evaluate(results: LiveResults) -> tuple[Request, Decision | Grant] | MissingReads:
            # A review that waits for live reads is decoded again afterwards: decoded objects take
            # up to thirty times the memory of their bytes.
            with self._pacing.working(size):
                request = review.decode_whole(body)
                decision = self._evaluate(request, results)
            if isinstance(decision, Needs):
                return MissingReads(decision.live_reads)
            return request, decision

        async def read(live_reads: Sequence[LiveRead]) -> LiveResults:
            results = await self._read(live_reads, deadline)
            await self._pacing.turn(size, deadline)
            return results

        await self._pacing.turn(size, deadline)
        try:
            return await evaluate_with_reads(evaluate, read, rounds=1 + _MAX_READ_CHAIN)
        except ReadChainError:
            message = "the decision leads from one live read to another, try again"
            raise RetryLaterError(message) from None

    async def _take(self, grant: Grant, request: Request) -> Decision:
        if self._granter is None:
            return grant.complete(grant.old)
        return grant.complete(await self._granter.take(grant, dry_run=request.dry_run))

    async def _read(self, live_reads: Sequence[LiveRead], deadline: float) -> LiveResults:
        seconds = deadline - asyncio.get_running_loop().time()
        if seconds <= 0:
            raise RetryLaterError("no time left to ask the API server")
        try:
            live_results = await self._cache.read_live(live_reads, seconds)
        except LiveReadError:
            self._metrics.live_reads.labels("failed").inc()
            raise
        self._metrics.live_reads.labels("answered").inc()
        return live_results


class _DecisionCounts:
    """Counts decisions in a dictionary; the metrics are updated before each scrape."""

    def __init__(self, metrics: Metrics, path: str) -> None:
        self._metrics = metrics
        self._path = path
        self._counts: dict[tuple[str, str, int, tuple[PolicyOutcome, ...]], int] = {}
        metrics.before_scrape(self._update_metrics)

    def add(self, request: Request, decision: Decision) -> None:
        kind = request.kind.name if request.kind else "other"
        code = 200 if decision.allowed else response.status(request, decision)["code"]
        key = (request.operation, kind, code, decision.outcomes)
        self._counts[key] = self._counts.get(key, 0) + 1
        if decision.patch:
            self._metrics.patch_operations.labels(kind).inc(len(decision.patch))

    def _update_metrics(self) -> None:
        counts, self._counts = self._counts, {}
        verdicts = self._metrics.verdicts
        for (operation, kind, code, outcomes), number in counts.items():
            allowed = "true" if code == 200 else "false"
            labels = (self._path, operation, kind, allowed, str(code))
            self._metrics.decisions.labels(*labels).inc(number)
            for outcome in outcomes:
                verdicts.labels(outcome.policy, operation, outcome.verdict).inc(number)


def _log_decision(path: str, request: Request, decision: Decision, started: float) -> None:
    """Log a denial as info and a permission as debug."""
    allowed = decision.allowed
    if not logger.isEnabledFor(logging.DEBUG if allowed else logging.INFO):
        return
    fields = {
        "path": path,
        "uid": request.uid,
        "kind": request.kind.name if request.kind else "",
        "object": str(request.key),
        "operation": request.operation,
        "subresource": request.subresource,
        "user": request.user.username,
        "dry_run": request.dry_run,
        "patch_operations": len(decision.patch),
        "milliseconds": round((perf_counter() - started) * 1000, 2),
    }
    if allowed:
        logger.debug("allowed", extra=fields)
        return
    reasons = [response.describe(finding) for finding in decision.findings if finding.fatal]
    policies = sorted({finding.policy for finding in decision.findings if finding.fatal})
    logger.info("refused", extra={**fields, "reasons": reasons[:10], "policies": policies})
