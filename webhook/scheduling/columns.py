"""Answers about seeds, one bit a seed, asked for again only about seeds that have changed."""

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
    """Why a seed is refused; final if nothing that leaves the seed could change that."""

    reason: str
    final: bool = True


Check: TypeAlias = Callable[[Candidate], Rejection | None]


class Column(NamedTuple):
    """What one question answered: the seeds that pass, and the others by reason."""

    passed: Mask
    refused: Mapping[Rejection, Mask]


class Journal:
    """Which seeds have changed since when, as positions in a list that is cut off at its start."""

    __slots__ = ("_changed", "_first")

    def __init__(self) -> None:
        self._first = 0
        self._changed: list[int] = []

    @property
    def position(self) -> int:
        return self._first + len(self._changed)

    def note(self, index: int) -> None:
        self._changed.append(index)

    def since(self, position: int) -> list[int] | None:
        """Name the seeds that changed since a position; None if that is too long ago."""
        return None if position < self._first else self._changed[position - self._first :]

    def cut(self, most: int) -> None:
        if len(self._changed) > most:
            self._first += len(self._changed)
            self._changed.clear()


class Remembered(ABC):
    """Something about each seed that is brought up to date when it is asked for."""

    __slots__ = ("_journal", "_position")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._position = -1

    def catch_up(self, seeds: Sequence[Candidate]) -> None:
        position = self._journal.position
        if self._position == position:
            return
        changed = self._journal.since(self._position)
        if changed is None:
            self._begin(seeds)
        else:
            for index in changed:
                self._change(index, seeds[index])
        self._position = position

    @abstractmethod
    def _begin(self, seeds: Sequence[Candidate]) -> None:
        """Answer anew for all seeds."""

    @abstractmethod
    def _change(self, index: int, candidate: Candidate) -> None:
        """Answer anew for one seed."""


class Questioned(Remembered):
    """A question and what it answers for each seed.

    A change makes a fresh column: verdicts hold on to the one that they were based on.
    """

    __slots__ = ("_check", "column")

    def __init__(self, check: Check, journal: Journal) -> None:
        super().__init__(journal)
        self._check = check
        self.column = Column(0, {})

    @override
    def _begin(self, seeds: Sequence[Candidate]) -> None:
        passed = 0
        refused: dict[Rejection, Mask] = {}
        for index, candidate in enumerate(seeds):
            rejection = self._check(candidate)
            if rejection is None:
                passed |= 1 << index
            else:
                refused[rejection] = refused.get(rejection, 0) | 1 << index
        self.column = Column(passed, refused)

    @override
    def _change(self, index: int, candidate: Candidate) -> None:
        bit = 1 << index
        passed, before = self.column
        rejection = self._check(candidate)
        if rejection is None and passed & bit:
            return
        refused = {reason: rest for reason, mask in before.items() if (rest := mask & ~bit)}
        if rejection is None:
            passed |= bit
        else:
            passed &= ~bit
            refused[rejection] = refused.get(rejection, 0) | bit
        self.column = Column(passed, refused)


class Rated(Remembered):
    """A rule and the score that it gives to each seed; a change makes a fresh list."""

    __slots__ = ("_score", "scores")

    def __init__(self, score: Callable[[Candidate], int], journal: Journal) -> None:
        super().__init__(journal)
        self._score = score
        self.scores: list[int] = []

    @override
    def _begin(self, seeds: Sequence[Candidate]) -> None:
        self.scores = [self._score(candidate) for candidate in seeds]

    @override
    def _change(self, index: int, candidate: Candidate) -> None:
        self.scores = self.scores.copy()
        self.scores[index] = self._score(candidate)


def spell(mask: Mask) -> bytes:
    """Spell a set as one byte for each seed, lowest first, as `compress` wants it."""
    return bin(mask)[:1:-1].encode().translate(_BITS)


def gather(chosen: Iterable[bool]) -> Mask:
    """Make a set of one answer for each seed, lowest first."""
    return int(bytes(chosen)[::-1].translate(_DIGITS) or b"0", 2)
