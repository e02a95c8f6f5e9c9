"""What a shoot uses of its seeds."""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final

from webhook.api.shoots import Shoot
from webhook.domain.options import UsageOptions
from webhook.domain.shoots import ha
from webhook.domain.shoots.ha import Availability

SHOOTS: Final = "shoots"
PERSISTENT_VOLUMES: Final = "persistent-volumes"
BUILT_IN: Final = frozenset({SHOOTS, PERSISTENT_VOLUMES})

_ONE: Final = Decimal(1)


def seeds_of(shoot: Shoot) -> tuple[str, ...]:
    """Return the seeds that a shoot uses: those of its spec and its status.

    These differ while its control plane migrates; it then counts on both.
    """
    wanted, actual = shoot.spec.seed_name, shoot.status.seed_name
    if not wanted or wanted == actual:
        return (actual,) if actual else ()
    return (wanted, actual) if actual else (wanted,)


def usage_of(shoot: Shoot, options: UsageOptions) -> Mapping[str, Decimal]:
    """Return how much of each resource a shoot uses, by its effective availability."""
    return usage_for(ha.effective(shoot), options)


def usage_for(availability: Availability, options: UsageOptions) -> Mapping[str, Decimal]:
    """Return how much of each resource a control plane of that availability uses.

    The etcd of a highly available control plane has 2n + 1 members to survive n failures, each
    with its own volume. The result is shared and must not be edited.
    """
    return _request(availability.type, availability.failure_tolerance, options)


@lru_cache(maxsize=256)
def _request(domain: str, tolerance: int, options: UsageOptions) -> Mapping[str, Decimal]:
    members = _ONE if domain == ha.NONE else Decimal(2 * tolerance + 1)
    amounts = {SHOOTS: _ONE, PERSISTENT_VOLUMES: members}
    for resource, rule in options.rules:
        if amount := rule.amount(domain):
            amounts[resource] = amount
    return amounts
