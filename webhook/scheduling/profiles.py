"""PROFILES: the ways to choose a seed, by the name that a shoot gives as its scheduler."""

from typing import Final

from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.domain.options import (
    ENGINES,
    LIKE_GARDENER,
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

UNNAMED: Final = ("", "default-scheduler")


class UnknownProfileError(ValueError):
    """A profile, strategy or engine that does not exist."""


def _alone(_weights: Weights) -> int:
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
    scorers=((LEAST_ALLOCATED, _alone),),
)
"""Filters, the region strategy, high availability after it, then the emptiest seed."""

WEIGHTED: Final = Profile(
    name="weighted",
    steps=_STEPS,
    tier_steps=(AVAILABILITY, ZONE_PREFERENCE),
    scorers=(
        (MINIMAL_DISTANCE, _distance),
        (PLAIN_SEEDS, _availability),
        (LEAST_ALLOCATED, _allocation),
    ),
    has_strategy=False,
)
"""Document 000's later algorithm: what is no must is weighed."""

GARDENER: Final = Profile(
    name=LIKE_GARDENER,
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
    scorers=((FEWEST_SHOOTS, _alone),),
    weakens=False,
    moves=False,
    hears_affinity=False,
    trusts_tables=True,
)
"""What gardener-scheduler does today, to change over with and improve afterwards."""

PROFILES: Final = {profile.name: profile for profile in (DEFAULT, WEIGHTED, GARDENER)}


def find(scheduler: str, options: Options) -> Profile | None:
    """Return the profile behind a scheduler's name; None if that scheduler is not ours.

    Beside a real Gardener only `espalier` is: the default scheduler there is Gardener's own.
    """
    if scheduler == names.SCHEDULER_NAME:
        return PROFILES[options.scheduling.profile]
    if options.beside_gardener:
        return None
    return DEFAULT if scheduler in UNNAMED else PROFILES.get(scheduler)


def of_shoot(shoot: Shoot, options: Options) -> Profile:
    """Return the profile to judge a shoot by, also one that waits for another scheduler."""
    found = find(shoot.spec.scheduler_name, options)
    return found or PROFILES[options.scheduling.profile]


def check(options: SchedulingOptions) -> None:
    """Refuse settings that name something unknown, with the list of what is known."""
    for field, value, known in (
        ("scheduler.profile", options.profile, tuple(PROFILES)),
        ("scheduler.strategy", options.strategy, STRATEGIES),
        ("scheduler.engine", options.engine, ENGINES),
    ):
        if value not in known:
            raise UnknownProfileError(
                f"{field}: {value!r} is unknown, use one of {', '.join(known)}"
            )
