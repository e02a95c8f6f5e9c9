"""Work that nobody waits for: one thing after another, again if it did not succeed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from webhook.api.status import StatusError
from webhook.apiserver.storage import StaleError, StorageError

logger = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)

_FIRST_DELAY: Final = 0.05
_LONGEST_DELAY: Final = 15.0


class Worker(Generic[Key]):
    """Handles keys in turn; a key that is added while it is handled is handled once more."""

    def __init__(self, name: str, handle: Callable[[Key], Awaitable[None]]) -> None:
        self._name = name
        self._handle = handle
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._waiting: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: set[asyncio.TimerHandle] = set()

    def add(self, key: Key) -> None:
        """Have a key handled soon."""
        if key not in self._waiting:
            self._waiting.add(key)
            self._queue.put_nowait(key)

    def add_later(self, key: Key, delay: float) -> None:
        """Have a key handled after a while."""
        timer: asyncio.TimerHandle

        def due() -> None:
            self._timers.discard(timer)
            self.add(key)

        timer = asyncio.get_running_loop().call_later(delay, due)
        self._timers.add(timer)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                key = await self._queue.get()
                self._waiting.discard(key)
                await self._once(key)
        finally:
            for timer in self._timers:
                timer.cancel()

    async def _once(self, key: Key) -> None:
        try:
            await self._handle(key)
        except StaleError:
            self.add(key)
        except (StatusError, StorageError) as error:
            count = self._failures[key] = self._failures.get(key, 0) + 1
            logger.info("%s will try again", self._name, extra={"error": str(error)})
            self.add_later(key, min(_FIRST_DELAY * 2**count, _LONGEST_DELAY))
        except Exception:  # one bad object must not end the work on all others
            logger.exception("%s failed", self._name)
        else:
            self._failures.pop(key, None)
