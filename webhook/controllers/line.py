"""The line in which shoots wait for a decision: by rank, each once, one decision at a time."""

import asyncio
import heapq
from collections.abc import Callable
from typing import Generic, TypeVar

from webhook.api.meta import ObjectKey
from webhook.runtime.clock import Clock, Timer

R = TypeVar("R")


class Line(Generic[R]):
    """Keys in the order of their ranks, the lowest first, whenever they came.

    A key that is being worked on and is added meanwhile comes again after `done`.
    """

    def __init__(self, clock: Clock, rank: Callable[[ObjectKey], R | None]) -> None:
        self._clock = clock
        self._rank = rank
        self._heap: list[tuple[R, ObjectKey]] = []
        self._queued: set[ObjectKey] = set()
        self._working: set[ObjectKey] = set()
        self._again: set[ObjectKey] = set()
        self._timers: dict[ObjectKey, Timer] = {}
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queued)

    def add(self, key: ObjectKey) -> None:
        """Let a key wait; one whose object has no rank any more does not."""
        if key in self._working:
            self._again.add(key)
            return
        if key in self._queued or (rank := self._rank(key)) is None:
            return
        self._queued.add(key)
        heapq.heappush(self._heap, (rank, key))
        self._arrived.set()

    def add_after(self, key: ObjectKey, delay: float) -> None:
        """Let a key wait from some seconds on; an earlier appointment stands."""
        if key not in self._timers:
            self._timers[key] = self._clock.call_later(delay, lambda: self._due(key))

    def is_appointed(self, key: ObjectKey) -> bool:
        """Tell whether a key will come by itself later."""
        return key in self._timers

    async def take(self) -> ObjectKey:
        """Wait for the first in line; whoever takes it calls `done`."""
        while not self._heap:
            self._arrived.clear()
            await self._arrived.wait()
        _, key = heapq.heappop(self._heap)
        self._queued.discard(key)
        self._working.add(key)
        return key

    def done(self, key: ObjectKey) -> None:
        """Say that the work on a key has ended."""
        self._working.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        """Make no more appointments."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _due(self, key: ObjectKey) -> None:
        self._timers.pop(key, None)
        self.add(key)
