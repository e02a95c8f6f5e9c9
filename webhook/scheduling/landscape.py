"""All seeds side by side, with what was found out about them remembered.

A decision asks a dozen questions about hundreds of seeds, and nearly always gets the answers that
the last one got. So answers are kept as columns: for one question, one bit for each seed. A seed
that changes makes only its own bits be asked for again.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import compress
from operator import is_not
from typing import Any, Final, TypeAlias, TypeVar, cast

from webhook.api.seeds import Seed
from webhook.scheduling import candidates
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import (
    Check,
    Column,
    Journal,
    Mask,
    Questioned,
    Rated,
    gather,
    spell,
)

Used: TypeAlias = Mapping[str, Mapping[str, Decimal]]
"""What shoots use, by seed and resource."""

A = TypeVar("A", bound=Hashable)
V = TypeVar("V")

_NOTHING: Final[Mapping[str, Decimal]] = {}
_MOST_REMEMBERED: Final = 4096


class Landscape:
    """The seeds in the order of their names, and columns of answers about them."""

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self.names: Sequence[str] = ()
        self.indexes: Mapping[str, int] = {}
        self.all: Mask = 0
        self._seen: list[Seed] = []
        self._order: list[int] = []
        self._groups: list[str] = []
        self._sums: list[Mapping[str, Decimal]] = []
        self._specs = Journal()
        self._usage = Journal()
        self._columns: dict[Hashable, Questioned] = {}
        self._ratings: dict[Hashable, Rated] = {}
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
        self._count(used)

    def positions(self, mask: Mask) -> Iterator[int]:
        """List the places of a set's seeds in the order of names."""
        return compress(range(len(self.names)), spell(mask))

    def mask(self, names: Iterable[str]) -> Mask:
        """Return the set of the seeds with these names; unknown ones are left out."""
        wanted = frozenset(names)
        return gather(map(wanted.__contains__, self.names))

    def column(
        self, key: Hashable, prepare: Callable[[A], Check], aspect: A, *, usage: bool
    ) -> Column:
        """Return the answers to a question, asking only about seeds that have changed."""
        known = self._columns.get(key)
        if known is None:
            journal = self._usage if usage else self._specs
            known = Questioned(prepare(aspect), journal)
            _remember(self._columns, key, known)
        known.catch_up(self.candidates)
        return known.column

    def rate(self, key: Hashable, score: Callable[[Candidate], int]) -> Sequence[int]:
        """Return a score for every seed, computing only those of seeds that have changed."""
        known = self._ratings.get(key)
        if known is None:
            known = Rated(score, self._usage)
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
        self._groups = []
        self._sums = []
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

    def _count(self, used: Used) -> None:
        # A sum that has changed is another object: thousands are told apart without a loop.
        groups, sums = [*used], [*used.values()]
        changed: Iterable[str] = self.names
        if groups == self._groups:
            changed = compress(groups, map(is_not, sums, self._sums))
        for name in changed:
            index = self.indexes.get(name)
            new = used.get(name, _NOTHING)
            if index is not None and self.candidates[index].used is not new:
                self.candidates[index] = replace(self.candidates[index], used=new)
                self._usage.note(index)
        self._groups, self._sums = groups, sums
        self._cut()

    def _cut(self) -> None:
        most = 4 * len(self.names) + 64
        self._specs.cut(most)
        self._usage.cut(most)


def _remember(memory: dict[Hashable, V], key: Hashable, value: V) -> None:
    if len(memory) >= _MOST_REMEMBERED:
        memory.clear()
    memory[key] = value
