"""Our own writes, laid over what the watch has shown until it shows them, too."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from webhook.api.meta import Object, ObjectKey
from webhook.api.versions import covers, ordinal
from webhook.state.store import Entry, Store

T = TypeVar("T", bound=Object)


@dataclass(slots=True)
class Assumed(Generic[T]):
    """One write that was sent, and what it hides.

    `version` is empty until the API server has answered the write; only then can an event be
    told to be ours or later. `seen` is the version that the watch has last shown. `base` is the
    version that the write insists on, if it does: whatever later version the watch shows, be it
    ours or somebody else's that makes ours fail, is the truth.
    """

    entry: Entry[T] | None
    beneath: Entry[T] | None
    seen: str
    expires: datetime
    base: str = ""
    version: str = ""

    @property
    def is_confirmed(self) -> bool:
        return bool(self.version) and covers(self.seen, self.version)

    @property
    def is_overtaken(self) -> bool:
        if not self.base:
            return False
        shown = self.beneath.object if self.beneath else None
        return shown is None or ordinal(shown.resource_version) > ordinal(self.base)


class Overlay(Generic[T]):
    """Keep a store as it is with our own writes done.

    A write is assumed before it is sent, confirmed with the version it got, and forgotten if it
    failed. It gives way to what the watch shows as soon as that is as new, or if the write was
    to be made at a version that is past, and in any case when it expires.
    """

    def __init__(self, store: Store[T]) -> None:
        self.store = store
        self._assumed: dict[ObjectKey, Assumed[T]] = {}

    def __len__(self) -> int:
        return len(self._assumed)

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._assumed

    def observe(self, key: ObjectKey, entry: Entry[T] | None, version: str) -> T | None:
        """Take what the watch shows, and give what it had shown before."""
        assumed = self._assumed.get(key)
        if assumed is None:
            return self.store.set(key, entry)
        before, assumed.beneath, assumed.seen = assumed.beneath, entry, version
        self._settle(key, assumed)
        return before.object if before else None

    def observe_version(self, version: str) -> None:
        """Note that the watch has come to a version without an event of its own."""
        for key, assumed in [*self._assumed.items()]:
            if not assumed.seen or covers(version, assumed.seen):
                assumed.seen = version
                self._settle(key, assumed)

    def assume(
        self, key: ObjectKey, entry: Entry[T] | None, expires: datetime, base: str = ""
    ) -> None:
        """Show an object as our write leaves it; None stands for a deletion."""
        earlier = self._assumed.get(key)
        beneath = earlier.beneath if earlier else self.store.entry(key)
        shown = beneath.object if beneath else None
        seen = earlier.seen if earlier else shown.resource_version if shown else ""
        self.store.set(key, entry)
        assumed = self._assumed[key] = Assumed(entry, beneath, seen, expires, base)
        self._settle(key, assumed)

    def confirm(self, key: ObjectKey, version: str) -> None:
        """Note the version that the API server gave to an assumed write."""
        assumed = self._assumed.get(key)
        if assumed is not None:
            assumed.version = version
            self._settle(key, assumed)

    def forget(self, key: ObjectKey) -> None:
        """Show again what the watch has shown: the write failed, or has waited too long."""
        assumed = self._assumed.pop(key, None)
        if assumed is not None:
            self.store.set(key, assumed.beneath)

    def expire(self, now: datetime) -> list[ObjectKey]:
        """Forget the writes that the watch should have shown by now, and name them."""
        due = [key for key, assumed in self._assumed.items() if assumed.expires <= now]
        for key in due:
            self.forget(key)
        return due

    def adopt(self, store: Store[T], version: str) -> None:
        """Stand on another store, which holds a whole list of the given version."""
        self.store = store
        for key, assumed in [*self._assumed.items()]:
            assumed.beneath, assumed.seen = store.entry(key), version
            if not assumed.is_confirmed:
                store.set(key, assumed.entry)
            self._settle(key, assumed)

    def _settle(self, key: ObjectKey, assumed: Assumed[T]) -> None:
        if assumed.is_confirmed or assumed.is_overtaken:
            self.forget(key)
