"""All seeds side by side, with what was found out about them remembered.

A decision asks a dozen questions about hundreds of seeds, and nearly always gets the answers that
the last one got. So answers are kept as columns: for one question, one bit for each seed. A seed
that changes makes only its own bits be asked for again.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import compress
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from typing_extensions import override

from webhook.api.seeds import Seed
from webhook.scheduling import candidates
from webhook.scheduling.candidates import Candidate

Mask: TypeAlias = int
"""A set of seeds: bit i stands for the i-th seed by name."""

Used: TypeAlias = Mapping[str, Mapping[str, Decimal]]
"""What shoots use, by seed and resource."""

A = TypeVar("A", bound=Hashable)
V = TypeVar("V")

_NOTHING: Final[Mapping[str, Decimal]] = {}
_BITS: Final = bytes.maketrans(b"01", b"\x00\x01")
_MOST_REMEMBERED: Final = 4096


class Rejection(NamedTuple):
    """Why a seed is refused; final if nothing that leaves the seed could change that."""

    reason: str
    final: bool = True


Check: TypeAlias = Callable[[Candidate], Rejection | None]


class Column(NamedTuple):
    """What one question answered: the seeds that pass, and the others by reason."""

    passed: Mask
    refused: Mapping[Rejection, Mask]


class _Journal:
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


class _Remembered:
    """Something about each seed that is brought up to date when it is asked for."""

    __slots__ = ("_journal", "_position")

    def __init__(self, journal: _Journal) -> None:
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

    def _begin(self, seeds: Sequence[Candidate]) -> None:
        raise NotImplementedError

    def _change(self, index: int, candidate: Candidate) -> None:
        raise NotImplementedError


class _Questioned(_Remembered):
    """A question and what it answers for each seed.

    A change makes a fresh column: verdicts hold on to the one that they were based on.
    """

    __slots__ = ("_check", "column")

    def __init__(self, check: Check, journal: _Journal) -> None:
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


class _Rated(_Remembered):
    """A rule and the score that it gives to each seed; a change makes a fresh list."""

    __slots__ = ("_score", "scores")

    def __init__(self, score: Callable[[Candidate], int], journal: _Journal) -> None:
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


class Landscape:
    """The seeds in the order of their names, and columns of answers about them."""

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self.names: Sequence[str] = ()
        self.indexes: Mapping[str, int] = {}
        self.all: Mask = 0
        self._seen: list[Seed] = []
        self._order: list[int] = []
        self._used: list[Mapping[str, Decimal] | None] = []
        self._specs = _Journal()
        self._usage = _Journal()
        self._columns: dict[Hashable, _Questioned] = {}
        self._ratings: dict[Hashable, _Rated] = {}
        self._derived: dict[Hashable, tuple[int, Any]] = {}

    @classmethod
    def of(cls, seeds: Iterable[Seed], used: Used) -> "Landscape":
        """Look at some seeds for the first time."""
        landscape = cls()
        landscape.refresh(seeds, used)
        return landscape

    def refresh(self, seeds: Iterable[Seed], used: Used) -> None:
        """Take in what has changed; cheap if little or nothing has."""
        seen = list(seeds)
        # Compares by identity first: unchanged seeds are the same objects.
        if seen != self._seen:
            self._adopt(seen)
        now = list(map(used.get, self.names))
        if now != self._used:
            self._count(now)

    def positions(self, mask: Mask) -> Iterator[int]:
        """List the places of a set's seeds in the order of names."""
        return compress(range(len(self.names)), spell(mask))

    def mask(self, names: Iterable[str]) -> Mask:
        """Return the set of the seeds with these names; unknown ones are left out."""
        bits = bytearray(len(self.names) // 8 + 1)
        for index in map(self.indexes.get, names):
            if index is not None:
                bits[index >> 3] |= 1 << (index & 7)
        return int.from_bytes(bits, "little")

    def column(
        self, key: Hashable, prepare: Callable[[A], Check], aspect: A, *, usage: bool
    ) -> Column:
        """Return the answers to a question, asking only about seeds that have changed."""
        known = self._columns.get(key)
        if known is None:
            journal = self._usage if usage else self._specs
            known = _Questioned(prepare(aspect), journal)
            _remember(self._columns, key, known)
        known.catch_up(self.candidates)
        return known.column

    def rate(self, key: Hashable, score: Callable[[Candidate], int]) -> Sequence[int]:
        """Return a score for every seed, computing only those of seeds that have changed."""
        known = self._ratings.get(key)
        if known is None:
            known = _Rated(score, self._usage)
            _remember(self._ratings, key, known)
        known.catch_up(self.candidates)
        return known.scores

    def choose(self, key: Hashable, chosen: Callable[[Candidate], bool]) -> Mask:
        """Return the seeds that a condition on them alone holds for."""

        def pick() -> Mask:
            return sum(1 << index for index, found in enumerate(self.candidates) if chosen(found))

        return self.derive(key, pick)

    def derive(self, key: Hashable, compute: Callable[[], V]) -> V:
        """Return what is computed from all seeds, anew only if one has changed."""
        known = self._derived.get(key)
        if known is not None and known[0] == self._specs.position:
            return cast("V", known[1])
        value = compute()
        _remember(self._derived, key, (self._specs.position, value))
        return value

    def _adopt(self, seen: list[Seed]) -> None:
        if len(seen) != len(self._seen) or any(
            seed.name != old.name for seed, old in zip(seen, self._seen, strict=True)
        ):
            self._start_over(seen)
        else:
            for place, (seed, old) in enumerate(zip(seen, self._seen, strict=True)):
                if seed is not old:
                    self._change(self._order[place], seed, old)
        self._seen = seen

    def _start_over(self, seen: list[Seed]) -> None:
        ordered = sorted(seen, key=lambda seed: seed.name)
        self.names = [seed.name for seed in ordered]
        self.indexes = {name: index for index, name in enumerate(self.names)}
        self._order = [self.indexes[seed.name] for seed in seen]
        self.candidates = [candidates.read(seed) for seed in ordered]
        self.all = (1 << len(ordered)) - 1
        self._used = []
        self._columns.clear()
        self._ratings.clear()
        self._derived.clear()

    def _change(self, index: int, seed: Seed, old: Seed) -> None:
        used = self.candidates[index].used
        self.candidates[index] = candidates.read(seed, used)
        if not candidates.is_same(seed, old):
            # What seeds can take is part of both kinds of question.
            self._specs.note(index)
            self._usage.note(index)
            self._cut()

    def _count(self, now: list[Mapping[str, Decimal] | None]) -> None:
        known = self._used or [None] * len(now)
        for index, (new, old) in enumerate(zip(now, known, strict=True)):
            if new is not old:
                self.candidates[index] = replace(self.candidates[index], used=new or _NOTHING)
                self._usage.note(index)
        self._used = now
        self._cut()

    def _cut(self) -> None:
        most = 4 * len(self.names) + 64
        self._specs.cut(most)
        self._usage.cut(most)


def _remember(memory: dict[Hashable, V], key: Hashable, value: V) -> None:
    if len(memory) >= _MOST_REMEMBERED:
        memory.clear()
    memory[key] = value


def spell(mask: Mask) -> bytes:
    """Spell a set as one byte for each seed, lowest first, as `compress` wants it."""
    return bin(mask)[:1:-1].encode().translate(_BITS)
