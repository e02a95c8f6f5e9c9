"""What follows from an object alone, worked out once for as long as it is that very object."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

Source = TypeVar("Source")
Result = TypeVar("Result")

_MOST: Final = 64


class Derived(Generic[Source, Result]):
    """Remember what a pure function made of read-only objects, by their identity.

    Objects in memory stay the same until they change, and then they are others: so to be the very
    same is enough, and costs less than to be equal. The source is kept along with what was made of
    it, so that no other object can get its identity meanwhile.
    """

    __slots__ = ("_function", "_known")

    def __init__(self, function: Callable[[Source], Result]) -> None:
        self._function = function
        self._known: dict[int, tuple[Source, Result]] = {}

    def __call__(self, source: Source) -> Result:
        found = self._known.get(id(source))
        if found is not None:
            return found[1]
        if len(self._known) >= _MOST:
            self._known.clear()
        result = self._function(source)
        self._known[id(source)] = (source, result)
        return result
