"""A work queue with priorities, deduplication, delayed adds and backoff per key."""

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Hashable
from contextlib import suppress
from typing import Final, Generic, NamedTuple, TypeVar

from webhook.kube.clock import Clock, Timer, within
from webhook.runtime.backoff import Backoff, Delays

K = TypeVar("K", bound=Hashable)

NORMAL: Final = 0
BACKGROUND: Final = -1
"""For the initial list and resyncs, which are not urgent."""


class QueueClosedError(Exception):
    """The queue was closed."""


class Item(NamedTuple, Generic[K]):
    """A key that a worker has taken, and how long it waited."""

    key: K
    priority: int
    waited: float


class WorkQueue(Generic[K]):
    """A queue of keys to reconcile, like client-go's workqueue.

    - *Fair*: within a priority keys are processed in the order in which they were added.
    - *Stingy*: a key that is added several times before it is processed is processed once.
    - *Exclusive*: a key is processed by one worker at a time. If it is added meanwhile, it is
      processed again after `done`, so that no change after the start of the work is missed.
    - *Delayed*: a delayed key is not processed before its delay; of several delays the shortest
      counts.
    - *Held*: a key that is held is not processed before its delay, even if it is added meanwhile.
    """

    def __init__(self, clock: Clock, delays: Delays | None = None) -> None:
        self._clock = clock
        self._backoff: Backoff[K] = Backoff(delays)
        self._ready: dict[int, OrderedDict[K, float]] = {}
        self._priority: dict[K, int] = {}
        self._working: dict[K, int] = {}
        self._dirty: dict[K, int] = {}
        self._due: dict[K, tuple[float, int]] = {}
        self._held: set[K] = set()
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = 0
        self._timer: Timer | None = None
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._busy_since = 0.0
        self._closed = False

    def __len__(self) -> int:
        """Return the number of keys that are ready."""
        return len(self._priority)

    @property
    def delayed(self) -> int:
        """The number of delayed keys."""
        return len(self._due)

    @property
    def working(self) -> int:
        """The number of keys that are being processed."""
        return len(self._working)

    def add(self, key: K, priority: int = NORMAL) -> None:
        """Add a key; one that is held is processed when its delay is over."""
        if self._closed or key in self._held:
            return
        if key in self._working:
            self._dirty[key] = max(priority, self._dirty.get(key, priority))
            return
        known = self._priority.get(key)
        if known is not None:
            if priority <= known:
                return
            added = self._ready[known].pop(key)
        else:
            added = self._clock.monotonic()
        if self._idle.is_set():
            self._idle.clear()
            self._busy_since = self._clock.monotonic()
        self._priority[key] = priority
        self._ready.setdefault(priority, OrderedDict())[key] = added
        self._wake_one()

    def add_after(self, key: K, delay: float, priority: int = NORMAL) -> None:
        """Add a key after so many seconds."""
        if self._closed:
            return
        if delay <= 0:
            self.add(key, priority)
            return
        at = self._clock.monotonic() + delay
        pending = self._due.get(key)
        if pending is not None:
            priority = max(priority, pending[1])
            if pending[0] <= at:
                self._due[key] = (pending[0], priority)
                return
        self._due[key] = (at, priority)
        self._sequence += 1
        heapq.heappush(self._heap, (at, self._sequence, key))
        if self._timer is None or self._heap[0][1] == self._sequence:
            self._start_timer()

    def retry(self, key: K, priority: int = NORMAL) -> float:
        """Add a failed key after its backoff and return that delay."""
        delay = self._backoff.next(key)
        self.add_after(key, delay, priority)
        return delay

    def hold(self, key: K) -> float:
        """Requeue a key that is being processed after its backoff, and return that delay."""
        delay = self.retry(key)
        self._dirty.pop(key, None)
        if key in self._due:
            self._held.add(key)
        return delay

    def forget(self, key: K) -> None:
        """Reset the backoff of a key."""
        self._backoff.forget(key)

    def failures(self, key: K) -> int:
        return self._backoff.failures(key)

    async def get(self) -> Item[K]:
        """Wait for a key and take it; the worker calls `done` afterwards."""
        while not self._priority:
            if self._closed:
                raise QueueClosedError
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # This waiter may have been woken: wake another one, or the key would be left.
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()
                raise
        return self._take()

    def done(self, key: K) -> None:
        """Record that a worker has finished a key, with or without success."""
        self._working.pop(key, None)
        priority = self._dirty.pop(key, None)
        if priority is not None:
            self.add(key, priority)
        if not self._priority and not self._working:
            self._idle.set()

    async def wait_until_idle(self, busy_seconds: float, seconds: float) -> None:
        """Wait until no key is ready or being processed.

        The wait ends `busy_seconds` after the queue became busy, and after `seconds` in any case.
        """
        left = min(seconds, self._busy_since + busy_seconds - self._clock.monotonic())
        if not self._idle.is_set() and left > 0:
            with suppress(TimeoutError):
                async with within(self._clock, left):
                    await self._idle.wait()

    def close(self) -> None:
        """Drop all keys, accept no more and end all waiting `get` calls."""
        self._closed = True
        self._priority.clear()
        self._ready.clear()
        self._due.clear()
        self._held.clear()
        self._heap.clear()
        self._idle.set()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiters:
            self._wake_one()

    def _take(self) -> Item[K]:
        priority = max(level for level, keys in self._ready.items() if keys)
        key, added = self._ready[priority].popitem(last=False)
        del self._priority[key]
        self._working[key] = priority
        return Item(key, priority, self._clock.monotonic() - added)

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _start_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._heap and self._is_superseded(self._heap[0]):
            heapq.heappop(self._heap)
        if self._heap:
            delay = max(0.0, self._heap[0][0] - self._clock.monotonic())
            self._timer = self._clock.call_later(delay, self._add_due)

    def _is_superseded(self, entry: tuple[float, int, K]) -> bool:
        at, _, key = entry
        current = self._due.get(key)
        return current is None or current[0] != at

    def _add_due(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if not self._is_superseded(entry):
                _, priority = self._due.pop(entry[2])
                self._held.discard(entry[2])
                self.add(entry[2], priority)
        self._start_timer()
