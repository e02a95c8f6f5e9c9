"""The built-in scheduler: decides one shoot at a time and writes many placements at once."""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any, Final

from webhook.api import names
from webhook.api.event_reasons import Reason
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError
from webhook.cluster.pacing import Pacer
from webhook.domain.shoots import ha
from webhook.kube.clock import Clock, Timer
from webhook.kube.meta import Draft, ObjectKey
from webhook.kube.timestamps import format_time
from webhook.placement import decision
from webhook.placement.decision import Bind, Rank, Stay, Unschedulable, Weaken
from webhook.placement.placer import Placed, Placer
from webhook.placement.queue import ShootQueue
from webhook.runtime import logs, permissions
from webhook.runtime.actions import FIELD_MANAGER
from webhook.runtime.backoff import Backoff, Delays
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.metrics import Metrics
from webhook.scheduling.seed_table import SeedTable
from webhook.state.views import CacheListener

logger = logging.getLogger(__name__)

IN_FLIGHT: Final = 32
"""The largest number of placements that are being written at the same time."""

REQUEUE_SECONDS: Final = 0.02
"""Changes within this time requeue the pending shoots once."""

STALE_RETRY_SECONDS: Final = 2.0
"""How soon to try again while a kind that decisions read is stale or not served."""

UNKNOWN_SECONDS: Final = 61.0
"""After this long a placement whose write got no response is no longer assumed."""

FULL_ATTEMPTS: Final = 5
"""How often a ledger may be full for a shoot before that is reported in the shoot's status. Fewer
times are a race with others, which the next decision settles."""

_SHOOT: Final = kind_of_model(Shoot)
# Only the leader schedules, so there is nobody to spread retries from; tests stay deterministic.
_RETRIES: Final = Delays(first=0.1, limit=30.0, jitter=0.0)
_QUERY: Final = {"fieldManager": FIELD_MANAGER}
_PENDING: Final = ("Create", "Pending")


