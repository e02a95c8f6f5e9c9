"""The load of the server: requests in flight, load shedding and draining."""

from webhook.kube.clock import Clock
from webhook.server.bodies import DEFAULT_BYTES, BodyBudget
from webhook.server.pacing import Pacing


class Traffic:
    """Counts requests in flight, and decides which to shed and when the server is drained."""

    def __init__(self, clock: Clock, limit: int, body_bytes: int = DEFAULT_BYTES) -> None:
        self._clock = clock
        self._limit = limit
        self._last = clock.monotonic()
        self.bodies = BodyBudget(body_bytes)
        self.pacing = Pacing()
        self.open_pacing = Pacing()
        """For clients without proof: they must not keep the large bodies of others waiting."""
        self.in_flight = 0
        self.draining = False
        self.lag = 0.0
        """The last lag of the event loop: a request that is read now has waited about that long."""

    def enter(self) -> None:
        self.in_flight += 1

    def leave(self) -> None:
        self.in_flight -= 1
        if self.draining:
            self._last = self._clock.monotonic()

    def overload(self, seconds: float) -> str | None:
        """Return the reason to shed a request with so many seconds left; None to process it."""
        # Slow clients are limited by the bytes of their bodies, and keep nobody else out.
        if self.in_flight - self.bodies.arriving > self._limit:
            return "busy"
        if self.lag >= seconds:
            return "late"
        return None

    async def drain(self, quiet: float, longest: float) -> None:
        """Serve until there was no request for `quiet` seconds, at most for `longest` seconds.

        Endpoints leave a Service some time after readiness fails, and clients keep connections, so
        each response asks its client to close the connection.
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
