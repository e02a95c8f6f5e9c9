"""Exponential backoff per key, with jitter."""

import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

# Any sensible limit is reached long before; this keeps the power finite.
_MAX_DOUBLINGS: Final = 62


@dataclass(frozen=True, slots=True)
class Delays:
    """The delay after the n-th failure in a row: `first`, doubled each time, at most `limit`."""

    first: float = 0.05
    limit: float = 300.0
    jitter: float = 0.2
    """The share of the delay that is added at random, so that retries are spread."""

    def after(self, failures: int, chance: float) -> float:
        """Return the delay after so many failures; `chance` is a number from 0 to 1."""
        doubled = self.first * 2.0 ** min(max(failures - 1, 0), _MAX_DOUBLINGS)
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
        """Count one more failure and return the delay before the next attempt."""
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
