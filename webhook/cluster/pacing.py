"""Time for the wire: a clock to wait by, delays between attempts, and turns taken with others."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

FIRST_DELAY: Final = 0.8
LONGEST_DELAY: Final = 30.0
HEALTHY_AFTER: Final = 120.0
SLICE: Final = 0.005


class Timer(Protocol):
    """Something scheduled that can still be called off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for what is dated, monotonic time for what is measured."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer: ...


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things may take before they are given up."""

    shortest_watch: int = 300
    longest_watch: int = 600
    """The server is asked to end each watch after a random time between these."""
    grace: float = 30.0
    """How much longer than asked a watch may live before it counts as hung."""
    opening: float = 15.0
    """How long a server may take to begin a watch."""
    idle: float = 150.0
    """How long a watch may be silent; servers send a bookmark every minute."""
    initial_idle: float = 10.0
    """How long a streamed list may pause before it counts as not offered."""
    short_watch: float = 1.0
    """A watch that ends sooner than this without an event is a failure."""
    chance: Callable[[], float] = random.random
    """Where jitter comes from: a number from 0 to 1."""


class Retry:
    """Delays of 0.8 s that double up to 30 s, with jitter, as client-go's reflector has them.

    They start over after two healthy minutes, not at the first success: a server that takes every
    connection and drops it at once must not be asked without pause.
    """

    def __init__(self, clock: Clock, chance: Callable[[], float]) -> None:
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._failed_at = 0.0

    def next(self) -> float:
        """Count one more failure and say how long to wait now."""
        now = self._clock.monotonic()
        if now - self._failed_at > HEALTHY_AFTER:
            self._failures = 0
        self._failed_at = now
        doubled = min(FIRST_DELAY * 2.0 ** min(self._failures, 16), LONGEST_DELAY)
        self._failures += 1
        delay = min(doubled * (1.0 + self._chance()), LONGEST_DELAY)
        self._failed_at += delay
        return delay

    def reset(self) -> None:
        """Start over: something has changed that makes the next attempt promising."""
        self._failures = 0


class Pacer:
    """Let others run after every five milliseconds of work, however many workers share it.

    All that wait for their turn in one round of the loop share one slice; each of them still does
    at least one piece, so that none of them starves.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = 0.0
        self._renewing = False

    async def breathe(self) -> None:
        """Go on at once, or after everybody else if the slice is used up."""
        if self._clock.monotonic() - self._began < SLICE:
            return
        if not self._renewing:
            self._renewing = True
            asyncio.get_running_loop().call_soon(self._renew)
        await asyncio.sleep(0)

    def _renew(self) -> None:
        self._renewing = False
        self._began = self._clock.monotonic()
