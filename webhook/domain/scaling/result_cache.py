"""A cache of results that stay valid as long as what they were computed from is unchanged."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
S = TypeVar("S")
V = TypeVar("V")


class Span(NamedTuple):
    """The times for which a result is valid, without its end."""

    since: datetime
    until: datetime


class ResultCache(Generic[K, S, V]):
    """The last result for each key, of the keys that were used last.

    A result is valid for the very same immutable subject, within its span. A newer subject replaces
    the result of its predecessor, so nothing outdated is kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._results: OrderedDict[K, tuple[S, Span, V]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._results)

    def get(
        self, key: K, subject: S, now: datetime, compute: Callable[[S, datetime], tuple[V, Span]]
    ) -> V:
        """Return the result for a subject, computed again if it may have changed."""
        known = self._results.get(key)
        if known is not None and known[0] is subject and known[1].since <= now < known[1].until:
            self._results.move_to_end(key)
            return known[2]
        value, span = compute(subject, now)
        self._results[key] = (subject, span, value)
        self._results.move_to_end(key)
        if len(self._results) > self._size:
            self._results.popitem(last=False)
        return value
