"""What placement answers: a seed or none, and for every seed the reason."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import NamedTuple, TypeAlias

from webhook.scheduling.columns import Mask, Rejection, spell
from webhook.scheduling.framework import Ratings

Refusals: TypeAlias = Mapping[str, tuple[str, Rejection]]
"""By seed, the first step that refused it and why."""


class Cut(NamedTuple):
    """What one step took away from the seeds that were left."""

    step: str
    left: Mask
    refused: Mapping[Rejection, Mask]


class Rated(NamedTuple):
    """The ratings of one rule and how much they count."""

    rule: str
    weight: int
    ratings: Ratings


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which seed a shoot gets, and why no other.

    The reasons are spelled out only when somebody reads them: most verdicts are just carried out.
    """

    profile: str
    seed: str | None
    names: Sequence[str]
    cuts: Sequence[Cut]
    candidates_mask: Mask = 0
    rated: Sequence[Rated] = ()
    weakened: bool = False
    """Whether the shoot gets a control plane in one zone instead of several."""
    notes: tuple[str, ...] = ()
    malformed: Refusals = field(default_factory=dict)

    @cached_property
    def candidates(self) -> Sequence[str]:
        """The seeds that passed every step, by name."""
        return [*self._members(self.candidates_mask)]

    @cached_property
    def rejected(self) -> Refusals:
        """By seed, the first step that refused it and why."""
        found: dict[str, tuple[str, Rejection]] = dict(self.malformed)
        for step, rejection, names in self.groups():
            found.update(dict.fromkeys(names, (step, rejection)))
        return found

    def groups(self) -> Iterator[tuple[str, Rejection, Iterator[str]]]:
        """List the refused seeds by step and reason; each seed is in one group only."""
        for cut in self.cuts:
            for rejection, mask in cut.refused.items():
                if mask & cut.left:
                    yield cut.step, rejection, self._members(mask & cut.left)

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, int]]:
        """By seed that passed every step, its score by rule."""
        positions = {name: index for index, name in enumerate(self.names)}
        return {
            name: {rated.rule: rated.ratings[positions[name]] for rated in self.rated}
            for name in self.candidates
        }

    @cached_property
    def totals(self) -> Mapping[str, int]:
        """By seed that passed every step, the weighted sum of its scores."""
        positions = {name: index for index, name in enumerate(self.names)}
        return {
            name: sum(rated.weight * rated.ratings[positions[name]] for rated in self.rated)
            for name in self.candidates
        }

    def counted(self) -> Iterable[tuple[Rejection, Sequence[str]]]:
        """Group the refused seeds by reason, the most frequent first."""
        groups: dict[Rejection, list[str]] = {}
        for name, (_step, rejection) in self.malformed.items():
            groups.setdefault(rejection, []).append(name)
        for _step, rejection, names in self.groups():
            groups.setdefault(rejection, []).extend(names)
        return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))

    def _members(self, mask: Mask) -> Iterator[str]:
        return compress(self.names, spell(mask))
