"""Timeouts and backoff of watches, and cooperative time slices on the event loop."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from webhook.kube.clock import Clock

FIRST_DELAY: Final = 0.8
LONGEST_DELAY: Final = 30.0
HEALTHY_AFTER: Final = 120.0
SLICE: Final = 0.005


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """The timeouts of lists and watches, in seconds."""

    shortest_watch: int = 300
    longest_watch: int = 600
    """Each watch requests a random `timeoutSeconds` between these."""
    grace: float = 30.0
    """How much longer than requested a watch may stay open before it counts as hung."""
    opening: float = 15.0
    """How long a server may take to send the headers of a watch."""
    idle: float = 150.0
    """How long a watch may send nothing; servers send a bookmark every minute."""
    initial_idle: float = 10.0
    """How long a streaming list may pause before it counts as not supported."""
    short_watch: float = 1.0
    """A watch that ends sooner than this without an event is a failure."""
    chance: Callable[[], float] = random.random
    """The source of jitter: a number from 0 to 1."""


class WatchBackoff:
    """Delays of 0.8 s that double up to 30 s, with jitter, like those of client-go's reflector.

    They start over after two minutes without a failure and not at the first success, because a
    server may accept every connection and drop it at once.

    They apply to 410 as well: after the restart of an API server all clients list again, and those
    that wait a second are served sooner.
    """

    def __init__(self, clock: Clock, chance: Callable[[], float]) -> None:
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._failed_at = 0.0

    def next(self) -> float:
        """Count one more failure and return the delay before the next attempt."""
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
        """Start over with the first delay."""
        self._failures = 0


class Pacer:
    """Yields to the event loop after every five milliseconds of work of all its users together.

    All users that wait in one iteration of the loop share the next slice. Each of them still does
    at least one piece of work in it, so that none starves.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._slice_started = 0.0
        self._renewal_scheduled = False

    async def yield_if_due(self) -> None:
        """Return at once, or after one iteration of the loop if the slice is used up."""
        if self._clock.monotonic() - self._slice_started < SLICE:
            return
        if not self._renewal_scheduled:
            self._renewal_scheduled = True
            asyncio.get_running_loop().call_soon(self._renew)
        await asyncio.sleep(0)

    def _renew(self) -> None:
        self._renewal_scheduled = False
        self._slice_started = self._clock.monotonic()
