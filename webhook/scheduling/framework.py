"""Filters, scorers and the profiles that are made of them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from webhook.domain.options import Weights
from webhook.scheduling.columns import Check, Mask, Rejection
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo

MAX_SCORE: Final = 10_000
"""Scores are hundredths of a percent, so that one shoot among thousands makes a difference."""

A = TypeVar("A", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Filter(Generic[A]):
    """A filter that checks each seed by itself, for one aspect of the shoot.

    `aspect` reads from the shoot what the filter compares; `prepare` makes the check of a seed from
    it. Results depend on nothing else, so they are cached by filter and aspect.
    """

    name: str
    aspect: Callable[[ShootInfo], A]
    prepare: Callable[[A], Check]
    depends_on_usage: bool = False
    """Whether the result also depends on how much of the seed is used."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupFilter:
    """A filter that compares the remaining seeds with each other.

    `apply` returns the seeds to keep and the reason to reject the others.
    """

    name: str
    apply: Callable[[ShootInfo, SeedTable, Mask], tuple[Mask, Rejection]]


Step: TypeAlias = Filter[Any] | GroupFilter

Scores: TypeAlias = Sequence[int]
"""One score for each seed of the table, 0 to MAX_SCORE; those of rejected seeds are ignored."""


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Scores the remaining seeds."""

    name: str
    score: Callable[[ShootInfo, SeedTable, Mask], Scores]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A way to choose a seed: all filters in order, then the highest weighted sum of scores."""

    name: str
    steps: tuple[Step, ...]
    scorers: tuple[tuple[Scorer, Callable[[Weights], int]], ...]
    tier_steps: tuple[Step, ...] = ()
    """Filters that are applied to the seeds of each tier of the region strategy."""
    honours_region_strategy: bool = True
    """Whether the operator's region strategy applies; without it only `regionAffinity` does."""
    honours_region_affinity: bool = True
    """Whether `regionAffinity` of the shoot applies."""
    honours_schedule_anyway: bool = True
    """Whether `whenUnsatisfied: ScheduleAnyway` of the shoot applies."""
    reschedules: bool = True
    """Whether a shoot that requests more zones than its seed has is moved to another seed."""
    requires_region_table: bool = False
    """Whether an unreadable region table rejects all seeds, instead of using region names."""
