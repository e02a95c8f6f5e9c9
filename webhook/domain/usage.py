"""What a shoot uses of the seeds that it counts on."""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final

from webhook.api.shoots import Shoot
from webhook.domain import ha
from webhook.domain.ha import HighAvailability
from webhook.domain.options import UsageOptions

SHOOTS: Final = "shoots"
PERSISTENT_VOLUMES: Final = "persistent-volumes"
BUILT_IN: Final = frozenset({SHOOTS, PERSISTENT_VOLUMES})

_ONE: Final = Decimal(1)


def seeds(shoot: Shoot) -> tuple[str, ...]:
    """Name the seeds that a shoot counts on: where its spec and where its status says.

    While it moves it counts on both.
    """
    wanted, actual = shoot.spec.seed_name, shoot.status.seed_name
    if not wanted or wanted == actual:
        return (actual,) if actual else ()
    return (wanted, actual) if actual else (wanted,)


def of(shoot: Shoot, options: UsageOptions) -> Mapping[str, Decimal]:
    """Return how much of each resource a shoot uses, as available as it really is."""
    return request(ha.effective(shoot), options)


def request(availability: HighAvailability, options: UsageOptions) -> Mapping[str, Decimal]:
    """Return how much of each resource a control plane of that availability uses.

    A highly available control plane has an etcd of 2n + 1 members to survive n failures, each
    with a volume of its own. The answer is shared: nobody edits it.
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
