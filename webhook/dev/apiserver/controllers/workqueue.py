"""A work queue: processes keys one after the other and retries with backoff."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from webhook.dev.apiserver.storage.store import StaleError, StorageError
from webhook.kube.status import StatusError

logger = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)

_BASE_DELAY: Final = 0.05
_MAX_DELAY: Final = 15.0


class WorkQueue(Generic[Key]):
    """Processes keys in turn; a key that is added meanwhile is processed once more."""

    def __init__(self, name: str, handle: Callable[[Key], Awaitable[None]]) -> None:
        self._name = name
        self._handle = handle
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._waiting: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: set[asyncio.TimerHandle] = set()

    def add(self, key: Key) -> None:
        """Enqueue a key, unless it is queued already."""
        if key not in self._waiting:
            self._waiting.add(key)
            self._queue.put_nowait(key)

    def add_after(self, key: Key, delay: float) -> None:
        """Enqueue a key after a delay."""
        timer: asyncio.TimerHandle

        def due() -> None:
            self._timers.discard(timer)
            self.add(key)

        timer = asyncio.get_running_loop().call_later(delay, due)
        self._timers.add(timer)

    async def run(self) -> None:
        """Process keys until cancelled."""
        try:
            while True:
                key = await self._queue.get()
                self._waiting.discard(key)
                await self._process(key)
        finally:
            for timer in self._timers:
                timer.cancel()

    async def _process(self, key: Key) -> None:
        try:
            await self._handle(key)
        except StaleError:
            self.add(key)
        except (StatusError, StorageError) as error:
            count = self._failures[key] = self._failures.get(key, 0) + 1
            logger.info("%s retries", self._name, extra={"error": str(error)})
            self.add_after(key, min(_BASE_DELAY * 2**count, _MAX_DELAY))
        except Exception:  # a bug with one object must not stop the others
            logger.exception("%s failed", self._name)
        else:
            self._failures.pop(key, None)