class Scheduler:
    """Assigns a seed to every pending shoot, or reports why there is none.

    Shoots are decided one after the other, by rank. Each decision reads a snapshot that counts all
    placements before it; their writes run concurrently.
    """

    def __init__(
        self,
        client: Client,
        cache: CacheListener,
        placer: Placer,
        recorder: EventRecorder,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._client = client
        self._cache = cache
        self._placer = placer
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self._seed_table = SeedTable()
        self._backoff: Backoff[ObjectKey] = Backoff(_RETRIES)
        self._queue: ShootQueue[Rank] = ShootQueue(clock, self._rank)
        self._requeue_timer: Timer | None = None
        self._nearest_only: set[ObjectKey] = set()
        """Shoots that were offered the nearest seeds only; they are requeued when one fills up."""
        self._reported: dict[ObjectKey, str] = {}
        """The failure last written to a shoot's status, which the cache may not show yet."""

    async def run(self) -> None:
        """Schedule until cancelled; a new run starts with all pending shoots."""
        self._queue = ShootQueue(self._clock, self._rank)
        slots = asyncio.Semaphore(IN_FLIGHT)
        pacer = Pacer(self._clock)
        with ExitStack() as stack, logs.fields(controller="scheduler"):
            stack.callback(self._stop)
            self._listen(stack)
            self._requeue_pending()
            async with asyncio.TaskGroup() as tasks:
                while True:
                    await slots.acquire()
                    key = await self._queue.take()
                    writes = self._decide(key)
                    if writes is None:
                        self._queue.done(key)
                        slots.release()
                        await pacer.yield_if_due()
                    else:
                        task = tasks.create_task(self._carry_out(key, writes))
                        task.add_done_callback(lambda _task: slots.release())

    def _stop(self) -> None:
        self._queue.close()
        if self._requeue_timer is not None:
            self._requeue_timer.cancel()
            self._requeue_timer = None

    def _listen(self, stack: ExitStack) -> None:
        for model in decision.WATCHED_KINDS:
            if self._cache.watches(model):
                self._cache.add_listener(model, self._on_change, replay=False)
                stack.callback(self._cache.remove_listener, model, self._on_change)

    def _on_change(self, old: Any, new: Any) -> None:
        if decision.may_make_schedulable(old, new):
            self._requeue_soon()
        elif decision.fills_seed(old, new):
            for key in self._nearest_only:
                self._queue.add(key)
        changed = new if new is not None else old
        if isinstance(changed, Shoot):
            if new is None:
                self._backoff.forget(changed.key)
                self._nearest_only.discard(changed.key)
                self._reported.pop(changed.key, None)
            elif decision.needs_decision(old, new, self._cache.snapshot().options):
                self._queue.add(changed.key)

    def _requeue_soon(self) -> None:
        """Requeue pending shoots once for all changes that happen at about the same time."""
        if self._requeue_timer is None:
            self._requeue_timer = self._clock.call_later(REQUEUE_SECONDS, self._requeue_pending)

    def _requeue_pending(self) -> None:
        self._requeue_timer = None
        for shoot in decision.list_pending(self._cache.snapshot()):
            self._queue.add(shoot.key)

    def _requeue_without_backoff(self) -> None:
        """Offer the room of a failed placement to pending shoots, but not to those in backoff."""
        for shoot in decision.list_pending(self._cache.snapshot()):
            if not self._queue.has_timer(shoot.key):
                self._queue.add(shoot.key)

    def _rank(self, key: ObjectKey) -> Rank | None:
        shoot = self._cache.peek(Shoot, key)
        return None if shoot is None else decision.rank(shoot)

    def _decide(self, key: ObjectKey) -> Coroutine[Any, Any, None] | None:
        """Decide on a shoot without awaiting; return the writes that are left, if any."""
        snapshot = self._cache.snapshot()
        shoot = snapshot.get(Shoot, key)
        if shoot is None:
            return None
        is_stale = any(snapshot.is_stale(model) for model in (Shoot, Seed))
        if is_stale or not snapshot.serves(Shoot, Seed):
            self._queue.add_after(key, STALE_RETRY_SECONDS)
            return None
        started = self._clock.monotonic()
        decided = decision.decide(shoot, self._seed_table, snapshot)
        self._nearest_only.discard(key)
        if decided is None:
            return None
        if snapshot.stale_reads:
            # A profile or a region table that it read may be outdated, or may never have been seen.
            # Only kinds that were read count: without the permission to watch region tables, shoots
            # in their own region are still placed.
            self._queue.add_after(key, STALE_RETRY_SECONDS)
            return None
        if isinstance(decided, Unschedulable | Stay) and decided.nearest_only:
            self._nearest_only.add(key)
        self._metrics.scheduling_duration.observe(self._clock.monotonic() - started)
        match decided:
            case Bind():
                return self._bind(decided, self._placer.place(decided.placement))
            case Unschedulable():
                return self._report_failure(shoot, decided.message)
            case Stay():
                self._emit(shoot, decision.FAILED, decided.message, failed=True)
                return None
            case Weaken():
                return self._weaken(shoot, decided.message)

    async def _carry_out(self, key: ObjectKey, writes: Coroutine[Any, Any, None]) -> None:
        with logs.fields(object=str(key)):
            try:
                await writes
            except ApiError as error:
                delay = self._backoff.next(key)
                self._queue.add_after(key, delay)
                fields = {"error": str(error), "retry": delay}
                if not permissions.report_missing(self._metrics, error):
                    logger.warning("could not schedule", extra=fields)
            except Exception:
                self._queue.add_after(key, self._backoff.next(key))
                logger.exception("could not schedule")
            finally:
                self._queue.done(key)

    async def _bind(self, bind: Bind, placing: Coroutine[Any, Any, Placed]) -> None:
        shoot = bind.placement.shoot
        placed = await placing
        self._metrics.placements.labels(placed.result).inc()
        if placed.result == "bound":
            self._backoff.forget(shoot.key)
            self._reported.pop(shoot.key, None)
            self._emit(shoot, decision.SUCCESSFUL, bind.message)
            if bind.placement.weakened:
                self._emit(shoot, decision.WEAKENED, bind.message, failed=True)
            await self._clear_failure(shoot)
            return
        if placed.result == "unknown":
            self._queue.add_after(shoot.key, UNKNOWN_SECONDS)
        elif placed.result != "gone":
            self._queue.add_after(shoot.key, self._backoff.next(shoot.key))
        self._requeue_without_backoff()
        if placed.result == "refused":
            await self._report_failure(
                shoot, f"the API server refuses seed {bind.placement.seed}: {placed.message}"
            )
        elif placed.result == "full" and self._backoff.failures(shoot.key) >= FULL_ATTEMPTS:
            message = f"{placed.message}, counting shoots on their way there"
            await self._report_failure(shoot, message)
        elif placed.error is not None and permissions.report_missing(self._metrics, placed.error):
            permission = permissions.find_missing(placed.error)
            message = f"espalier may not {permission}, its operator has to allow that"
            await self._report_failure(shoot, message)

    async def _report_failure(self, shoot: Shoot, message: str) -> None:
        """Record an Event and write the failure to the shoot's status, unless it is there."""
        description = f"Failed to schedule Shoot: {message}"
        self._emit(shoot, decision.FAILED, description, failed=True)
        operation = shoot.status.last_operation
        present = operation.description if operation is not None else ""
        # The cache may not show our last write yet. Writing it again would change the version of
        # the shoot that others are about to place.
        if shoot.spec.seed_name or description in (present, self._reported.get(shoot.key)):
            return
        self._reported[shoot.key] = description
        await self._write_status(
            shoot,
            {
                "type": "Create",
                "state": "Pending",
                "progress": 0,
                "description": description,
                "lastUpdateTime": format_time(self._clock.now()),
            },
        )

    async def _clear_failure(self, shoot: Shoot) -> None:
        """Remove the failure from a placed shoot; beside a Gardener the binding does that."""
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
        self._emit(shoot, decision.WEAKENED, message, failed=True)

    def _emit(self, shoot: Shoot, reason: Reason, message: str, *, failed: bool = False) -> None:
        self._recorder.emit(decision.event(shoot, reason, message, failed=failed))
