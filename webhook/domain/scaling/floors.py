"""Floors: the minimum replicas and requests of a workload while windows are open.

A value that is raised to a floor is recorded with what it was (base) and what it was raised to
(applied). By that, a floor that a controller copied back is distinguished from a user's edit, and
the base is restored once the floor is gone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from webhook.kube import quantity

Value: TypeAlias = int | str
"""A number of replicas, or an unparsed quantity."""

Resources: TypeAlias = Mapping[str, Mapping[str, str]]
"""Container → resource → quantity."""


@dataclass(frozen=True, slots=True)
class Floors:
    """Minimum replicas, and minimum requests by container and resource."""

    replicas: int | None = None
    resources: Resources = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.replicas is not None or any(self.resources.values())


NO_FLOORS: Final = Floors()


class RaisedValue(NamedTuple):
    """A value that was raised; a base of None means that the field was absent."""

    base: Value | None
    applied: Value


class FlooredValue(NamedTuple):
    """The value that a field should have, and the record of its raise, if any."""

    value: Value | None
    raised: RaisedValue | None


def combine(floors: Iterable[Floors]) -> Floors:
    """Return the element-wise maximum, so that the end of one schedule never affects another."""
    replicas: int | None = None
    resources: dict[str, dict[str, str]] = {}
    for each in floors:
        if each.replicas is not None:
            replicas = max(replicas or 0, each.replicas)
        for container, wanted in each.resources.items():
            combined = resources.setdefault(container, {})
            for resource, amount in wanted.items():
                combined[resource] = higher(combined.get(resource), amount)
    return Floors(replicas, resources)


def higher(value: str | None, other: str) -> str:
    """Return the larger quantity, unparsed; the first of equal ones."""
    if value is None:
        return other
    return other if quantity.parse(other) > quantity.parse(value) else value


def above(floors: Floors, bounds: Floors) -> Floors:
    """Return the floors without those that a global minimum already guarantees."""
    replicas = floors.replicas
    if replicas is not None and replicas <= (bounds.replicas or 0):
        replicas = None
    everywhere = bounds.resources.get("*", {})
    kept: dict[str, dict[str, str]] = {}
    for container, wanted in floors.resources.items():
        known = {**everywhere, **bounds.resources.get(container, {})}
        left = {
            resource: amount
            for resource, amount in wanted.items()
            if resource not in known or higher(known[resource], amount) != known[resource]
        }
        if left:
            kept[container] = left
    return Floors(replicas, kept)


def apply_floor(
    value: Value | None, raised: RaisedValue | None, floor: Value | None
) -> FlooredValue:
    """Return what a field should contain, given its value, the record of its raise, and the floor.

    A value equal to the applied one is our own, and its base stays. Any other value was set by
    somebody else and becomes the base. Without a floor, or with a base above it, the field gets the
    base and the record is dropped.
    """
    base = raised.base if raised is not None and _same(value, raised.applied) else value
    if floor is None or (base is not None and _amount(base) >= _amount(floor)):
        return FlooredValue(base, None)
    return FlooredValue(floor, RaisedValue(base, floor))


def _same(value: Value | None, other: Value) -> bool:
    return value is not None and _amount(value) == _amount(other)


def _amount(value: Value) -> Decimal:
    return Decimal(value) if isinstance(value, int) else quantity.parse(value)
