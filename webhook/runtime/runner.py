"""Runs a controller: watches add keys to its work queue, workers reconcile them."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, Final, Protocol

from webhook.cluster.errors import ConflictError
from webhook.kube.clock import Clock
from webhook.kube.meta import Object, ObjectKey
from webhook.runtime import logs, permissions
from webhook.runtime.controller import Controller, Mapper, RefusedError, TerminalError, Watch
from webhook.runtime.expectations import UnobservedWriteError
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Result
from webhook.runtime.workqueue import BACKGROUND, QueueClosedError, WorkQueue
from webhook.runtime.writer import NotLeadingError
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheListener, Listener

logger = logging.getLogger(__name__)

HEAD_START: Final = 1.0
"""How many seconds a controller may work before those that come after it start."""


class KeyReconciler(Protocol):
    """Reconciles one object."""

    async def reconcile(self, key: ObjectKey) -> Result: ...


class Runner:
    """Runs one controller until cancelled."""

    def __init__(
        self,
        controller: Controller,
        reconciler: KeyReconciler,
        cache: CacheListener,
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
        self._queue: WorkQueue[ObjectKey] = WorkQueue(clock, controller.delays)
        self._depth = metrics.queue_depth.labels(controller.name)
        self._wait = metrics.queue_wait.labels(controller.name)
        self._duration = metrics.reconcile_duration.labels(controller.name)

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait at most so long until this controller has no work or has had its head start."""
        await self._queue.wait_until_idle(HEAD_START, seconds)

    async def run(self) -> None:
        """Listen and reconcile until cancelled; each run starts with all existing objects."""
        self._queue = WorkQueue(self._clock, self._controller.delays)
        self._depth.set_function(lambda: float(len(self._queue)))
        with ExitStack() as stack, logs.fields(controller=self._controller.name):
            stack.callback(self._queue.close)
            self._listen(stack)
            async with asyncio.TaskGroup() as workers:
                for _ in range(self._controller.workers):
                    workers.create_task(self._work())

    def enqueue(self, key: ObjectKey) -> None:
        """Reconcile an object for a reason that is not the event of a watch."""
        self._queue.add(key)

    def _listen(self, stack: ExitStack) -> None:
        for watch in (Watch(self._controller.model, _own_key), *self._controller.watches):
            if self._cache.watches(watch.model):
                listener = self._listener(watch.mapper)
                self._cache.add_listener(watch.model, listener, replay=False)
                stack.callback(self._cache.remove_listener, watch.model, listener)
        # Existing objects have low priority, so that they do not delay changed ones.
        for obj in self._cache.snapshot().list(self._controller.model):
            self._queue.add(obj.key, BACKGROUND)

    def _listener(self, mapper: Mapper) -> Listener[Any]:
        def enqueue(old: Any, new: Any) -> None:
            for key in mapper(old, new, self._cache.snapshot()):
                self._queue.add(key)

        return enqueue

    async def _work(self) -> None:
        while True:
            try:
                item = await self._queue.get()
            except QueueClosedError:
                return
            if self._ahead is not None:
                # Less the time in the queue: keys that wait for one worker must not wait in turn.
                await self._ahead.wait_until_idle(HEAD_START - item.waited)
            self._wait.observe(item.waited)
            started = self._clock.monotonic()
            try:
                with logs.fields(object=str(item.key)):
                    await self._reconcile(item.key)
            finally:
                self._duration.observe(self._clock.monotonic() - started)
                self._queue.done(item.key)
            # A plan without actions awaits nothing: a thousand of them would delay requests.
            await asyncio.sleep(0)

    async def _reconcile(self, key: ObjectKey) -> None:
        try:
            result = await self._reconciler.reconcile(key)
        except (ConflictError, UnobservedWriteError):
            # Another writer was faster, or the watch lags: the next attempt uses newer state.
            self._retry(key, "conflict")
        except NotLeadingError:
            self._count("not-leading")
        except TerminalError as error:
            self._queue.forget(key)
            self._count("terminal")
            # No traceback: the message of the plan names the object and the fault.
            logger.warning("will not retry until the object changes", extra={"error": str(error)})
        except RefusedError as error:
            delay = self._retry(key, "refused")
            fields = {"error": str(error), "retry_in": round(delay, 3)}
            if not permissions.report_missing(self._metrics, error):
                logger.warning("the API server refused a write", extra=fields)
        except Exception as error:
            delay = self._retry(key, "error")
            if not permissions.report_missing(self._metrics, error):
                logger.exception("could not reconcile", extra={"retry_in": round(delay, 3)})
        else:
            self._handle_result(key, result)

    def _handle_result(self, key: ObjectKey, result: Result) -> None:
        self._count(result.outcome)
        for update in result.metric_updates:
            self._metrics.apply(update, self._clock.now())
        if result.requeue_with_backoff:
            self._queue.hold(key)
            return
        self._queue.forget(key)
        if result.requeue_after is not None:
            self._queue.add_after(key, result.requeue_after)

    def _retry(self, key: ObjectKey, result: str) -> float:
        self._count(result)
        return self._queue.retry(key)

    def _count(self, result: str) -> None:
        self._metrics.reconciles.labels(self._controller.name, result).inc()


def _own_key(old: Object | None, new: Object | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    changed = new or old
    return () if changed is None else (changed.key,)
