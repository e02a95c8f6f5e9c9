"""All that is remembered of the cluster: one overlaid store a kind, kept in step."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar, cast

from webhook.api.meta import Object, ObjectKey
from webhook.domain.options import Options
from webhook.state.indexes import INDEXES, Index
from webhook.state.overlay import Overlay
from webhook.state.store import Entry, Store
from webhook.state.tally import DependentTally
from webhook.state.totals import TOTALS, Total, Vector

T = TypeVar("T", bound=Object)


class UnknownKindError(LookupError):
    """Raised for a kind that nobody watches: a decision that reads it would see it empty."""

    def __init__(self, model: type[Object]) -> None:
        super().__init__(f"{model.__name__} is read but not watched; add it to the cache's kinds")


class _Reader(NamedTuple):
    """What vectors see: all of memory, and the options that their store was made with."""

    memory: "Memory"
    options: Options

    def get(self, model: type[T], key: ObjectKey) -> T | None:
        return self.memory.find(model, key)


class Memory:
    """Hold every watched kind as seen, with our own writes laid over it."""

    def __init__(
        self,
        models: Iterable[type[Object]],
        indexes: Iterable[Index[Any]] = INDEXES,
        totals: Iterable[Total[Any]] = TOTALS,
        *,
        options: Options | None = None,
    ) -> None:
        self._options = options or Options()
        self._indexes, self._totals = tuple(indexes), tuple(totals)
        self._assuming: set[type[Object]] = set()
        self._kinds: dict[type[Object], Overlay[Any]] = {
            model: Overlay(self.stage(model)) for model in models
        }
        self._depending = [
            model for model, overlay in self._kinds.items() if any(overlay.store.dependent_tallies)
        ]

    def __contains__(self, model: type[Object]) -> bool:
        return model in self._kinds

    @property
    def options(self) -> Options:
        """What the operator has set; sums may depend on it."""
        return self._options

    def configure(self, options: Options) -> None:
        """Take other options, and sum up anew what was summed up with the old ones."""
        self._options = options
        for overlay in self._kinds.values():
            overlay.store = self._with_options(overlay.store)

    @property
    def models(self) -> Collection[type[Object]]:
        return self._kinds.keys()

    def overlay(self, model: type[T]) -> Overlay[T]:
        found = self._kinds.get(model)
        if found is None:
            raise UnknownKindError(model)
        return cast("Overlay[T]", found)

    def store(self, model: type[T]) -> Store[T]:
        return self.overlay(model).store

    # Decisions ask these most of all, hence without the calls that would do the same.

    def get(self, model: type[T], key: ObjectKey) -> T | None:
        overlay = self._kinds.get(model)
        if overlay is None:
            raise UnknownKindError(model)
        found: T | None = overlay.store.get(key)
        return found

    def find(self, model: type[T], key: ObjectKey) -> T | None:
        """Give an object as `get` does, and none of a kind that nobody watches."""
        overlay = self._kinds.get(model)
        found: T | None = overlay.store.get(key) if overlay is not None else None
        return found

    def by_index(self, index: Index[T], value: str) -> tuple[T, ...]:
        whole = self._kinds.get(index.model)
        if whole is not None:
            behind: tuple[T, ...] = whole.store.by_index(index.name, value)
            return behind
        found = (
            overlay.store.by_index(index.name, value)
            for model, overlay in self._kinds.items()
            if issubclass(model, index.model)
        )
        return tuple(obj for objects in found for obj in objects)

    def has(self, index: Index[T], value: str) -> bool:
        """Tell whether an index leads anywhere, at the same cost for one object and for many."""
        whole = self._kinds.get(index.model)
        if whole is not None:
            return whole.store.has(index.name, value)
        return any(
            overlay.store.has(index.name, value)
            for model, overlay in self._kinds.items()
            if issubclass(model, index.model)
        )

    def total(self, total: Total[T], group: str) -> Vector:
        overlay = self._kinds.get(total.model)
        if overlay is None:
            raise UnknownKindError(total.model)
        return overlay.store.total(total.name, group)

    def share(self, total: Total[T], key: ObjectKey) -> Vector:
        return self.store(total.model).share(total.name, key)

    def all_totals(self, total: Total[T]) -> Mapping[str, Vector]:
        return self.store(total.model).totals(total.name)

    def stage(self, model: type[T]) -> Store[T]:
        """Give an empty store of a kind, to be filled with a list and adopted."""
        return Store(
            model,
            [index for index in self._indexes if issubclass(model, index.model)],
            [total for total in self._totals if total.model is model],
            _Reader(self, self._options),
        )

    def adopt(self, store: Store[T], version: str) -> Store[T]:
        """Replace all that was seen of a kind in one step, and give what it was."""
        overlay = self.overlay(store.model)
        before = overlay.store
        store = self._with_options(store)
        overlay.adopt(store, version)
        for tally in store.dependent_tallies:
            tally.mark_all()  # its sources may have changed while it was filled
        for tally in self._dependent_tallies():
            tally.mark_kind(store.model)
        return before

    def observe(
        self, model: type[T], key: ObjectKey, entry: Entry[T] | None, version: str
    ) -> T | None:
        """Take one event of the watch, and give what the watch had shown before."""
        old = self.overlay(model).observe(key, entry, version)
        self._mark(model, key)
        return old

    def observe_version(self, model: type[Object], version: str) -> None:
        """Note a version that the watch has reached without an event."""
        overlay = self.overlay(model)
        if len(overlay):
            overlay.observe_version(version)

    def assume(
        self,
        model: type[T],
        key: ObjectKey,
        entry: Entry[T] | None,
        expires: datetime,
        base: str = "",
    ) -> None:
        """Show an object as our write leaves it, until the watch shows it or it expires.

        A write that insists on a version names it as `base`, and gives way to any later one.
        """
        self.overlay(model).assume(key, entry, expires, base)
        self._assuming.add(model)
        self._mark(model, key)

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None:
        """Note the version that the API server gave to an assumed write."""
        self.overlay(model).confirm(key, version)
        self._mark(model, key)

    def forget(self, model: type[Object], key: ObjectKey) -> None:
        """Take an assumed write back: it failed."""
        self.overlay(model).forget(key)
        self._mark(model, key)

    def expire(self, now: datetime) -> Mapping[type[Object], list[ObjectKey]]:
        """Forget the assumed writes that the watch should have shown by now, and name them."""
        due: dict[type[Object], list[ObjectKey]] = {}
        for model in [*self._assuming]:
            overlay = self.overlay(model)
            if keys := overlay.expire(now):
                due[model] = keys
                for key in keys:
                    self._mark(model, key)
            if not overlay:
                self._assuming.discard(model)
        return due

    def refresh_one(self) -> bool:
        """Bring one outdated part of a sum up to date; False if there is none.

        Reading a sum does so for all its parts, which may be thousands after one change of an
        object that they all depend on. Whoever has time to spare saves decisions that work.
        """
        return any(tally.refresh_one() for tally in self._dependent_tallies())

    def _with_options(self, store: Store[T]) -> Store[T]:
        if store.reader.options is self._options:
            return store
        fresh = self.stage(store.model)
        for key in store.keys():  # noqa: SIM118 - a store is not a mapping
            fresh.set(key, store.entry(key))
        return fresh

    def _mark(self, model: type[Object], key: ObjectKey) -> None:
        for tally in self._dependent_tallies():
            tally.mark(model, key)

    def _dependent_tallies(self) -> Iterable[DependentTally[Any]]:
        for model in self._depending:
            yield from self._kinds[model].store.dependent_tallies
