"""A clock that moves only when a test moves it."""

import asyncio
import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class FakeTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    def __init__(self, now: datetime = START) -> None:
        self._start = now
        self._elapsed = 0.0
        self._sequence = 0
        self._timers: list[tuple[float, int, FakeTimer]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def call_later(self, delay: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(callback)
        self._sequence += 1
        heapq.heappush(self._timers, (self._elapsed + max(delay, 0.0), self._sequence, timer))
        return timer

    async def sleep(self, delay: float) -> None:
        done = asyncio.Event()
        timer = self.call_later(delay, done.set)
        try:
            await done.wait()
        finally:
            timer.cancel()

    def pass_time(self, seconds: float) -> None:
        """Move the clock and call what falls due, in order; tasks do not run meanwhile."""
        until = self._elapsed + seconds
        while self._timers and self._timers[0][0] <= until:
            at, _, timer = heapq.heappop(self._timers)
            self._elapsed = max(self._elapsed, at)
            if timer.callback is not None:
                timer.callback()
        self._elapsed = until

    async def advance(self, seconds: float) -> None:
        """Move the clock, and run every task that wakes up until it waits again."""
        until = self._elapsed + seconds
        await settle()
        while self._timers and self._timers[0][0] <= until:
            self.pass_time(max(0.0, self._timers[0][0] - self._elapsed))
            await settle()
        self._elapsed = until
        await settle()


async def settle(until: Callable[[], bool] = lambda: False, turns: int = 20) -> None:
    """Run every task that can run until all of them wait."""
    for _ in range(turns):
        if until():
            return
        await asyncio.sleep(0)
