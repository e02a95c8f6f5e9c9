"""The pacing of large bodies, so that one of them delays others as little as possible.

Decoding and deciding hold the event loop. For a review of a few kilobytes that is a fraction of a
millisecond, for one of several megabytes up to a few tenths of a second. After the work on a large
body the next one therefore waits for a multiple of the time that it took.
"""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

LARGE: Final = 2**18
"""Bodies of at least this size are paced; hardly any object in a cluster is so large."""

REST: Final = 8.0
"""How many times as long as the work on a large body the next one waits."""


class Pacing:
    """Gives large bodies their turns, one at a time and in order."""

    def __init__(self) -> None:
        self._turns = asyncio.Lock()
        self._free_at = 0.0

    async def turn(self, size: int, deadline: float) -> None:
        """Wait for the turn of a body; raises TimeoutError at the deadline.

        The work must begin before the caller awaits anything else.
        """
        if size < LARGE:
            return
        async with asyncio.timeout_at(deadline), self._turns:
            await asyncio.sleep(max(0.0, self._free_at - perf_counter()))

    @contextmanager
    def working(self, size: int) -> Iterator[None]:
        """Measure the work on a body, from which the wait of the next one follows.

        The block must not await anything.
        """
        if size < LARGE:
            yield
            return
        started = perf_counter()
        # Decoded JSON has no cycles, but millions of objects that the collector would visit.
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
            ended = perf_counter()
            self._free_at = ended + REST * (ended - started)
