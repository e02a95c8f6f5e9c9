"""The objects of one kind by key, by index and in sums."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from webhook.api.decode import Fault
from webhook.api.meta import Object, ObjectKey
from webhook.domain.options import Options
from webhook.state.indexes import Index
from webhook.state.lookup import Lookup
from webhook.state.tally import DependentTally, Tally
from webhook.state.totals import Reader, Total, Vector, needs_nothing

T = TypeVar("T", bound=Object)
Other = TypeVar("Other", bound=Object)


class Entry(NamedTuple, Generic[T]):
    """What is known of one object: its Struct or why it has none, and its bytes where kept."""

    object: T | None
    raw: bytes | None = None
    faults: tuple[Fault, ...] = ()


class Alone:
    """A reader for stores that stand on their own: it knows no other objects."""

    options = Options()

    def get(self, _model: type[Other], _key: ObjectKey) -> Other | None:
        return None


class Store(Generic[T]):
    """Keep one kind's objects, with every index and sum of theirs in step.

    A change either happens in all of them or, if one of the tables' functions raises, in none.
    """

    def __init__(
        self,
        model: type[T],
        indexes: Iterable[Index[Any]] = (),
        totals: Iterable[Total[Any]] = (),
        reader: Reader | None = None,
    ) -> None:
        self.model = model
        self.reader: Reader = reader or Alone()
        self.generation = 0
        self._objects: dict[ObjectKey, T] = {}
        self.get: Callable[[ObjectKey], T | None] = self._objects.get
        self._raws: dict[ObjectKey, bytes] = {}
        self._malformed: dict[ObjectKey, tuple[Fault, ...]] = {}
        self._lookups: dict[str, Lookup[T]] = {index.name: Lookup(index) for index in indexes}
        self._tallies: dict[str, Tally[T]] = {
            total.name: _tally(total, self.reader) for total in totals
        }
        self._keepers: tuple[Lookup[T] | Tally[T], ...] = (
            *self._lookups.values(),
            *self._tallies.values(),
        )

    def __len__(self) -> int:
        return len(self._objects)

    def list(self) -> Collection[T]:
        return self._objects.values()

    def keys(self) -> Collection[ObjectKey]:
        """Name all objects, the malformed ones included."""
        return self._objects.keys() | self._malformed.keys()

    def raw(self, key: ObjectKey) -> bytes | None:
        return self._raws.get(key)

    @property
    def malformed(self) -> Mapping[ObjectKey, tuple[Fault, ...]]:
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

    def share(self, name: str, key: ObjectKey) -> Vector:
        obj = self._objects.get(key)
        return self._tallies[name].share(key, obj) if obj is not None else {}

    def totals(self, name: str) -> Mapping[str, Vector]:
        return self._tallies[name].all()

    def entry(self, key: ObjectKey) -> Entry[T] | None:
        """Give all that is known of an object."""
        obj, faults = self._objects.get(key), self._malformed.get(key, ())
        return Entry(obj, self._raws.get(key), faults) if obj is not None or faults else None

    def put(self, key: ObjectKey, obj: T, raw: bytes | None = None) -> T | None:
        """Keep an object and give the one that it replaces."""
        return self.set(key, Entry(obj, raw))

    def drop(self, key: ObjectKey) -> T | None:
        """Keep an object no longer, and give it."""
        return self.set(key, None)

    def set(self, key: ObjectKey, entry: Entry[T] | None) -> T | None:
        """Make an object be as the entry says, or be gone, and give what it was."""
        new = entry.object if entry else None
        old = self._objects.get(key)
        readings: list[Any] = [
            None if new is None else keeper.read(new) for keeper in self._keepers
        ]
        for keeper, reading in zip(self._keepers, readings, strict=True):
            keeper.change(key, old, new, reading)
        _keep(self._objects, key, new)
        _keep(self._raws, key, entry.raw if entry else None)
        _keep(self._malformed, key, entry.faults or None if entry else None)
        self.generation += 1
        return old

    def replace(self, objects: Iterable[T]) -> None:
        """Hold exactly these objects; what is not among them is gone."""
        fresh = {obj.key: obj for obj in objects}
        for key in self._objects.keys() - fresh.keys() | self._malformed.keys():
            self.drop(key)
        for key, obj in fresh.items():
            self.put(key, obj)


V = TypeVar("V")


def _keep(where: dict[ObjectKey, V], key: ObjectKey, value: V | None) -> None:
    if value is None:
        where.pop(key, None)
    else:
        where[key] = value


def _tally(total: Total[T], reader: Reader) -> Tally[T]:
    kind = Tally if total.needs is needs_nothing else DependentTally
    return kind(total, reader)
