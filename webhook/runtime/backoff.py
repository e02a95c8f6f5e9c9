"""Delays that double with each failure of the same key, with jitter, until it succeeds."""

import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

# Beyond this many doublings every sensible limit is long reached; it keeps the power finite.
_MOST_DOUBLINGS = 62


@dataclass(frozen=True, slots=True)
class Delays:
    """How long to wait after the n-th failure in a row: first, doubled, at most `limit`."""

    first: float = 0.05
    limit: float = 300.0
    jitter: float = 0.2
    """The share of the delay that is added at random, so that failures do not march in step."""

    def after(self, failures: int, chance: float) -> float:
        """Say the delay after so many failures; `chance` is from 0 to 1."""
        doubled = self.first * 2.0 ** min(max(failures - 1, 0), _MOST_DOUBLINGS)
        return min(doubled, self.limit) * (1 + self.jitter * chance)


class Backoff(Generic[K]):
    """Counts failures by key."""

    def __init__(
        self, delays: Delays | None = None, chance: Callable[[], float] = random.random
    ) -> None:
        self._delays = delays or Delays()
        self._chance = chance
        self._failures: dict[K, int] = {}

    def next(self, key: K) -> float:
        """Count one more failure and say how long to wait now."""
        failures = self._failures.get(key, 0) + 1
        self._failures[key] = failures
        return self._delays.after(failures, self._chance())

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """Start from the first delay again."""
        self._failures.pop(key, None)

    def __len__(self) -> int:
        return len(self._failures)
