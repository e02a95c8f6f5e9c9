"""The priority queue of shoots that wait for a scheduling decision."""

import asyncio
import heapq
from collections.abc import Callable
from typing import Generic, TypeVar

from webhook.kube.clock import Clock, Timer
from webhook.kube.meta import ObjectKey

R = TypeVar("R")


class ShootQueue(Generic[R]):
    """A priority queue of keys, each at most once, the lowest rank first.

    A key that is added while it is processed is queued again by `done`.
    """

    def __init__(self, clock: Clock, rank: Callable[[ObjectKey], R | None]) -> None:
        self._clock = clock
        self._rank = rank
        self._heap: list[tuple[R, ObjectKey]] = []
        self._queued: set[ObjectKey] = set()
        self._processing: set[ObjectKey] = set()
        self._dirty: set[ObjectKey] = set()
        self._timers: dict[ObjectKey, Timer] = {}
        self._not_empty = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queued)

    def add(self, key: ObjectKey) -> None:
        """Queue a key, unless its object has no rank any more."""
        if key in self._processing:
            self._dirty.add(key)
            return
        if key in self._queued or (rank := self._rank(key)) is None:
            return
        self._queued.add(key)
        heapq.heappush(self._heap, (rank, key))
        self._not_empty.set()

    def add_after(self, key: ObjectKey, delay: float) -> None:
        """Queue a key after some seconds; an earlier timer of the key stays."""
        if key not in self._timers:
            self._timers[key] = self._clock.call_later(delay, lambda: self._due(key))

    def has_timer(self, key: ObjectKey) -> bool:
        """Return whether a timer will queue the key later."""
        return key in self._timers

    async def take(self) -> ObjectKey:
        """Wait for the key with the lowest rank; the caller calls `done` for it."""
        while not self._heap:
            self._not_empty.clear()
            await self._not_empty.wait()
        _, key = heapq.heappop(self._heap)
        self._queued.discard(key)
        self._processing.add(key)
        return key

    def done(self, key: ObjectKey) -> None:
        """Finish processing a key."""
        self._processing.discard(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self.add(key)

    def close(self) -> None:
        """Cancel all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _due(self, key: ObjectKey) -> None:
        self._timers.pop(key, None)
        self.add(key)
