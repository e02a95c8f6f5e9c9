"""The state of all watched kinds: one store with an overlay each, and sums across kinds."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar, cast

from webhook.domain.options import Options
from webhook.kube.meta import Object, ObjectKey
from webhook.state.indexes import INDEXES, Index
from webhook.state.overlay import Overlay
from webhook.state.store import Store, StoreEntry
from webhook.state.tally import DependentTally
from webhook.state.totals import TOTALS, Total, Vector

T = TypeVar("T", bound=Object)


class UnwatchedKindError(LookupError):
    """Raised for a kind that is not watched: a decision would see it as empty."""

    def __init__(self, model: type[Object]) -> None:
        super().__init__(f"{model.__name__} is read but not watched; add it to the cache's kinds")


class _Reader(NamedTuple):
    """What vector functions read: all kinds, and the options that their store was built with."""

    state: "ClusterState"
    options: Options

    def get(self, model: type[T], key: ObjectKey) -> T | None:
        return self.state.find(model, key)


class ClusterState:
    """Every watched kind as its watch reports it, with our own assumed writes on top."""

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
        self._with_assumed: set[type[Object]] = set()
        self._kinds: dict[type[Object], Overlay[Any]] = {
            model: Overlay(self.new_store(model)) for model in models
        }
        self._with_dependent_tallies = [
            model for model, overlay in self._kinds.items() if any(overlay.store.dependent_tallies)
        ]

    def __contains__(self, model: type[Object]) -> bool:
        return model in self._kinds

    @property
    def options(self) -> Options:
        """The operator's settings, which sums may depend on."""
        return self._options

    def configure(self, options: Options) -> None:
        """Replace the options and recompute the sums that depend on them."""
        self._options = options
        for overlay in self._kinds.values():
            overlay.store = self._with_options(overlay.store)

    @property
    def models(self) -> Collection[type[Object]]:
        return self._kinds.keys()

    def overlay(self, model: type[T]) -> Overlay[T]:
        found = self._kinds.get(model)
        if found is None:
            raise UnwatchedKindError(model)
        return cast("Overlay[T]", found)

    def store(self, model: type[T]) -> Store[T]:
        return self.overlay(model).store

    # Most reads of decisions end here, so these do not go through `overlay` and `store`.

    def get(self, model: type[T], key: ObjectKey) -> T | None:
        overlay = self._kinds.get(model)
        if overlay is None:
            raise UnwatchedKindError(model)
        found: T | None = overlay.store.get(key)
        return found

    def find(self, model: type[T], key: ObjectKey) -> T | None:
        """Return an object as `get` does, and None for a kind that is not watched."""
        overlay = self._kinds.get(model)
        found: T | None = overlay.store.get(key) if overlay is not None else None
        return found

    def by_index(self, index: Index[T], value: str) -> tuple[T, ...]:
        overlay = self._kinds.get(index.model)
        if overlay is not None:
            objects: tuple[T, ...] = overlay.store.by_index(index.name, value)
            return objects
        return tuple(
            obj
            for model, each in self._kinds.items()
            if issubclass(model, index.model)
            for obj in each.store.by_index(index.name, value)
        )

    def has(self, index: Index[T], value: str) -> bool:
        """Return whether any object has a value of an index, in constant time."""
        overlay = self._kinds.get(index.model)
        if overlay is not None:
            return overlay.store.has(index.name, value)
        return any(
            each.store.has(index.name, value)
            for model, each in self._kinds.items()
            if issubclass(model, index.model)
        )

    def total(self, total: Total[T], group: str) -> Vector:
        overlay = self._kinds.get(total.model)
        if overlay is None:
            raise UnwatchedKindError(total.model)
        return overlay.store.total(total.name, group)

    def contribution(self, total: Total[T], key: ObjectKey) -> Vector:
        return self.store(total.model).contribution(total.name, key)

    def all_totals(self, total: Total[T]) -> Mapping[str, Vector]:
        return self.store(total.model).totals(total.name)

    def new_store(self, model: type[T]) -> Store[T]:
        """Return an empty store of a kind, to be filled and passed to `replace_store`."""
        return Store(
            model,
            [index for index in self._indexes if issubclass(model, index.model)],
            [total for total in self._totals if total.model is model],
            _Reader(self, self._options),
        )

    def replace_store(self, store: Store[T], version: str) -> Store[T]:
        """Replace all objects of a kind in one step; returns the store before."""
        overlay = self.overlay(store.model)
        before = overlay.store
        store = self._with_options(store)
        overlay.replace_store(store, version)
        for tally in store.dependent_tallies:
            tally.mark_all()  # the sources may have changed while the store was filled
        for tally in self._dependent_tallies():
            tally.mark_kind(store.model)
        return before

    def observe(
        self, model: type[T], key: ObjectKey, entry: StoreEntry[T] | None, version: str
    ) -> T | None:
        """Record one event of the watch; returns what the watch had reported before."""
        old = self.overlay(model).observe(key, entry, version)
        self._mark(model, key)
        return old

    def observe_version(self, model: type[Object], version: str) -> None:
        """Record a version that the watch has reached without an event."""
        overlay = self.overlay(model)
        if len(overlay):
            overlay.observe_version(version)

    def assume(
        self,
        model: type[T],
        key: ObjectKey,
        entry: StoreEntry[T] | None,
        expires: datetime,
        base: str = "",
    ) -> None:
        """Show an object as our write leaves it, until the watch reports it or it expires.

        `base` is the resourceVersion that the write is conditional on; any later one replaces it.
        """
        self.overlay(model).assume(key, entry, expires, base)
        self._with_assumed.add(model)
        self._mark(model, key)

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None:
        """Record the version that the API server gave to an assumed write."""
        self.overlay(model).confirm(key, version)
        self._mark(model, key)

    def forget(self, model: type[Object], key: ObjectKey) -> None:
        """Show again what the watch has reported: the assumed write failed."""
        self.overlay(model).forget(key)
        self._mark(model, key)

    def expire(self, now: datetime) -> Mapping[type[Object], list[ObjectKey]]:
        """Forget assumed writes that the watch should have reported by now; returns their keys."""
        due: dict[type[Object], list[ObjectKey]] = {}
        for model in [*self._with_assumed]:
            overlay = self.overlay(model)
            if keys := overlay.expire(now):
                due[model] = keys
                for key in keys:
                    self._mark(model, key)
            if not overlay:
                self._with_assumed.discard(model)
        return due

    def refresh_one(self) -> bool:
        """Recompute one outdated contribution to a sum; returns False if there is none.

        Reading a sum recomputes all of them, which may be thousands after a change of one object
        that they depend on. Calling this while idle keeps that work out of decisions.
        """
        return any(tally.refresh_one() for tally in self._dependent_tallies())

    def _with_options(self, store: Store[T]) -> Store[T]:
        if store.reader.options is self._options:
            return store
        fresh = self.new_store(store.model)
        for key in store.keys():  # noqa: SIM118 - a store is not a mapping
            fresh.set(key, store.entry(key))
        return fresh

    def _mark(self, model: type[Object], key: ObjectKey) -> None:
        for tally in self._dependent_tallies():
            tally.mark(model, key)

    def _dependent_tallies(self) -> Iterable[DependentTally[Any]]:
        for model in self._with_dependent_tallies:
            yield from self._kinds[model].store.dependent_tallies
