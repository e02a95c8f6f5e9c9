"""Our own writes on top of what the watch has reported, until the watch reports them, too."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from webhook.kube.meta import Object, ObjectKey
from webhook.kube.resource_versions import covers, ordinal
from webhook.state.store import Store, StoreEntry

T = TypeVar("T", bound=Object)


@dataclass(slots=True)
class Assumed(Generic[T]):
    """One write that was sent, and the state that it hides.

    `version` is the resourceVersion that the API server gave to the write; it is empty until then,
    so that no event can be recognised as ours or later. `seen` is the version that the watch has
    last reported. `base` is the resourceVersion that the write is conditional on, if it is: any
    later version from the watch is the truth, be it our write or one that makes ours fail.
    """

    entry: StoreEntry[T] | None
    beneath: StoreEntry[T] | None
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
    """A store that shows our own writes before the watch does.

    A write is assumed before it is sent, confirmed with the version it got, and forgotten if it
    failed. It is replaced by what the watch reports as soon as that is as new as the write, or
    newer than the version that the write is conditional on, and in any case when it expires.
    """

    def __init__(self, store: Store[T]) -> None:
        self.store = store
        self._assumed: dict[ObjectKey, Assumed[T]] = {}

    def __len__(self) -> int:
        return len(self._assumed)

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._assumed

    def observe(self, key: ObjectKey, entry: StoreEntry[T] | None, version: str) -> T | None:
        """Record what the watch reports; returns what it had reported before."""
        assumed = self._assumed.get(key)
        if assumed is None:
            return self.store.set(key, entry)
        before, assumed.beneath, assumed.seen = assumed.beneath, entry, version
        self._drop_if_observed(key, assumed)
        return before.object if before else None

    def observe_version(self, version: str) -> None:
        """Record a version that the watch has reached without an event, as by a bookmark."""
        for key, assumed in [*self._assumed.items()]:
            if not assumed.seen or covers(version, assumed.seen):
                assumed.seen = version
                self._drop_if_observed(key, assumed)

    def assume(
        self, key: ObjectKey, entry: StoreEntry[T] | None, expires: datetime, base: str = ""
    ) -> None:
        """Show an object as our write leaves it; None for a deletion."""
        earlier = self._assumed.get(key)
        beneath = earlier.beneath if earlier else self.store.entry(key)
        shown = beneath.object if beneath else None
        seen = earlier.seen if earlier else shown.resource_version if shown else ""
        self.store.set(key, entry)
        assumed = self._assumed[key] = Assumed(entry, beneath, seen, expires, base)
        self._drop_if_observed(key, assumed)

    def confirm(self, key: ObjectKey, version: str) -> None:
        """Record the version that the API server gave to an assumed write."""
        assumed = self._assumed.get(key)
        if assumed is not None:
            assumed.version = version
            self._drop_if_observed(key, assumed)

    def forget(self, key: ObjectKey) -> None:
        """Show again what the watch has reported: the write failed or expired."""
        assumed = self._assumed.pop(key, None)
        if assumed is not None:
            self.store.set(key, assumed.beneath)

    def expire(self, now: datetime) -> list[ObjectKey]:
        """Forget the writes that the watch should have reported by now; returns their keys."""
        due = [key for key, assumed in self._assumed.items() if assumed.expires <= now]
        for key in due:
            self.forget(key)
        return due

    def replace_store(self, store: Store[T], version: str) -> None:
        """Use another store, which holds a complete list of the given version."""
        self.store = store
        for key, assumed in [*self._assumed.items()]:
            assumed.beneath, assumed.seen = store.entry(key), version
            if not assumed.is_confirmed:
                store.set(key, assumed.entry)
            self._drop_if_observed(key, assumed)

    def _drop_if_observed(self, key: ObjectKey, assumed: Assumed[T]) -> None:
        if assumed.is_confirmed or assumed.is_overtaken:
            self.forget(key)
