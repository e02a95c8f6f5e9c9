"""The built-in scheduler at work: one decision after the other, many writes at a time."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any, Final, Protocol

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.api.timestamps import format_time
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError
from webhook.cluster.pacing import Pacer
from webhook.controllers import scheduler
from webhook.controllers.line import Line
from webhook.controllers.placement import Placed, Placer
from webhook.controllers.scheduler import Bind, Rank, Stay, Wait, Weaken
from webhook.domain import ha
from webhook.runtime import logs, rights
from webhook.runtime.actions import MANAGER, Emit
from webhook.runtime.backoff import Backoff, Delays
from webhook.runtime.clock import Clock, Timer
from webhook.runtime.metrics import Metrics
from webhook.runtime.recorder import Recorder
from webhook.scheduling.landscape import Landscape
from webhook.state.snapshot import Snapshot

logger = logging.getLogger(__name__)

IN_FLIGHT: Final = 32
"""Placements whose writes are on their way at a time."""

SOON: Final = 0.02

PAUSE: Final = 2.0
"""How soon to look again whether a kind that was lost is back."""

UNKNOWN_SECONDS: Final = 61.0
"""After this long a placement that nobody answered is no longer assumed."""

TELLING: Final = 5
"""So often a ledger may have no room for what a decision put there before people are told."""

_SHOOT: Final = kind_of_model(Shoot)
# One replica leads: nobody else marches in step, and the same events end the same way.
_RETRIES: Final = Delays(first=0.1, limit=30.0, jitter=0.0)
_QUERY: Final = {"fieldManager": MANAGER}
_PENDING: Final = ("Create", "Pending")


class Informed(Protocol):
    """The part of the cache that the scheduler listens to."""

    def snapshot(self) -> Snapshot: ...

    def watches(self, model: type[Object]) -> bool: ...

    def peek(self, model: type[Any], key: ObjectKey) -> Any: ...

    def add_listener(
        self, model: type[Any], listener: Callable[[Any, Any], None], *, replay: bool = ...
    ) -> None: ...

    def remove_listener(self, model: type[Any], listener: Callable[[Any, Any], None]) -> None: ...


class Dispatcher:
    """Gives every waiting shoot a seed, or says why there is none.

    Decisions are made one after the other, in the order of rank, each on a snapshot that counts
    all placements before it; their writes run side by side.
    """

    def __init__(
        self,
        client: Client,
        cache: Informed,
        placer: Placer,
        recorder: Recorder,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._client = client
        self._cache = cache
        self._placer = placer
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self._landscape = Landscape()
        self._backoff: Backoff[ObjectKey] = Backoff(_RETRIES)
        self._line: Line[Rank] = Line(clock, self._rank)
        self._waking: Timer | None = None
        self._shifting: set[ObjectKey] = set()
        self._told: dict[ObjectKey, str] = {}

    async def run(self) -> None:
        """Schedule until cancelled; a new run starts from everything there is."""
        self._line = Line(self._clock, self._rank)
        slots = asyncio.Semaphore(IN_FLIGHT)
        pacer = Pacer(self._clock)
        with ExitStack() as stack, logs.fields(controller="scheduler"):
            stack.callback(self._stop)
            self._listen(stack)
            self._wake()
            async with asyncio.TaskGroup() as tasks:
                while True:
                    await slots.acquire()
                    key = await self._line.take()
                    work = self._decide(key)
                    if work is None:
                        self._line.done(key)
                        slots.release()
                        await pacer.breathe()
                    else:
                        task = tasks.create_task(self._carry_out(key, work))
                        task.add_done_callback(lambda _task: slots.release())

    def _stop(self) -> None:
        self._line.close()
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None

    def _listen(self, stack: ExitStack) -> None:
        for model in scheduler.HELPFUL:
            if self._cache.watches(model):
                self._cache.add_listener(model, self._hear, replay=False)
                stack.callback(self._cache.remove_listener, model, self._hear)

    def _hear(self, old: Any, new: Any) -> None:
        if scheduler.may_help(old, new):
            self._wake_soon()
        elif scheduler.fills(old, new):
            for key in self._shifting:
                self._line.add(key)
        changed = new if new is not None else old
        if isinstance(changed, Shoot):
            if new is None:
                self._backoff.forget(changed.key)
                self._shifting.discard(changed.key)
                self._told.pop(changed.key, None)
            elif scheduler.concerns(old, new, self._cache.snapshot().options):
                self._line.add(changed.key)

    def _wake_soon(self) -> None:
        """Wake those who wait once for all that happens at about the same time."""
        if self._waking is None:
            self._waking = self._clock.call_later(SOON, self._wake)

    def _wake(self) -> None:
        self._waking = None
        for shoot in scheduler.waiting(self._cache.snapshot()):
            self._line.add(shoot.key)

    def _wake_others(self) -> None:
        """Let others have the room that a failed placement leaves; those who failed back off."""
        for shoot in scheduler.waiting(self._cache.snapshot()):
            if not self._line.is_appointed(shoot.key):
                self._line.add(shoot.key)

    def _rank(self, key: ObjectKey) -> Rank | None:
        shoot = self._cache.peek(Shoot, key)
        return None if shoot is None else scheduler.rank(shoot)

    def _decide(self, key: ObjectKey) -> Coroutine[Any, Any, None] | None:
        """Judge a shoot, without awaiting; return what is left to be written, if anything."""
        snapshot = self._cache.snapshot()
        shoot = snapshot.get(Shoot, key)
        if shoot is None:
            return None
        is_stale = any(snapshot.is_stale(model) for model in (Shoot, Seed))
        if is_stale or not snapshot.serves(Shoot, Seed):
            self._line.add_after(key, PAUSE)
            return None
        started = self._clock.monotonic()
        judgement = scheduler.judge(shoot, self._landscape, snapshot)
        self._shifting.discard(key)
        if judgement is None:
            return None
        if snapshot.stale_reads:
            # Whatever it says, it may be about a profile or a table that is long past, or unseen.
            self._line.add_after(key, PAUSE)
            return None
        if isinstance(judgement, Wait | Stay) and judgement.shifts:
            self._shifting.add(key)
        self._metrics.scheduling_duration.observe(self._clock.monotonic() - started)
        match judgement:
            case Bind():
                return self._bind(judgement, self._placer.place(judgement.placement))
            case Wait():
                return self._wait(shoot, judgement.message)
            case Stay():
                self._emit(shoot, scheduler.FAILED, judgement.message, failed=True)
                return None
            case Weaken():
                return self._weaken(shoot, judgement.message)

    async def _carry_out(self, key: ObjectKey, work: Coroutine[Any, Any, None]) -> None:
        with logs.fields(object=str(key)):
            try:
                await work
            except ApiError as error:
                delay = self._backoff.next(key)
                self._line.add_after(key, delay)
                fields = {"error": str(error), "retry": delay}
                if not rights.complain(self._metrics, error):
                    logger.warning("could not schedule", extra=fields)
            except Exception:
                self._line.add_after(key, self._backoff.next(key))
                logger.exception("could not schedule")
            finally:
                self._line.done(key)

    async def _bind(self, bind: Bind, placing: Coroutine[Any, Any, Placed]) -> None:
        shoot = bind.placement.shoot
        placed = await placing
        self._metrics.placements.labels(placed.result).inc()
        if placed.result == "bound":
            self._backoff.forget(shoot.key)
            self._told.pop(shoot.key, None)
            self._emit(shoot, scheduler.SUCCESSFUL, bind.message)
            if bind.placement.weakened:
                self._emit(shoot, scheduler.WEAKENED, bind.message, failed=True)
            await self._clear(shoot)
            return
        if placed.result == "unknown":
            self._line.add_after(shoot.key, UNKNOWN_SECONDS)
        elif placed.result != "gone":
            self._line.add_after(shoot.key, self._backoff.next(shoot.key))
        self._wake_others()
        if placed.result == "refused":
            await self._wait(
                shoot, f"the API server refuses seed {bind.placement.seed}: {placed.message}"
            )
        elif placed.result == "full" and self._backoff.failures(shoot.key) >= TELLING:
            await self._wait(shoot, f"{placed.message}, counting shoots on their way there")
        elif placed.error is not None and rights.complain(self._metrics, placed.error):
            right = rights.missing(placed.error)
            await self._wait(shoot, f"espalier may not {right}, its operator has to allow that")

    async def _wait(self, shoot: Shoot, message: str) -> None:
        told = f"Failed to schedule Shoot: {message}"
        self._emit(shoot, scheduler.FAILED, told, failed=True)
        operation = shoot.status.last_operation
        said = operation.description if operation is not None else ""
        # What the cache does not show yet was said, too: saying it again would change the shoot
        # under everybody who is about to place it.
        if shoot.spec.seed_name or told in (said, self._told.get(shoot.key)):
            return
        self._told[shoot.key] = told
        await self._write_status(
            shoot,
            {
                "type": "Create",
                "state": "Pending",
                "progress": 0,
                "description": told,
                "lastUpdateTime": format_time(self._clock.now()),
            },
        )

    async def _clear(self, shoot: Shoot) -> None:
        """Take back that the shoot waits; beside a Gardener the binding does that."""
        operation = shoot.status.last_operation
        if operation is None or (operation.type, operation.state) != _PENDING:
            return
        if not self._cache.snapshot().options.beside_gardener:
            await self._write_status(shoot, None)

    async def _write_status(self, shoot: Shoot, operation: Draft | None) -> None:
        change = {"metadata": {"uid": shoot.uid}, "status": {"lastOperation": operation}}
        await self._client.patch(_SHOOT, shoot.key, change, subresource="status", query=_QUERY)

    async def _weaken(self, shoot: Shoot, message: str) -> None:
        metadata = {
            "uid": shoot.uid,
            "resourceVersion": shoot.resource_version,
            "annotations": {names.EFFECTIVE_FAILURE_DOMAIN: ha.SINGLE_ZONE},
        }
        await self._client.patch(_SHOOT, shoot.key, {"metadata": metadata}, query=_QUERY)
        self._emit(shoot, scheduler.WEAKENED, message, failed=True)

    def _emit(self, shoot: Shoot, reason: str, message: str, *, failed: bool = False) -> None:
        self._recorder.emit(Emit(_SHOOT, shoot, reason, message, "Warning" if failed else "Normal"))
