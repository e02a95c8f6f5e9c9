"""The sums of one total, updated with each change instead of computed with each read."""

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from typing import Final, Generic, NamedTuple, TypeVar

from typing_extensions import override

from webhook.kube.meta import KindKey, Object, ObjectKey
from webhook.state.totals import Reader, Total, Vector

T = TypeVar("T", bound=Object)

_NOTHING: Final[Vector] = {}

# Wide enough that adding and subtracting bytes and nano-units never rounds: a group that loses a
# member then has exactly the sum of the others.
_EXACT: Final = Context(prec=64)


class Contribution(NamedTuple):
    """What one object adds to its groups, and the objects that this was computed from.

    Sources are compared by identity: one object is one resourceVersion, and an assumed object is
    never the one that it hides.
    """

    groups: tuple[str, ...]
    vector: Vector
    sources: tuple[Object | None, ...] = ()


class Tally(Generic[T]):
    """The sums of a total whose vectors depend on their own object only."""

    def __init__(self, total: Total[T], reader: Reader) -> None:
        self._total = total
        self._reader = reader
        self._sums: dict[str, Vector] = {}
        self._counts: dict[str, int] = {}

    def read(self, obj: T) -> Contribution:
        """Compute an object's contribution; raises what the total's functions raise."""
        groups = tuple(dict.fromkeys(self._total.groups(obj)))
        return Contribution(groups, self._total.vector(obj, self._reader) if groups else _NOTHING)

    def change(
        self, _key: ObjectKey, old: T | None, new: T | None, part: Contribution | None
    ) -> None:
        """Replace an object's contribution."""
        self._swap(self.read(old) if old is not None else None, part)

    def get(self, group: str) -> Vector:
        return self._sums.get(group, _NOTHING)

    def contribution(self, _key: ObjectKey, obj: T) -> Vector:
        """Return what a stored object adds to each of its groups."""
        return self.read(obj).vector

    def all(self) -> Mapping[str, Vector]:
        """Return the sums of all groups; a sum that changes is a new object."""
        return self._sums

    def _swap(self, old: Contribution | None, new: Contribution | None) -> None:
        if new is not None:
            self._add(new)
        if old is not None:
            self._subtract(old)

    def _add(self, part: Contribution) -> None:
        for group in part.groups:
            self._counts[group] = self._counts.get(group, 0) + 1
            total = dict(self._sums.get(group, _NOTHING))
            for resource, amount in part.vector.items():
                total[resource] = _EXACT.add(total.get(resource, Decimal()), amount)
            self._sums[group] = total

    def _subtract(self, part: Contribution) -> None:
        for group in part.groups:
            self._counts[group] -= 1
            if not self._counts[group]:
                del self._counts[group], self._sums[group]
                continue
            total = dict(self._sums[group])
            for resource, amount in part.vector.items():
                total[resource] = _EXACT.subtract(total[resource], amount)
            self._sums[group] = total


class DependentTally(Tally[T]):
    """The sums of a total whose vectors are computed from other objects as well.

    A change of such an object only marks what depends on it; the next read of an affected group
    recomputes the marked vectors.
    """

    def __init__(self, total: Total[T], reader: Reader) -> None:
        super().__init__(total, reader)
        self._parts: dict[ObjectKey, tuple[T, Contribution]] = {}
        self._dependents: dict[KindKey, dict[ObjectKey, None]] = {}
        self._marked: dict[str, set[ObjectKey]] = {}

    @override
    def read(self, obj: T) -> Contribution:
        return super().read(obj)._replace(sources=self._sources(obj))

    @override
    def change(
        self, key: ObjectKey, old: T | None, new: T | None, part: Contribution | None
    ) -> None:
        kept = self._parts.pop(key, None)  # as it was added, whatever its sources are now
        self._swap(kept[1] if kept else None, part)
        if old is not None:
            self._detach(key, old)
        if new is not None and part is not None:
            self._parts[key] = (new, part)
            for reference in self._total.needs(new):
                self._dependents.setdefault(reference, {})[key] = None

    @override
    def get(self, group: str) -> Vector:
        if self._marked:
            for key in self._marked.pop(group, ()):
                self._refresh(key)
        return self._sums.get(group, _NOTHING)

    @override
    def contribution(self, key: ObjectKey, obj: T) -> Vector:
        if self._marked:
            self._refresh(key)
        return self._parts[key][1].vector

    @override
    def all(self) -> Mapping[str, Vector]:
        for group in [*self._marked]:
            self.get(group)
        return super().all()

    def mark(self, model: type[Object], key: ObjectKey) -> None:
        """Mark what depends on an object that has changed."""
        self._mark(self._dependents.get((model, key), ()))

    def mark_kind(self, model: type[Object]) -> None:
        """Mark what depends on any object of a kind."""
        for reference, keys in self._dependents.items():
            if reference[0] is model:
                self._mark(keys)

    def mark_all(self) -> None:
        """Mark everything."""
        self._mark(self._parts)

    def refresh_one(self) -> bool:
        """Recompute one marked vector ahead of any read; returns False if none is marked."""
        while self._marked:
            group, keys = next(iter(self._marked.items()))
            if keys:
                self._refresh(keys.pop())
                return True
            del self._marked[group]
        return False

    def _mark(self, keys: Iterable[ObjectKey]) -> None:
        for key in keys:
            for group in self._parts[key][1].groups:
                self._marked.setdefault(group, set()).add(key)

    def _refresh(self, key: ObjectKey) -> None:
        kept = self._parts.get(key)
        if kept is None:
            return
        obj, part = kept
        sources = self._sources(obj)
        if any(now is not then for now, then in zip(sources, part.sources, strict=True)):
            self.change(key, obj, obj, self.read(obj))

    def _detach(self, key: ObjectKey, old: T) -> None:
        for reference in self._total.needs(old):
            dependents = self._dependents.get(reference, {})
            dependents.pop(key, None)
            if not dependents:
                self._dependents.pop(reference, None)

    def _sources(self, obj: T) -> tuple[Object | None, ...]:
        return tuple(self._reader.get(model, key) for model, key in self._total.needs(obj))
