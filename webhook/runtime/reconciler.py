"""One reconciliation: look at the cluster, plan without waiting, carry the plan out."""

from typing import NamedTuple, Protocol

from webhook.api.meta import ObjectKey
from webhook.runtime.actions import Emit
from webhook.runtime.expectations import Expectations
from webhook.runtime.recorder import Recorder
from webhook.runtime.rows import Controller
from webhook.runtime.writer import Writer
from webhook.state.snapshot import Snapshot

PAUSE = 2.0
"""How soon to look again whether a kind that was lost is back."""


class Result(NamedTuple):
    """How a reconciliation ended when it did not fail."""

    requeue_after: float | None = None
    outcome: str = "ok"


class Snapshots(Protocol):
    """Whoever shows the cluster as it is now."""

    def snapshot(self) -> Snapshot: ...


class Reconciler:
    """Brings one kind's objects, one key at a time, to where its plan wants them."""

    def __init__(
        self,
        controller: Controller,
        cache: Snapshots,
        writer: Writer,
        recorder: Recorder,
        expectations: Expectations,
    ) -> None:
        self._model = controller.model
        self._plan = controller.plan
        self._reads = controller.models
        self._cache = cache
        self._writer = writer
        self._recorder = recorder
        self._expectations = expectations

    async def reconcile(self, key: ObjectKey) -> Result:
        """Look, plan, act; our own earlier writes for the key are seen before we look."""
        await self._expectations.settle(key)
        snapshot = self._cache.snapshot()
        obj = snapshot.get(self._model, key)
        if obj is None:
            self._expectations.forget(key)
            return Result(outcome="gone")
        if any(snapshot.is_stale(model) for model in self._reads):
            # What we would plan from may be long past: others may have acted since.
            return Result(PAUSE, "paused")
        plan = self._plan(obj, snapshot)
        for action in plan.actions:
            if isinstance(action, Emit):
                self._recorder.emit(action)
                continue
            written = await self._writer.write(action)
            if written is not None:
                self._expectations.expect(key, written)
        return Result(plan.requeue_after)
