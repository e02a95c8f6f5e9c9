"""One index of one kind: the objects behind each of its values, updated with each change."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from webhook.kube.meta import Object, ObjectKey
from webhook.state.indexes import Index

T = TypeVar("T", bound=Object)


class Indexer(Generic[T]):
    """Looks up the objects of one kind by the values of one index.

    As long as the objects of a value stay the same, `get` returns the same tuple, so that results
    that were computed from it can be recognised as current.
    """

    __slots__ = ("_function", "_objects", "_tuples")

    def __init__(self, index: Index[T]) -> None:
        self._function = index.function
        self._objects: dict[str, dict[ObjectKey, T]] = {}
        self._tuples: dict[str, tuple[T, ...]] = {}

    def read(self, obj: T) -> tuple[str, ...]:
        """Return an object's values without duplicates; raises what the index function raises."""
        return tuple(dict.fromkeys(self._function(obj)))

    def change(
        self, key: ObjectKey, old: T | None, new: T | None, values: tuple[str, ...] | None
    ) -> None:
        """Replace an object's old values by its new ones."""
        if old is not None:
            remaining = values or ()
            self._remove(key, (value for value in self.read(old) if value not in remaining))
        if new is not None and values is not None:
            for value in values:
                self._objects.setdefault(value, {})[key] = new
                self._tuples.pop(value, None)

    def get(self, value: str) -> tuple[T, ...]:
        known = self._tuples.get(value)
        if known is None:
            found = self._objects.get(value)
            if not found:
                return ()
            known = self._tuples[value] = tuple(found.values())
        return known

    def has(self, value: str) -> bool:
        return value in self._objects

    def _remove(self, key: ObjectKey, values: Iterable[str]) -> None:
        for value in values:
            found = self._objects[value]
            del found[key]
            self._tuples.pop(value, None)
            if not found:
                del self._objects[value]
