"""What goes through the door right now, and whether it is time to let no more in, or to leave."""

from typing import Protocol


class Clock(Protocol):
    """The part of a clock that traffic needs."""

    def monotonic(self) -> float: ...

    async def sleep(self, delay: float) -> None: ...


class Traffic:
    """Counts requests, sheds what would come too late, and knows when all is quiet."""

    def __init__(self, clock: Clock, limit: int) -> None:
        self._clock = clock
        self._limit = limit
        self._last = clock.monotonic()
        self.in_flight = 0
        self.draining = False
        self.lag = 0.0
        """How late the loop was lately: whatever we read now has waited about that long."""

    def enter(self) -> None:
        self.in_flight += 1

    def leave(self) -> None:
        self.in_flight -= 1
        if self.draining:
            self._last = self._clock.monotonic()

    def overload(self, seconds: float) -> str | None:
        """Say why a request with so many seconds left had better go elsewhere, if it had."""
        if self.in_flight > self._limit:
            return "busy"
        if self.lag >= seconds:
            return "late"
        return None

    async def drain(self, quiet: float, longest: float) -> None:
        """Serve on, asking callers to come no more, until nobody came for `quiet` seconds.

        Endpoints are taken out of a Service some time after readiness falls, and clients keep
        connections; each answer tells its client to close. At most `longest` seconds altogether.
        """
        self.draining = True
        started = self._last = self._clock.monotonic()
        while True:
            now = self._clock.monotonic()
            if self.in_flight == 0 and now - self._last >= quiet:
                return
            left = started + longest - now
            if left <= 0:
                return
            await self._clock.sleep(min(0.1, left))
