"""One reconciliation: take a snapshot, plan, carry out the plan."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from webhook.cluster.errors import (
    ApiError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    UnavailableError,
)
from webhook.kube.meta import ObjectKey
from webhook.runtime.actions import (
    Action,
    Apply,
    Emit,
    MetricUpdate,
    Plan,
    RemoteWrite,
    Write,
    WriteRefusal,
)
from webhook.runtime.client_pool import RemoteClusters
from webhook.runtime.controller import Controller, RefusedError
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import Expectations
from webhook.runtime.writer import Writer
from webhook.state.live_reads import (
    LiveRead,
    LiveResult,
    LiveResults,
    MissingReads,
    ReadChainError,
    RemoteGet,
    evaluate_with_reads,
)
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheReader

PAUSE: Final = 2.0
"""How soon to check again for a stale kind or an object that has to be gone."""
LIVE_READ_SECONDS: Final = 10.0
"""The timeout of live reads, for what a plan does not find in the cache."""

ROUNDS: Final = 4
"""How often the results of live reads may lead to further ones."""


class Result(NamedTuple):
    """The result of a reconciliation that did not fail."""

    requeue_after: float | None = None
    outcome: str = "ok"
    requeue_with_backoff: bool = False
    metric_updates: tuple[MetricUpdate, ...] = ()


class Reconciler:
    """Reconciles the objects of one controller, one key at a time."""

    def __init__(
        self,
        controller: Controller,
        cache: CacheReader,
        writer: Writer,
        recorder: EventRecorder,
        expectations: Expectations,
        remotes: RemoteClusters | None = None,
    ) -> None:
        self._model = controller.model
        self._plan = controller.plan
        self._refresh = controller.refresh
        self._models = controller.models
        self._needs = controller.needs
        self._cache = cache
        self._writer = writer
        self._recorder = recorder
        self._expectations = expectations
        self._remotes = remotes

    async def reconcile(self, key: ObjectKey) -> Result:
        """Plan once the cache shows our earlier writes for the key, and carry out the plan."""
        await self._expectations.wait_observed(key)
        try:
            await self._refresh_inputs(key)
        except UnavailableError:
            return Result(PAUSE, "paused")
        planned = await self._decide(key)
        if isinstance(planned, Result):
            return planned
        if not await self._carry_out(key, planned):
            return Result(PAUSE, "waiting")
        return Result(
            planned.requeue_after,
            requeue_with_backoff=planned.requeue_with_backoff,
            metric_updates=planned.metric_updates,
        )

    async def _refresh_inputs(self, key: ObjectKey) -> None:
        for refresh in self._refresh:
            snapshot = self._cache.snapshot()
            if not any(snapshot.is_stale(model) for model in self._models):
                await refresh(key, snapshot)

    async def _decide(self, key: ObjectKey) -> Plan | Result:
        """Plan with the results of all live reads that the plan needs."""

        def evaluate(results: LiveResults) -> Plan | Result | MissingReads:
            snapshot = self._cache.snapshot(results)
            planned = self._plan_from(key, snapshot)
            is_missing = isinstance(planned, Plan) and snapshot.live_reads
            return MissingReads(snapshot.live_reads) if is_missing else planned

        async def read(live_reads: Sequence[LiveRead]) -> LiveResults:
            remote = [read for read in live_reads if isinstance(read, RemoteGet)]
            local = [read for read in live_reads if not isinstance(read, RemoteGet)]
            results = await self._cache.read_live(local, LIVE_READ_SECONDS) if local else {}
            return {**results, **{each: await self._read_remote(each) for each in remote}}

        try:
            return await evaluate_with_reads(evaluate, read, ROUNDS)
        except ReadChainError:
            message = f"the plan for {key} needs more than {ROUNDS} rounds of live reads"
            raise RuntimeError(message) from None

    async def _read_remote(self, read: RemoteGet) -> LiveResult:
        return await self._other_clusters().read(read, LIVE_READ_SECONDS)

    def _other_clusters(self) -> RemoteClusters:
        if self._remotes is None:
            raise RuntimeError("this process cannot reach other clusters")
        return self._remotes

    def _plan_from(self, key: ObjectKey, snapshot: Snapshot) -> Plan | Result:
        obj = snapshot.get(self._model, key)
        if obj is None:
            self._expectations.forget(key)
            return Result(outcome="gone")
        if any(snapshot.is_stale(model) for model in self._models):
            # The cached state may be outdated, and others may have acted since.
            return Result(PAUSE, "paused")
        if not snapshot.serves(*self._needs):
            return Result(PAUSE, "paused")
        return self._plan(obj, snapshot)

    async def _carry_out(self, key: ObjectKey, plan: Plan) -> bool:
        """Carry out the actions in order; False if one has to wait until an object is gone."""
        for action in plan.actions:
            try:
                if not await self._act(key, action):
                    return False
            except ApiError as error:
                if (
                    plan.refused is None
                    or isinstance(action, Emit)
                    or not _is_refusal(action, error)
                ):
                    raise
                refusal = WriteRefusal(_write_of(action), error.message, error.causes)
                for replacement in plan.refused(refusal):
                    await self._act(key, replacement)
                raise RefusedError(error.message) from error
        return True

    async def _act(self, key: ObjectKey, action: Action) -> bool:
        match action:
            case Emit():
                self._recorder.emit(action)
            case RemoteWrite():
                writer = await self._other_clusters().writer(action.kubeconfig)
                remaining = await writer.write(action.write)
                return not (action.until_gone and remaining is not None and remaining.version)
            case _:
                written = await self._writer.write(action)
                if written is not None:
                    self._expectations.expect(key, written)
        return True


def _write_of(action: Write | RemoteWrite) -> Write:
    return action.write if isinstance(action, RemoteWrite) else action


def _is_refusal(action: Write | RemoteWrite, error: ApiError) -> bool:
    """Return whether a repetition of the write would fail in the same way."""
    if isinstance(error, ConflictError):
        # Without force it is a conflict with another field manager.
        write = _write_of(action)
        return isinstance(write, Apply) and not write.force
    if isinstance(error, ForbiddenError) and error.is_anonymous:
        return False
    return isinstance(error, InvalidError | ForbiddenError | BadRequestError)
