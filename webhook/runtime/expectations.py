"""Own writes that the cache has not shown yet: nobody plans before it has."""

from collections.abc import Awaitable
from typing import Protocol, TypeVar

from webhook.api.meta import Object, ObjectKey
from webhook.runtime.clock import Clock, within
from webhook.runtime.writer import Written

T = TypeVar("T", bound=Object)

PATIENCE = 10.0
"""How long to wait for the watch to show a write before the key is tried again later."""

_LOOK_AGAIN = 0.05


class Seer(Protocol):
    """What the cache tells about what it has seen."""

    def covers(self, model: type[Object], key: ObjectKey) -> bool: ...

    def wait_seen(self, model: type[Object], version: str) -> Awaitable[None]: ...

    def peek(self, model: type[T], key: ObjectKey) -> T | None:
        """Give an object as the cache holds it now."""


class UnseenError(Exception):
    """The cache does not show a write of ours in time."""


class Expectations:
    """Remembers, for each key, the versions that its last plan wrote."""

    def __init__(self, cache: Seer, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._unseen: dict[ObjectKey, list[Written]] = {}

    def __len__(self) -> int:
        return len(self._unseen)

    def expect(self, key: ObjectKey, written: Written) -> None:
        """Wait for this write before the key is planned again; one that nobody watches is not."""
        if self._cache.covers(written.kind.model, written.key):
            self._unseen.setdefault(key, []).append(written)

    async def settle(self, key: ObjectKey) -> None:
        """Wait until the cache shows all that was written for the key; raises UnseenError."""
        unseen = self._unseen.get(key)
        if not unseen:
            return
        try:
            async with within(self._clock, PATIENCE):
                for written in unseen:
                    await self._see(written)
        except TimeoutError as error:
            last = unseen[-1]
            raise UnseenError(
                f"the cache does not show our write to {last.kind.name} {last.key} yet"
            ) from error
        del self._unseen[key]

    def forget(self, key: ObjectKey) -> None:
        """Expect nothing more for a key whose object is gone."""
        self._unseen.pop(key, None)

    async def _see(self, written: Written) -> None:
        if written.version:
            await self._cache.wait_seen(written.kind.model, written.version)
            return
        while self._holds(written):
            await self._clock.sleep(_LOOK_AGAIN)

    def _holds(self, written: Written) -> bool:
        obj = self._cache.peek(written.kind.model, written.key)
        return obj is not None and obj.uid == written.uid
