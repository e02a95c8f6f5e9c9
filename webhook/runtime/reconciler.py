"""One reconciliation: look at the cluster, plan without waiting, carry the plan out."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from webhook.api.meta import ObjectKey
from webhook.cluster.errors import (
    ApiError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidError,
)
from webhook.runtime.actions import Action, Apply, Emit, Measure, Plan, Refusal, Remote, Write
from webhook.runtime.expectations import Expectations
from webhook.runtime.recorder import Recorder
from webhook.runtime.remotes import Remotes
from webhook.runtime.rows import Controller, RefusedError
from webhook.runtime.writer import Writer
from webhook.state.questions import Answers, Question
from webhook.state.snapshot import Snapshot

PAUSE = 2.0
"""How soon to look again whether a kind that was lost is back, or whether an object is gone."""
ASK_SECONDS = 10.0
"""How long the API server has to answer what a plan could not find in the cache."""


ROUNDS = 4
"""How often the answers to a plan's questions may lead to further ones."""


class Result(NamedTuple):
    """How a reconciliation ended when it did not fail."""

    requeue_after: float | None = None
    outcome: str = "ok"
    again: bool = False
    measures: tuple[Measure, ...] = ()


class Snapshots(Protocol):
    """Whoever shows the cluster as it is now, and asks for what it does not follow."""

    def snapshot(self, answers: Answers | None = None) -> Snapshot: ...

    async def answer(self, questions: Iterable[Question], seconds: float) -> Answers: ...


class Reconciler:
    """Brings one kind's objects, one key at a time, to where its plan wants them."""

    def __init__(
        self,
        controller: Controller,
        cache: Snapshots,
        writer: Writer,
        recorder: Recorder,
        expectations: Expectations,
        remotes: Remotes | None = None,
    ) -> None:
        self._model = controller.model
        self._plan = controller.plan
        self._reads = controller.models
        self._needs = controller.needs
        self._cache = cache
        self._writer = writer
        self._recorder = recorder
        self._expectations = expectations
        self._remotes = remotes

    async def reconcile(self, key: ObjectKey) -> Result:
        """Look, plan, act; our own earlier writes for the key are seen before we look."""
        await self._expectations.settle(key)
        planned = await self._decide(key)
        if isinstance(planned, Result):
            return planned
        if not await self._carry_out(key, planned):
            return Result(PAUSE, "waiting")
        return Result(planned.requeue_after, again=planned.again, measures=planned.measures)

    async def _decide(self, key: ObjectKey) -> Plan | Result:
        """Plan with all that the plan asks for: an answer may lead to the next question."""
        answers: Answers = {}
        for _ in range(ROUNDS):
            snapshot = self._cache.snapshot(answers)
            planned = self._look(key, snapshot)
            if isinstance(planned, Result) or not snapshot.questions:
                return planned
            answers = {**answers, **await self._cache.answer(snapshot.questions, ASK_SECONDS)}
        raise RuntimeError(f"the plan for {key} asks again and again")

    def _look(self, key: ObjectKey, snapshot: Snapshot) -> Plan | Result:
        obj = snapshot.get(self._model, key)
        if obj is None:
            self._expectations.forget(key)
            return Result(outcome="gone")
        if any(snapshot.is_stale(model) for model in self._reads):
            # What we would plan from may be long past: others may have acted since.
            return Result(PAUSE, "paused")
        if not snapshot.serves(*self._needs):
            return Result(PAUSE, "paused")
        return self._plan(obj, snapshot)

    async def _carry_out(self, key: ObjectKey, plan: Plan) -> bool:
        """Act in order; False if something has to be gone before the rest may follow."""
        for action in plan.actions:
            try:
                if not await self._act(key, action):
                    return False
            except ApiError as error:
                if plan.refused is None or isinstance(action, Emit) or not _is_no(action, error):
                    raise
                refusal = Refusal(_write_of(action), error.message, error.causes)
                for instead in plan.refused(refusal):
                    await self._act(key, instead)
                raise RefusedError(error.message) from error
        return True

    async def _act(self, key: ObjectKey, action: Action) -> bool:
        match action:
            case Emit():
                self._recorder.emit(action)
            case Remote():
                if self._remotes is None:
                    raise RuntimeError("this process cannot write into other clusters")
                writer = await self._remotes.writer(action.kubeconfig)
                left = await writer.write(action.write)
                return not (action.until_gone and left is not None and left.version)
            case _:
                written = await self._writer.write(action)
                if written is not None:
                    self._expectations.expect(key, written)
        return True


def _write_of(action: Write | Remote) -> Write:
    return action.write if isinstance(action, Remote) else action


def _is_no(action: Write | Remote, error: ApiError) -> bool:
    """Tell a refusal from a failure: asking again would get the same answer."""
    if isinstance(error, ConflictError):
        # Without force it tells which fields belong to somebody else.
        write = _write_of(action)
        return isinstance(write, Apply) and not write.force
    if isinstance(error, ForbiddenError) and error.mistakes_us:
        return False
    return isinstance(error, InvalidError | ForbiddenError | BadRequestError)
