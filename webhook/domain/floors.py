"""Floors that scheduled scaling puts under a workload, and the notes by which they come off again.

A note stands beside every value that was raised: what it was (base) and what it was raised to
(applied). Whoever sees the value next can tell our floor, copied back by a controller, from a
person's edit, and what is owed once the floor is gone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from webhook.api import quantity

Value: TypeAlias = int | str
"""A number of replicas, or a quantity as written."""

Resources: TypeAlias = Mapping[str, Mapping[str, str]]
"""Container → resource → quantity."""


@dataclass(frozen=True, slots=True)
class Floors:
    """What may not be undercut: replicas, and requests by container and resource."""

    replicas: int | None = None
    resources: Resources = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.replicas is not None or any(self.resources.values())


NO_FLOORS = Floors()


class Note(NamedTuple):
    """A raised value's origin; a base of None means that the field was absent."""

    base: Value | None
    applied: Value


class Settled(NamedTuple):
    """The value that a field should have, and the note that should stand beside it."""

    value: Value | None
    note: Note | None


def combine(floors: Iterable[Floors]) -> Floors:
    """Take the element-wise maximum, afresh each time: finishing one never strips another."""
    replicas: int | None = None
    resources: dict[str, dict[str, str]] = {}
    for each in floors:
        if each.replicas is not None:
            replicas = max(replicas or 0, each.replicas)
        for container, wanted in each.resources.items():
            mine = resources.setdefault(container, {})
            for resource, amount in wanted.items():
                mine[resource] = higher(mine.get(resource), amount)
    return Floors(replicas, resources)


def higher(value: str | None, other: str) -> str:
    """Return the larger quantity, as it was written; the first of equals."""
    if value is None:
        return other
    return other if quantity.parse(other) > quantity.parse(value) else value


def above(floors: Floors, bounds: Floors) -> Floors:
    """Drop what a global minimum already guarantees."""
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


def settle(value: Value | None, note: Note | None, floor: Value | None) -> Settled:
    """Say what a field should hold, given what stands there, its note, and the floor of now.

    A value equal to what was applied is our own, come back: its base stays. Any other is
    somebody's wish and becomes the base. Without a floor our own gives way to the base; a wish
    stays. The note goes as soon as nothing is owed.
    """
    base = note.base if note is not None and _same(value, note.applied) else value
    if floor is None or (base is not None and _amount(base) >= _amount(floor)):
        return Settled(base, None)
    return Settled(floor, Note(base, floor))


def _same(value: Value | None, other: Value) -> bool:
    return value is not None and _amount(value) == _amount(other)


def _amount(value: Value) -> Decimal:
    return Decimal(value) if isinstance(value, int) else quantity.parse(value)
