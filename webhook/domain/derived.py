"""What follows from an object alone, worked out once for as long as it is that very object."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

Source = TypeVar("Source")
Result = TypeVar("Result")


class Derived(Generic[Source, Result]):
    """Remember what a pure function made of read-only objects, by their identity.

    Objects in memory stay the same until they change, and then they are others: so to be the very
    same is enough, and costs less than to be equal. What was made of an object is forgotten with
    it, so that there is never more of it than there are objects, and that no other object can be
    taken for one whose identity it got. Hence what is made must not hold its source.
    """

    __slots__ = ("_function", "_known")

    def __init__(self, function: Callable[[Source], Result]) -> None:
        self._function = function
        self._known: dict[int, tuple[ref[Source], Result]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, source: Source) -> Result:
        found = self._known.get(id(source))
        if found is not None:
            return found[1]
        result = self._function(source)
        self._known[id(source)] = ref(source, self._forgetting(id(source))), result
        return result

    def _forgetting(self, identity: int) -> Callable[[ref[Source]], None]:
        def forget(_: ref[Source]) -> None:
            self._known.pop(identity, None)

        return forget
