"""The capacity of seeds, and whether it suffices."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Final, NamedTuple

from webhook.api.managedseeds import ManagedSeed
from webhook.domain.options import CapacityOptions, SeedCapacity
from webhook.domain.seeds.usage import SHOOTS
from webhook.kube import quantity
from webhook.kube.meta import Quantity
from webhook.kube.quantity import QuantityError

_NOTHING: Final = Decimal(0)
_ALL: Final = Decimal(1)


class CapacityError(ValueError):
    """Quantities that are malformed or contradict each other."""


class Capacity(NamedTuple):
    """The capacity of a seed, and the part that shoots may use."""

    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]


def parse(resources: Mapping[str, Quantity]) -> Mapping[str, Decimal]:
    """Parse quantities by resource; the error names the resource."""
    amounts = {}
    for resource, amount in resources.items():
        try:
            amounts[resource] = quantity.parse(amount)
        except QuantityError as error:
            raise CapacityError(f"{resource}: {error}") from error
    return amounts


def insufficient_resource(
    used: Mapping[str, Decimal],
    wanted: Mapping[str, Decimal],
    allocatable: Mapping[str, Decimal],
    headroom: Decimal = _NOTHING,
) -> str | None:
    """Return the first resource that does not suffice; a resource without a limit always does.

    `headroom` is a number of shoots that is kept free.
    """
    for resource, amount in wanted.items():
        limit = allocatable.get(resource)
        if limit is None or not amount:
            continue
        if resource == SHOOTS:
            limit -= headroom
        if used.get(resource, _NOTHING) + amount > limit:
            return resource
    return None


def only_shoot_limit(allocatable: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
    """Return the limit of shoots only, rounded up, as gardener-scheduler does."""
    limit = allocatable.get(SHOOTS)
    return {} if limit is None else {SHOOTS: limit.to_integral_value(ROUND_CEILING)}


def utilisation(
    used: Mapping[str, Decimal], allocatable: Mapping[str, Decimal], assumed_shoots: Decimal
) -> Decimal:
    """Return used / allocatable, averaged over the resources that are counted.

    `assumed_shoots` replaces the limit of shoots of a seed without one, so that seeds without
    limits fill evenly instead of one after the other.
    """
    shares = [
        share(used.get(resource, _NOTHING), limit)
        for resource, limit in allocatable.items()
        if resource in used or resource == SHOOTS
    ]
    if SHOOTS not in allocatable:
        shares.append(share(used.get(SHOOTS, _NOTHING), assumed_shoots))
    return sum(shares, _NOTHING) / len(shares)


def share(used: Decimal, limit: Decimal) -> Decimal:
    """Return the used part of a limit; 1 for a limit of 0."""
    return used / limit if limit > 0 else _ALL


def configured(managed_seed: ManagedSeed, options: CapacityOptions) -> Capacity | None:
    """Return the capacity of a ManagedSeed's seed, by its gardenlet's configuration or default."""
    gardenlet = managed_seed.spec.gardenlet
    if gardenlet is not None and gardenlet.config is not None and gardenlet.config.resources:
        resources = gardenlet.config.resources
        if resources.capacity:
            return calculate(SeedCapacity(resources.capacity, resources.reserved))
    return calculate(SeedCapacity({SHOOTS: options.default}))


def calculate(wanted: SeedCapacity) -> Capacity:
    """Return capacity and allocatable = capacity - reserved."""
    capacity, reserved = parse(wanted.capacity), parse(wanted.reserved)
    allocatable = {}
    for resource, amount in capacity.items():
        left = amount - reserved.get(resource, _NOTHING)
        if left < 0:
            raise CapacityError(f"{resource}: more is reserved than there is")
        allocatable[resource] = left
    if missing := sorted(reserved.keys() - capacity.keys()):
        raise CapacityError(f"{missing[0]}: reserved without a capacity")
    return Capacity(_format(capacity), _format(allocatable))


def _format(amounts: Mapping[str, Decimal]) -> Mapping[str, str]:
    return {
        resource: quantity.format_canonical(amount) for resource, amount in sorted(amounts.items())
    }
