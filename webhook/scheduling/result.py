"""The result of placement: a seed or none, and why each other seed was rejected."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import NamedTuple, TypeAlias

from webhook.scheduling.columns import Mask, Rejection, to_selectors
from webhook.scheduling.framework import Scores

Rejections: TypeAlias = Mapping[str, tuple[str, Rejection]]
"""By seed, the first step that rejected it and why."""


class StepRejections(NamedTuple):
    """The seeds that one step rejected, among those that remained before it."""

    step: str
    remaining: Mask
    rejected: Mapping[Rejection, Mask]


class WeightedScores(NamedTuple):
    """The scores of one scorer and their weight in the sum."""

    scorer: str
    weight: int
    scores: Scores


@dataclass(frozen=True, eq=False)
class ScheduleResult:
    """Which seed a shoot gets, and why no other.

    Seeds are kept as masks and listed by name only when they are read: most results are only bound.
    """

    profile: str
    seed: str | None
    names: Sequence[str]
    step_rejections: Sequence[StepRejections]
    feasible_mask: Mask = 0
    weighted_scores: Sequence[WeightedScores] = ()
    weakened: bool = False
    """Whether the shoot gets a control plane in one zone instead of several."""
    notes: tuple[str, ...] = ()
    malformed: Rejections = field(default_factory=dict)

    @cached_property
    def feasible(self) -> Sequence[str]:
        """The names of the seeds that passed every step."""
        return [*self._names_in(self.feasible_mask)]

    @cached_property
    def rejected(self) -> Rejections:
        """By seed, the first step that rejected it and why."""
        found: dict[str, tuple[str, Rejection]] = dict(self.malformed)
        for step, rejection, names in self.rejections():
            found.update(dict.fromkeys(names, (step, rejection)))
        return found

    def rejections(self) -> Iterator[tuple[str, Rejection, Iterator[str]]]:
        """Yield the rejected seeds by step and reason; each seed is in one group only."""
        for step in self.step_rejections:
            for rejection, mask in step.rejected.items():
                if mask & step.remaining:
                    yield step.step, rejection, self._names_in(mask & step.remaining)

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, int]]:
        """By seed that passed every step, its score by scorer."""
        positions = {name: index for index, name in enumerate(self.names)}
        return {
            name: {each.scorer: each.scores[positions[name]] for each in self.weighted_scores}
            for name in self.feasible
        }

    @cached_property
    def totals(self) -> Mapping[str, int]:
        """By seed that passed every step, the weighted sum of its scores."""
        positions = {name: index for index, name in enumerate(self.names)}
        return {
            name: sum(each.weight * each.scores[positions[name]] for each in self.weighted_scores)
            for name in self.feasible
        }

    def rejected_by_reason(self) -> Iterable[tuple[Rejection, Sequence[str]]]:
        """Group the rejected seeds by reason, the most frequent first."""
        groups: dict[Rejection, list[str]] = {}
        for name, (_step, rejection) in self.malformed.items():
            groups.setdefault(rejection, []).append(name)
        for _step, rejection, names in self.rejections():
            groups.setdefault(rejection, []).extend(names)
        return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))

    def _names_in(self, mask: Mask) -> Iterator[str]:
        return compress(self.names, to_selectors(mask))
