"""The clock that everything else gets as an argument; only this module reads the system time."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final, Protocol

# Linux's CLOCK_MONOTONIC stands still while a machine is suspended. The lease of a
# leader expires meanwhile, so CLOCK_BOOTTIME, which counts on, is used where the system has it.
_MONOTONIC: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Timer(Protocol):
    """A scheduled callback that can still be cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for timestamps, monotonic time for measuring, timers for waiting."""

    def now(self) -> datetime:
        """Return the wall time, in UTC."""

    def monotonic(self) -> float:
        """Return the seconds since some fixed moment; they never decrease."""

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Run a callback on the event loop after a number of seconds."""

    async def sleep(self, delay: float) -> None:
        """Wait for a number of seconds."""


class SystemClock:
    """The operating system's clocks and the running event loop's timers."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.clock_gettime(_MONOTONIC)

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay, callback)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(delay)


@asynccontextmanager
async def within(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError in the block once it has taken a number of seconds by this clock."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        timer = clock.call_later(seconds, lambda: limit.reschedule(loop.time()))
        try:
            yield
        finally:
            timer.cancel()
