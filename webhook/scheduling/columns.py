"""Cached filter results and scores for all seeds, recomputed only for seeds that changed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from typing_extensions import override

from webhook.scheduling.candidates import Candidate

Mask: TypeAlias = int
"""A set of seeds: bit i stands for the i-th seed by name."""

_BITS: Final = bytes.maketrans(b"01", b"\x00\x01")
_DIGITS: Final = bytes.maketrans(b"\x00\x01", b"01")


class Rejection(NamedTuple):
    """Why a seed is rejected; `final` unless shoots that leave the seed could change that."""

    reason: str
    final: bool = True


Check: TypeAlias = Callable[[Candidate], Rejection | None]


class FilterResult(NamedTuple):
    """The seeds that pass a filter, and the rejected ones by reason."""

    passed: Mask
    rejected: Mapping[Rejection, Mask]


class ChangeLog:
    """The indexes of seeds that changed, in order; old entries are dropped.

    Readers keep the position up to which they have read.
    """

    __slots__ = ("_changed", "_first")

    def __init__(self) -> None:
        self._first = 0
        self._changed: list[int] = []

    @property
    def position(self) -> int:
        return self._first + len(self._changed)

    def append(self, index: int) -> None:
        self._changed.append(index)

    def since(self, position: int) -> list[int] | None:
        """Return the seeds that changed since a position; None if those entries were dropped."""
        return None if position < self._first else self._changed[position - self._first :]

    def truncate(self, most: int) -> None:
        """Drop all entries once there are more than `most`."""
        if len(self._changed) > most:
            self._first += len(self._changed)
            self._changed.clear()


class CachedColumn(ABC):
    """A value for each seed that is brought up to date when it is read."""

    __slots__ = ("_log", "_position")

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self._position = -1

    def update(self, seeds: Sequence[Candidate]) -> None:
        """Recompute the values of the seeds that changed since the last update."""
        position = self._log.position
        if self._position == position:
            return
        changed = self._log.since(self._position)
        if changed is None:
            self._compute_all(seeds)
        else:
            for index in changed:
                self._compute_one(index, seeds[index])
        self._position = position

    @abstractmethod
    def _compute_all(self, seeds: Sequence[Candidate]) -> None:
        """Compute the values of all seeds."""

    @abstractmethod
    def _compute_one(self, index: int, candidate: Candidate) -> None:
        """Compute the value of one seed."""


class FilterColumn(CachedColumn):
    """The result of one filter for all seeds.

    An update makes a new `FilterResult`: schedule results keep a reference to the one they used.
    """

    __slots__ = ("_check", "result")

    def __init__(self, check: Check, log: ChangeLog) -> None:
        super().__init__(log)
        self._check = check
        self.result = FilterResult(0, {})

    @override
    def _compute_all(self, seeds: Sequence[Candidate]) -> None:
        passed = 0
        rejected: dict[Rejection, Mask] = {}
        for index, candidate in enumerate(seeds):
            rejection = self._check(candidate)
            if rejection is None:
                passed |= 1 << index
            else:
                rejected[rejection] = rejected.get(rejection, 0) | 1 << index
        self.result = FilterResult(passed, rejected)

    @override
    def _compute_one(self, index: int, candidate: Candidate) -> None:
        bit = 1 << index
        passed, before = self.result
        rejection = self._check(candidate)
        if rejection is None and passed & bit:
            return
        rejected = {reason: rest for reason, mask in before.items() if (rest := mask & ~bit)}
        if rejection is None:
            passed |= bit
        else:
            passed &= ~bit
            rejected[rejection] = rejected.get(rejection, 0) | bit
        self.result = FilterResult(passed, rejected)


class ScoreColumn(CachedColumn):
    """The scores of one scorer for all seeds; an update makes a new list."""

    __slots__ = ("_score", "scores")

    def __init__(self, score: Callable[[Candidate], int], log: ChangeLog) -> None:
        super().__init__(log)
        self._score = score
        self.scores: list[int] = []

    @override
    def _compute_all(self, seeds: Sequence[Candidate]) -> None:
        self.scores = [self._score(candidate) for candidate in seeds]

    @override
    def _compute_one(self, index: int, candidate: Candidate) -> None:
        self.scores = self.scores.copy()
        self.scores[index] = self._score(candidate)


def to_selectors(mask: Mask) -> bytes:
    """Write a mask as one byte for each seed, lowest first, as `itertools.compress` takes it."""
    return bin(mask)[:1:-1].encode().translate(_BITS)


def to_mask(chosen: Iterable[bool]) -> Mask:
    """Return the mask of the seeds that are chosen, given one value for each seed, lowest first."""
    return int(bytes(chosen)[::-1].translate(_DIGITS) or b"0", 2)
