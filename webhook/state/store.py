"""The objects of one kind, by key and by index, with their sums."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from webhook.api.decode import MalformedField
from webhook.domain.options import Options
from webhook.kube.meta import Object, ObjectKey
from webhook.state.indexer import Indexer
from webhook.state.indexes import Index
from webhook.state.tally import DependentTally, Tally
from webhook.state.totals import Reader, Total, Vector, needs_nothing

T = TypeVar("T", bound=Object)
Other = TypeVar("Other", bound=Object)


class StoreEntry(NamedTuple, Generic[T]):
    """One object: its Struct, or why it does not decode, and its JSON where that is kept."""

    object: T | None
    raw: bytes | None = None
    faults: tuple[MalformedField, ...] = ()


class EmptyReader:
    """The reader of a store without other kinds beside it: it finds nothing."""

    options = Options()

    def get(self, _model: type[Other], _key: ObjectKey) -> Other | None:
        return None


class Store(Generic[T]):
    """The objects of one kind, with indexes and sums that always match them.

    A change applies to all of them or, if a function of an index or total raises, to none.
    """

    def __init__(
        self,
        model: type[T],
        indexes: Iterable[Index[Any]] = (),
        totals: Iterable[Total[Any]] = (),
        reader: Reader | None = None,
    ) -> None:
        self.model = model
        self.reader: Reader = reader or EmptyReader()
        self.generation = 0
        self._objects: dict[ObjectKey, T] = {}
        self.get: Callable[[ObjectKey], T | None] = self._objects.get
        self._raws: dict[ObjectKey, bytes] = {}
        self._malformed: dict[ObjectKey, tuple[MalformedField, ...]] = {}
        self._lookups: dict[str, Indexer[T]] = {index.name: Indexer(index) for index in indexes}
        self._tallies: dict[str, Tally[T]] = {
            total.name: _tally(total, self.reader) for total in totals
        }
        self._derived: tuple[Indexer[T] | Tally[T], ...] = (
            *self._lookups.values(),
            *self._tallies.values(),
        )

    def __len__(self) -> int:
        return len(self._objects)

    def list(self) -> Collection[T]:
        return self._objects.values()

    def keys(self) -> Collection[ObjectKey]:
        """Return the keys of all objects, including malformed ones."""
        return self._objects.keys() | self._malformed.keys()

    def raw(self, key: ObjectKey) -> bytes | None:
        return self._raws.get(key)

    @property
    def malformed(self) -> Mapping[ObjectKey, tuple[MalformedField, ...]]:
        return self._malformed

    @property
    def dependent_tallies(self) -> Iterable[DependentTally[T]]:
        return (tally for tally in self._tallies.values() if isinstance(tally, DependentTally))

    def by_index(self, name: str, value: str) -> tuple[T, ...]:
        return self._lookups[name].get(value)

    def has(self, name: str, value: str) -> bool:
        return self._lookups[name].has(value)

    def total(self, name: str, group: str) -> Vector:
        return self._tallies[name].get(group)

    def contribution(self, name: str, key: ObjectKey) -> Vector:
        obj = self._objects.get(key)
        return self._tallies[name].contribution(key, obj) if obj is not None else {}

    def totals(self, name: str) -> Mapping[str, Vector]:
        return self._tallies[name].all()

    def entry(self, key: ObjectKey) -> StoreEntry[T] | None:
        """Return the entry of an object."""
        obj, faults = self._objects.get(key), self._malformed.get(key, ())
        return StoreEntry(obj, self._raws.get(key), faults) if obj is not None or faults else None

    def put(self, key: ObjectKey, obj: T, raw: bytes | None = None) -> T | None:
        """Store an object; returns the one that it replaces."""
        return self.set(key, StoreEntry(obj, raw))

    def drop(self, key: ObjectKey) -> T | None:
        """Remove an object; returns it."""
        return self.set(key, None)

    def set(self, key: ObjectKey, entry: StoreEntry[T] | None) -> T | None:
        """Store or, with None, remove an object; returns what it was before."""
        new = entry.object if entry else None
        old = self._objects.get(key)
        readings: list[Any] = [None if new is None else part.read(new) for part in self._derived]
        for part, reading in zip(self._derived, readings, strict=True):
            part.change(key, old, new, reading)
        _set_or_remove(self._objects, key, new)
        _set_or_remove(self._raws, key, entry.raw if entry else None)
        _set_or_remove(self._malformed, key, entry.faults or None if entry else None)
        self.generation += 1
        return old

    def replace(self, objects: Iterable[T]) -> None:
        """Store exactly these objects; all others are removed."""
        fresh = {obj.key: obj for obj in objects}
        for key in self._objects.keys() - fresh.keys() | self._malformed.keys():
            self.drop(key)
        for key, obj in fresh.items():
            self.put(key, obj)


V = TypeVar("V")


def _set_or_remove(where: dict[ObjectKey, V], key: ObjectKey, value: V | None) -> None:
    if value is None:
        where.pop(key, None)
    else:
        where[key] = value


def _tally(total: Total[T], reader: Reader) -> Tally[T]:
    kind = Tally if total.needs is needs_nothing else DependentTally
    return kind(total, reader)
