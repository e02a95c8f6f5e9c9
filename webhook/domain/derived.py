"""A cache of what pure functions compute from read-only objects."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

Source = TypeVar("Source")
Computed = TypeVar("Computed")


class Derived(Generic[Source, Computed]):
    """Caches the results of a pure function by the identity of its argument.

    An object of the cache never changes; a changed one is a new object. Identity is therefore
    enough, and cheaper than equality. A result is dropped together with its source, so that the
    cache never has more entries than there are objects and a reused id cannot match. For that, a
    result must not refer to its source.

    Nothing is cached by the content of a review: callers choose it, and no two are alike.
    """

    __slots__ = ("_function", "_results")

    def __init__(self, function: Callable[[Source], Computed]) -> None:
        self._function = function
        self._results: dict[int, tuple[ref[Source], Computed]] = {}

    def __len__(self) -> int:
        return len(self._results)

    def __call__(self, source: Source) -> Computed:
        entry = self._results.get(id(source))
        if entry is not None:
            return entry[1]
        result = self._function(source)
        self._results[id(source)] = ref(source, self._forget_callback(id(source))), result
        return result

    def _forget_callback(self, identity: int) -> Callable[[ref[Source]], None]:
        def forget(_: ref[Source]) -> None:
            self._results.pop(identity, None)

        return forget
