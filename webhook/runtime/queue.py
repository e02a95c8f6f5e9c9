"""The work queue: fair within a priority, stingy, with delayed adds and per-key backoff."""

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Hashable
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

from webhook.runtime.backoff import Backoff, Delays
from webhook.runtime.clock import Clock, Timer, within

K = TypeVar("K", bound=Hashable)

NORMAL = 0
BACKGROUND = -1
"""For keys that nobody waits for: the first list, resyncs."""


class QueueClosedError(Exception):
    """The queue was closed: there is no more work."""


class Item(NamedTuple, Generic[K]):
    """A key that is now being worked on, and how long it waited."""

    key: K
    priority: int
    waited: float


class Queue(Generic[K]):
    """Keys that want work.

    - *Fair*: within a priority keys come out in the order in which they went in.
    - *Stingy*: a key that is added many times before its turn comes out once.
    - *Exclusive*: a key comes out to one worker at a time; added meanwhile, it comes out again
      after `done`, so no change that follows the start of the work is ever missed.
    - *Patient*: a delayed key comes out no earlier than asked; of several delays the first counts.
    - *Held*: a key that is held does not come out before its delay, whoever adds it meanwhile.
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
        """Count the keys that are ready to be worked on."""
        return len(self._priority)

    @property
    def delayed(self) -> int:
        """How many keys wait for their time."""
        return len(self._due)

    @property
    def working(self) -> int:
        """How many keys are being worked on."""
        return len(self._working)

    def add(self, key: K, priority: int = NORMAL) -> None:
        """Ask for work on the key, now; one that is held comes out when its delay is over."""
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
        """Ask for work on the key in so many seconds."""
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
            self._arm()

    def retry(self, key: K, priority: int = NORMAL) -> float:
        """Ask for work on a key that failed, after its own growing delay, and say that delay."""
        delay = self._backoff.next(key)
        self.add_after(key, delay, priority)
        return delay

    def hold(self, key: K) -> float:
        """Let a key that is worked on wait for its own growing delay, and say that delay."""
        delay = self.retry(key)
        self._dirty.pop(key, None)
        if key in self._due:
            self._held.add(key)
        return delay

    def forget(self, key: K) -> None:
        """Take the key's failures as made good."""
        self._backoff.forget(key)

    def failures(self, key: K) -> int:
        return self._backoff.failures(key)

    async def get(self) -> Item[K]:
        """Wait for a key and take it; whoever takes it calls `done`."""
        while not self._priority:
            if self._closed:
                raise QueueClosedError
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # The wake-up may have been meant for us: hand it on, or a key would lie unseen.
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()
                raise
        return self._take()

    def done(self, key: K) -> None:
        """Say that the work on the key has ended, well or badly."""
        self._working.pop(key, None)
        priority = self._dirty.pop(key, None)
        if priority is not None:
            self.add(key, priority)
        if not self._priority and not self._working:
            self._idle.set()

    async def lull(self, seconds: float, patience: float) -> None:
        """Wait until no key is ready or worked on, but only so long after that began.

        And never longer than whoever waits has patience.
        """
        left = min(patience, self._busy_since + seconds - self._clock.monotonic())
        if not self._idle.is_set() and left > 0:
            with suppress(TimeoutError):
                async with within(self._clock, left):
                    await self._idle.wait()

    def close(self) -> None:
        """Take no more keys and let everyone who waits go."""
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

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._heap and self._is_superseded(self._heap[0]):
            heapq.heappop(self._heap)
        if self._heap:
            delay = max(0.0, self._heap[0][0] - self._clock.monotonic())
            self._timer = self._clock.call_later(delay, self._release)

    def _is_superseded(self, entry: tuple[float, int, K]) -> bool:
        at, _, key = entry
        current = self._due.get(key)
        return current is None or current[0] != at

    def _release(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if not self._is_superseded(entry):
                _, priority = self._due.pop(entry[2])
                self._held.discard(entry[2])
                self.add(entry[2], priority)
        self._arm()
