"""All seeds with cached filter results and scores.

A decision runs a dozen filters over hundreds of seeds, and nearly always gets the results of the
decision before. So results are cached as columns: for one filter and one aspect of a shoot, one bit
for each seed. When a seed changes, only its own bits are computed again.
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
    ChangeLog,
    Check,
    FilterColumn,
    FilterResult,
    Mask,
    ScoreColumn,
    to_mask,
    to_selectors,
)

UsageBySeed: TypeAlias = Mapping[str, Mapping[str, Decimal]]
"""The amounts that shoots use, by seed and resource."""

A = TypeVar("A", bound=Hashable)
V = TypeVar("V")

_NOTHING: Final[Mapping[str, Decimal]] = {}
_MAX_CACHED: Final = 4096


class SeedTable:
    """The seeds ordered by name, and columns of cached results about them."""

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self.names: Sequence[str] = ()
        self.indexes: Mapping[str, int] = {}
        self.all: Mask = 0
        self._seen: list[Seed] = []
        self._order: list[int] = []
        self._used_seeds: list[str] = []
        self._used_amounts: list[Mapping[str, Decimal]] = []
        self._spec_changes = ChangeLog()
        self._all_changes = ChangeLog()
        self._filters: dict[Hashable, FilterColumn] = {}
        self._scores: dict[Hashable, ScoreColumn] = {}
        self._derived: dict[Hashable, tuple[int, Any]] = {}

    @classmethod
    def of(cls, seeds: Iterable[Seed], used: UsageBySeed) -> "SeedTable":
        """Make a table of some seeds."""
        table = cls()
        table.refresh(seeds, used)
        return table

    def refresh(self, seeds: Iterable[Seed], used: UsageBySeed) -> None:
        """Bring the table up to date; cheap if little or nothing has changed."""
        seen = list(seeds)
        # List comparison tests identity first, and unchanged seeds are the same objects.
        if seen != self._seen:
            self._set_seeds(seen, used)
        self._set_usage(used)

    def positions(self, mask: Mask) -> Iterator[int]:
        """Return the indexes of the seeds of a mask, in the order of their names."""
        return compress(range(len(self.names)), to_selectors(mask))

    def mask(self, names: Iterable[str]) -> Mask:
        """Return the mask of the seeds with these names; unknown names are ignored."""
        wanted = frozenset(names)
        return to_mask(map(wanted.__contains__, self.names))

    def filter(
        self, key: Hashable, prepare: Callable[[A], Check], aspect: A, *, depends_on_usage: bool
    ) -> FilterResult:
        """Return the result of a filter, checking only seeds that have changed."""
        column = self._filters.get(key)
        if column is None:
            log = self._all_changes if depends_on_usage else self._spec_changes
            column = FilterColumn(prepare(aspect), log)
            _cache(self._filters, key, column)
        column.update(self.candidates)
        return column.result

    def score(self, key: Hashable, score: Callable[[Candidate], int]) -> Sequence[int]:
        """Return a score for every seed, computing only those of seeds that have changed."""
        column = self._scores.get(key)
        if column is None:
            column = ScoreColumn(score, self._all_changes)
            _cache(self._scores, key, column)
        column.update(self.candidates)
        return column.scores

    def select(self, key: Hashable, condition: Callable[[Candidate], bool]) -> Mask:
        """Return the mask of the seeds that fulfil a condition."""

        def compute() -> Mask:
            return sum(1 << index for index, seed in enumerate(self.candidates) if condition(seed))

        return self.derive(key, compute)

    def derive(self, key: Hashable, compute: Callable[[], V]) -> V:
        """Return a value computed from all seeds, again only if the spec of one has changed."""
        known = self._derived.get(key)
        if known is not None and known[0] == self._spec_changes.position:
            return cast("V", known[1])
        value = compute()
        _cache(self._derived, key, (self._spec_changes.position, value))
        return value

    def _set_seeds(self, seen: list[Seed], used: UsageBySeed) -> None:
        if len(seen) != len(self._seen) or any(
            seed.name != old.name for seed, old in zip(seen, self._seen, strict=True)
        ):
            self._replace_all(seen, used)
        else:
            for position, (seed, old) in enumerate(zip(seen, self._seen, strict=True)):
                if seed is not old:
                    self._replace_one(self._order[position], seed, old)
        self._seen = seen

    def _replace_all(self, seen: list[Seed], used: UsageBySeed) -> None:
        known = {candidate.name: candidate for candidate in self.candidates}
        ordered = sorted(seen, key=lambda seed: seed.name)
        self.names = [seed.name for seed in ordered]
        self.indexes = {name: index for index, name in enumerate(self.names)}
        self._order = [self.indexes[seed.name] for seed in seen]
        self.candidates = [
            found
            if (found := known.get(seed.name)) is not None and found.seed is seed
            else candidates.read(seed, used.get(seed.name, _NOTHING))
            for seed in ordered
        ]
        self.all = (1 << len(ordered)) - 1
        self._used_seeds = []
        self._used_amounts = []
        self._filters.clear()
        self._scores.clear()
        self._derived.clear()

    def _replace_one(self, index: int, seed: Seed, old: Seed) -> None:
        used = self.candidates[index].used
        self.candidates[index] = candidates.read(seed, used)
        if not candidates.is_same(seed, old):
            # Results that depend on usage also depend on the spec and on what is allocatable.
            self._spec_changes.append(index)
            self._all_changes.append(index)
            self._truncate_logs()

    def _set_usage(self, used: UsageBySeed) -> None:
        # A sum that has changed is a new object, so identity finds changes without a Python loop.
        seeds, amounts = [*used], [*used.values()]
        changed: Iterable[str] = self.names
        if seeds == self._used_seeds:
            changed = compress(seeds, map(is_not, amounts, self._used_amounts))
        for name in changed:
            index = self.indexes.get(name)
            new = used.get(name, _NOTHING)
            if index is not None and self.candidates[index].used is not new:
                self.candidates[index] = replace(self.candidates[index], used=new)
                self._all_changes.append(index)
        self._used_seeds, self._used_amounts = seeds, amounts
        self._truncate_logs()

    def _truncate_logs(self) -> None:
        most = 4 * len(self.names) + 64
        self._spec_changes.truncate(most)
        self._all_changes.truncate(most)


def _cache(values: dict[Hashable, V], key: Hashable, value: V) -> None:
    if len(values) >= _MAX_CACHED:
        values.clear()
    values[key] = value
