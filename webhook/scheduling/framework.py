"""The words of placement: what the steps of a profile look at and what they answer."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from webhook.domain.options import Weights
from webhook.scheduling.columns import Check, Mask, Rejection
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject

MAX_SCORE: Final = 10_000
"""Scores are in hundredths of a percent, fine enough to tell one shoot in thousands."""

A = TypeVar("A", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Filter(Generic[A]):
    """Judge each seed alone, by one aspect of the shoot.

    The same seed gets the same answer for the same aspect, so answers are remembered by it.
    `usage` tells that the answer also depends on how much of the seed is used.
    """

    name: str
    aspect: Callable[[Subject], A]
    prepare: Callable[[A], Check]
    usage: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """Judge the seeds that are left together: which to keep, and why the others go."""

    name: str
    apply: Callable[[Subject, Landscape, Mask], tuple[Mask, Rejection]]


Step: TypeAlias = Filter[Any] | Narrow

Ratings: TypeAlias = Sequence[int]
"""One score a seed of the landscape, 0 to MAX_SCORE; those of refused seeds mean nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Rate the seeds that are left."""

    name: str
    rate: Callable[[Subject, Landscape, Mask], Ratings]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A way to choose a seed: all steps in order, then the highest sum of scores."""

    name: str
    steps: tuple[Step, ...]
    scorers: tuple[tuple[Scorer, Callable[[Weights], int]], ...]
    tier_steps: tuple[Step, ...] = ()
    """Applied to the seeds of each tier of the region strategy."""
    has_strategy: bool = True
    """Whether the operator's region strategy is a step; shoots' own wishes always are."""
    hears_affinity: bool = True
    """Whether `regionAffinity` is heard."""
    weakens: bool = True
    """Whether `ScheduleAnyway` is heard."""
    moves: bool = True
    """Whether a shoot that asks for more zones than its seed has is placed anew."""
    trusts_tables: bool = False
    """Whether a region table that cannot be read refuses, instead of falling back to names."""
