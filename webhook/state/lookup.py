"""The objects behind each value of an index, kept by each change."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from webhook.api.meta import Object, ObjectKey
from webhook.state.indexes import Index

T = TypeVar("T", bound=Object)


class Lookup(Generic[T]):
    """Find the objects of one kind by the values that one index gives them."""

    __slots__ = ("_function", "_objects")

    def __init__(self, index: Index[T]) -> None:
        self._function = index.function
        self._objects: dict[str, dict[ObjectKey, T]] = {}

    def read(self, obj: T) -> tuple[str, ...]:
        """Give an object's values, each once; raises whatever the index function raises."""
        return tuple(dict.fromkeys(self._function(obj)))

    def change(
        self, key: ObjectKey, old: T | None, new: T | None, values: tuple[str, ...] | None
    ) -> None:
        """Move an object from its old values to its new ones."""
        if old is not None:
            kept = values or ()
            self._remove(key, (value for value in self.read(old) if value not in kept))
        if new is not None and values is not None:
            for value in values:
                self._objects.setdefault(value, {})[key] = new

    def get(self, value: str) -> tuple[T, ...]:
        behind = self._objects.get(value)
        return tuple(behind.values()) if behind else ()

    def has(self, value: str) -> bool:
        return value in self._objects

    def _remove(self, key: ObjectKey, values: Iterable[str]) -> None:
        for value in values:
            behind = self._objects[value]
            del behind[key]
            if not behind:
                del self._objects[value]
