"""A garden whose leader crashes after a number of its own writes, and is replaced."""

from collections.abc import Callable, Collection
from typing import Any, Self

from tests.support.fake_garden import FakeGarden


class CrashError(Exception):
    """The process has crashed."""


class CrashingGarden(FakeGarden):
    """Counts the writes of some controllers from `arm` on, and crashes after the last one left.

    As a mixin it comes before the garden that it is about.
    """

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.died = False
        self._left = -1
        self._actors: Collection[str] = ()
        self.api.before_write = self._count

    def copy(self) -> Self:
        """Return a garden with the same objects at the same time, and new processes."""
        other = type(self)()
        other.clock.pass_time(self.clock.monotonic() - other.clock.monotonic())
        other.api.server.copy_from(self.api.server)
        other.start()
        return other

    def arm(self, after: int, actors: Collection[str]) -> None:
        """Crash before the write that follows a number of writes of these controllers."""
        self._left, self._actors = after, actors

    def _count(self) -> None:
        if self.died or self.actor not in self._actors:
            return
        self._left -= 1
        if self._left < 0:
            self.died = True
            raise CrashError

    async def live(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Run, and go on with a new process after the crash."""
        try:
            await self.run(seconds, until)
        except CrashError:
            self.start()
            await self.run(seconds, until)
