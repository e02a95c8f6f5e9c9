"""What a seed can take, and whether there is room left."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Final, NamedTuple

from webhook.api import quantity
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Quantity
from webhook.api.quantity import QuantityError
from webhook.domain.options import CapacityOptions, SeedCapacity
from webhook.domain.usage import SHOOTS

_NOTHING: Final = Decimal(0)
_ALL: Final = Decimal(1)


class CapacityError(ValueError):
    """Quantities that cannot be read, or that contradict each other."""


class Capacity(NamedTuple):
    """What a seed has, and what of it shoots may use."""

    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]


def parse(resources: Mapping[str, Quantity]) -> Mapping[str, Decimal]:
    """Read quantities by resource; a bad one is named."""
    amounts = {}
    for resource, amount in resources.items():
        try:
            amounts[resource] = quantity.parse(amount)
        except QuantityError as error:
            raise CapacityError(f"{resource}: {error}") from error
    return amounts


def lacking(
    used: Mapping[str, Decimal],
    wanted: Mapping[str, Decimal],
    allocatable: Mapping[str, Decimal],
    headroom: Decimal = _NOTHING,
) -> str | None:
    """Name the first resource of which there is not enough left; one without limit never lacks.

    Headroom is a number of shoots that is kept free.
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


def whole_shoots(allocatable: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
    """Keep the one limit that gardener-scheduler knows, rounded as it does."""
    limit = allocatable.get(SHOOTS)
    return {} if limit is None else {SHOOTS: limit.to_integral_value(ROUND_CEILING)}


def utilisation(
    used: Mapping[str, Decimal], allocatable: Mapping[str, Decimal], assumed_shoots: Decimal
) -> Decimal:
    """Return used / allocatable, averaged over the resources that are counted.

    Where a seed names no number of shoots the assumed one stands in, so that seeds without limit
    fill evenly instead of one after the other.
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
    """Return which part of a limit is used; of nothing, all is."""
    return used / limit if limit > 0 else _ALL


def configured(managed_seed: ManagedSeed, options: CapacityOptions) -> Capacity | None:
    """Return the capacity that a ManagedSeed gives its seed.

    The gardenlet's configuration says it; one that says nothing, and a seed without gardenlet of
    its own, takes the default.
    """
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
    return Capacity(_write(capacity), _write(allocatable))


def _write(amounts: Mapping[str, Decimal]) -> Mapping[str, str]:
    return {
        resource: quantity.format_canonical(amount) for resource, amount in sorted(amounts.items())
    }
