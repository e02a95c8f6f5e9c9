"""Our own writes that the cache does not show yet; a key is planned only after it does."""

from typing import Final, TypeVar

from webhook.kube.clock import Clock, within
from webhook.kube.meta import Object, ObjectKey
from webhook.runtime.writer import Written
from webhook.state.views import CacheReader

T = TypeVar("T", bound=Object)

OBSERVE_SECONDS: Final = 10.0
"""How long to wait until the watch delivers a write; then the key is retried later."""

_POLL_SECONDS: Final = 0.05


class UnobservedWriteError(Exception):
    """The cache did not observe a write of ours in time."""


class Expectations:
    """Records, for each key, the versions that its last plan wrote."""

    def __init__(self, cache: CacheReader, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._unobserved: dict[ObjectKey, list[Written]] = {}

    def __len__(self) -> int:
        return len(self._unobserved)

    def expect(self, key: ObjectKey, written: Written) -> None:
        """Wait for this write before the next plan of the key, if the object is watched."""
        if self._cache.covers(written.kind.model, written.key):
            self._unobserved.setdefault(key, []).append(written)

    async def wait_observed(self, key: ObjectKey) -> None:
        """Wait until the cache shows all writes for the key; raises UnobservedWriteError."""
        unobserved = self._unobserved.get(key)
        if not unobserved:
            return
        try:
            async with within(self._clock, OBSERVE_SECONDS):
                for written in unobserved:
                    await self._wait_for(written)
        except TimeoutError as error:
            last = unobserved[-1]
            raise UnobservedWriteError(
                f"the cache does not show our write to {last.kind.name} {last.key} yet"
            ) from error
        del self._unobserved[key]

    def forget(self, key: ObjectKey) -> None:
        """Drop the expectations of a key whose object is gone."""
        self._unobserved.pop(key, None)

    async def _wait_for(self, written: Written) -> None:
        if written.version:
            await self._cache.wait_seen(written.kind.model, written.version)
            return
        while self._holds(written):
            await self._clock.sleep(_POLL_SECONDS)

    def _holds(self, written: Written) -> bool:
        obj = self._cache.peek(written.kind.model, written.key)
        return obj is not None and obj.uid == written.uid
