"""Time as an argument: the one place of the machinery that asks the operating system for it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Protocol

# Linux's plain monotonic clock stands still while a machine is suspended. A leader that wakes up
# must know how long it slept, so the clock that counts sleep is used where there is one.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Timer(Protocol):
    """Something scheduled that can still be called off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for what is written down, monotonic time for what is measured."""

    def now(self) -> datetime:
        """Say the wall time, in UTC."""

    def monotonic(self) -> float:
        """Say the seconds since some fixed moment; never goes back."""

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Run the callback on the loop after so many seconds."""

    async def sleep(self, delay: float) -> None:
        """Wait so many seconds."""


class SystemClock:
    """The operating system's clocks and the running loop's timers."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.clock_gettime(_STEADY)

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay, callback)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(delay)


@asynccontextmanager
async def within(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Give the block so many seconds by this clock, then raise TimeoutError."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        timer = clock.call_later(seconds, lambda: limit.reschedule(loop.time()))
        try:
            yield
        finally:
            timer.cancel()
