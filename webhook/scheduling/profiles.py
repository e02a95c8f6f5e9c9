"""PROFILES: the scheduling profiles, found by `spec.schedulerName` of a shoot."""

from typing import Final

from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.domain.options import (
    ENGINES,
    GARDENER_PROFILE,
    STRATEGIES,
    Options,
    SchedulingOptions,
    Weights,
)
from webhook.scheduling.filters.access_restrictions import ACCESS_RESTRICTIONS
from webhook.scheduling.filters.availability import AVAILABILITY, PLAIN_SEEDS_FIRST, ZONES
from webhook.scheduling.filters.capacity import CAPACITY, SHOOT_CAPACITY
from webhook.scheduling.filters.domains import DOMAINS
from webhook.scheduling.filters.emergency_stop import EMERGENCY_STOP
from webhook.scheduling.filters.managed import MANAGED
from webhook.scheduling.filters.networks import NETWORKS
from webhook.scheduling.filters.profile_selector import PROFILE_SELECTOR
from webhook.scheduling.filters.provider import PROFILE_PROVIDER, PROVIDER
from webhook.scheduling.filters.seed_selector import SEED_SELECTOR
from webhook.scheduling.filters.taints import TAINTS
from webhook.scheduling.filters.usable import USABLE
from webhook.scheduling.filters.zone_selection import (
    SINGLE_ZONE_SELECTION,
    ZONE_PREFERENCE,
    ZONE_SELECTION,
)
from webhook.scheduling.framework import Profile, Step
from webhook.scheduling.scorers.fewest_shoots import FEWEST_SHOOTS
from webhook.scheduling.scorers.least_allocated import LEAST_ALLOCATED
from webhook.scheduling.scorers.minimal_distance import MINIMAL_DISTANCE
from webhook.scheduling.scorers.plain_seeds import PLAIN_SEEDS

DEFAULT_SCHEDULER_NAMES: Final = ("", "default-scheduler")


class UnknownProfileError(ValueError):
    """A profile, strategy or engine that does not exist."""


def _only_scorer(_weights: Weights) -> int:
    return 1


def _distance(weights: Weights) -> int:
    return weights.minimal_distance


def _availability(weights: Weights) -> int:
    return weights.high_availability


def _allocation(weights: Weights) -> int:
    return weights.least_allocated


_STEPS: Final[tuple[Step, ...]] = (
    USABLE,
    PROFILE_SELECTOR,
    SEED_SELECTOR,
    PROVIDER,
    ZONE_SELECTION,
    ACCESS_RESTRICTIONS,
    DOMAINS,
    EMERGENCY_STOP,
    MANAGED,
    NETWORKS,
    TAINTS,
    CAPACITY,
)

DEFAULT: Final = Profile(
    name="default",
    steps=_STEPS,
    tier_steps=(AVAILABILITY, ZONE_PREFERENCE, PLAIN_SEEDS_FIRST),
    scorers=((LEAST_ALLOCATED, _only_scorer),),
)
"""Filters, the region strategy, high availability after it, then the least allocated seed.
Preferences are steps of a tier, after capacity: they never leave a shoot without a seed."""

WEIGHTED: Final = Profile(
    name="weighted",
    steps=_STEPS,
    tier_steps=(AVAILABILITY, ZONE_PREFERENCE),
    scorers=(
        (MINIMAL_DISTANCE, _distance),
        (PLAIN_SEEDS, _availability),
        (LEAST_ALLOCATED, _allocation),
    ),
    honours_region_strategy=False,
)
"""Document 000's later algorithm: everything that is not a requirement is weighted."""

GARDENER: Final = Profile(
    name=GARDENER_PROFILE,
    steps=(
        USABLE,
        PROFILE_SELECTOR,
        SEED_SELECTOR,
        PROFILE_PROVIDER,
        ZONES,
        SINGLE_ZONE_SELECTION,
        ZONE_PREFERENCE,
        ACCESS_RESTRICTIONS,
        DOMAINS,
        EMERGENCY_STOP,
        NETWORKS,
        TAINTS,
        SHOOT_CAPACITY,
    ),
    scorers=((FEWEST_SHOOTS, _only_scorer),),
    honours_schedule_anyway=False,
    reschedules=False,
    honours_region_affinity=False,
    requires_region_table=True,
)
"""The algorithm of gardener-scheduler: for a migration that changes no placement."""

PROFILES: Final = {profile.name: profile for profile in (DEFAULT, WEIGHTED, GARDENER)}


def find(scheduler: str, options: Options) -> Profile | None:
    """Return the profile for a scheduler name; None if that is another scheduler.

    Beside a real Gardener only `espalier` is ours: the default scheduler is Gardener's own.
    """
    if scheduler == names.SCHEDULER_NAME:
        return PROFILES[options.scheduling.profile]
    if options.beside_gardener:
        return None
    return DEFAULT if scheduler in DEFAULT_SCHEDULER_NAMES else PROFILES.get(scheduler)


def of_shoot(shoot: Shoot, options: Options) -> Profile:
    """Return the profile of a shoot; one of another scheduler gets the configured profile."""
    found = find(shoot.spec.scheduler_name, options)
    return found or PROFILES[options.scheduling.profile]


def check(options: SchedulingOptions) -> None:
    """Raise UnknownProfileError for settings that name an unknown profile, strategy or engine."""
    for field, value, known in (
        ("scheduler.profile", options.profile, tuple(PROFILES)),
        ("scheduler.strategy", options.strategy, STRATEGIES),
        ("scheduler.engine", options.engine, ENGINES),
    ):
        if value not in known:
            raise UnknownProfileError(
                f"{field}: {value!r} is unknown, use one of {', '.join(known)}"
            )
