"""A controller at work: watches put keys into a queue, workers reconcile them."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, Protocol, TypeAlias

from webhook.api.meta import Object, ObjectKey
from webhook.cluster.errors import ConflictError
from webhook.runtime import logs, rights
from webhook.runtime.clock import Clock
from webhook.runtime.expectations import UnseenError
from webhook.runtime.metrics import Metrics
from webhook.runtime.queue import BACKGROUND, Queue, QueueClosedError
from webhook.runtime.reconciler import Result
from webhook.runtime.rows import Controller, Mapper, RefusedError, TerminalError, Watch
from webhook.runtime.writer import NotLeadingError
from webhook.state.snapshot import Snapshot

logger = logging.getLogger(__name__)

HEAD_START = 1.0
"""How many seconds of work a row may do before the rows that come after it."""

Listener: TypeAlias = Callable[[Any, Any], None]


class Informed(Protocol):
    """The part of the cache that tells of changes."""

    def snapshot(self) -> Snapshot: ...

    def watches(self, model: type[Object]) -> bool: ...

    def add_listener(self, model: type[Any], listener: Listener, *, replay: bool = ...) -> None: ...

    def remove_listener(self, model: type[Any], listener: Listener) -> None: ...


class Reconciles(Protocol):
    """Whoever brings one object to where it should be."""

    async def reconcile(self, key: ObjectKey) -> Result: ...


class Runner:
    """Runs one row as long as it is not cancelled."""

    def __init__(
        self,
        controller: Controller,
        reconciler: Reconciles,
        cache: Informed,
        clock: Clock,
        metrics: Metrics,
        ahead: "Runner | None" = None,
    ) -> None:
        self._controller = controller
        self._ahead = ahead
        self._reconciler = reconciler
        self._cache = cache
        self._clock = clock
        self._metrics = metrics
        self._queue: Queue[ObjectKey] = Queue(clock, controller.delays)
        self._depth = metrics.queue_depth.labels(controller.name)
        self._wait = metrics.queue_wait.labels(controller.name)
        self._duration = metrics.reconcile_duration.labels(controller.name)

    async def lull(self, patience: float) -> None:
        """Wait until this row has no work; one that is busy for long holds up nobody."""
        await self._queue.lull(HEAD_START, patience)

    async def run(self) -> None:
        """Listen and work until cancelled; a new run starts from everything there is."""
        self._queue = Queue(self._clock, self._controller.delays)
        self._depth.set_function(lambda: float(len(self._queue)))
        with ExitStack() as stack, logs.fields(controller=self._controller.name):
            stack.callback(self._queue.close)
            self._listen(stack)
            async with asyncio.TaskGroup() as workers:
                for _ in range(self._controller.workers):
                    workers.create_task(self._work())

    def wake(self, key: ObjectKey) -> None:
        """Look at an object again for a reason that no watch tells."""
        self._queue.add(key)

    def _listen(self, stack: ExitStack) -> None:
        for watch in (Watch(self._controller.model, _itself), *self._controller.watches):
            if self._cache.watches(watch.model):
                listener = self._listener(watch.mapper)
                self._cache.add_listener(watch.model, listener, replay=False)
                stack.callback(self._cache.remove_listener, watch.model, listener)
        # Everything there is wants a look once, and must not hold up what changes meanwhile.
        for obj in self._cache.snapshot().list(self._controller.model):
            self._queue.add(obj.key, BACKGROUND)

    def _listener(self, mapper: Mapper) -> Listener:
        def tell(old: Any, new: Any) -> None:
            for key in mapper(old, new, self._cache.snapshot()):
                self._queue.add(key)

        return tell

    async def _work(self) -> None:
        while True:
            try:
                item = await self._queue.get()
            except QueueClosedError:
                return
            if self._ahead is not None:
                # By its own age, too: keys that wait for one worker must not wait in turn.
                await self._ahead.lull(HEAD_START - item.waited)
            self._wait.observe(item.waited)
            started = self._clock.monotonic()
            try:
                with logs.fields(object=str(item.key)):
                    await self._reconcile(item.key)
            finally:
                self._duration.observe(self._clock.monotonic() - started)
                self._queue.done(item.key)

    async def _reconcile(self, key: ObjectKey) -> None:
        try:
            result = await self._reconciler.reconcile(key)
        except (ConflictError, UnseenError):
            # Somebody else was faster, or the watch is behind: the next look will show.
            self._again(key, "conflict")
        except NotLeadingError:
            self._count("not-leading")
        except TerminalError as error:
            self._queue.forget(key)
            self._count("terminal")
            # No traceback: the plan itself says what is wrong, and with whose object.
            logger.warning("gave up until the object changes", extra={"error": str(error)})
        except RefusedError as error:
            delay = self._again(key, "refused")
            fields = {"error": str(error), "retry_in": round(delay, 3)}
            if not rights.complain(self._metrics, error):
                logger.warning("the API server refused a write", extra=fields)
        except Exception as error:
            delay = self._again(key, "error")
            if not rights.complain(self._metrics, error):
                logger.exception("could not reconcile", extra={"retry_in": round(delay, 3)})
        else:
            self._settle(key, result)

    def _settle(self, key: ObjectKey, result: Result) -> None:
        self._count(result.outcome)
        for measure in result.measures:
            self._metrics.measure(measure, self._clock.now())
        if result.again:
            self._queue.hold(key)
            return
        self._queue.forget(key)
        if result.requeue_after is not None:
            self._queue.add_after(key, result.requeue_after)

    def _again(self, key: ObjectKey, result: str) -> float:
        self._count(result)
        return self._queue.retry(key)

    def _count(self, result: str) -> None:
        self._metrics.reconciles.labels(self._controller.name, result).inc()


def _itself(old: Object | None, new: Object | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    changed = new or old
    return () if changed is None else (changed.key,)
