"""Seeds as placement reads them: parsed once for each version of a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from webhook.api.seeds import Seed
from webhook.domain.placement import networks
from webhook.domain.placement.networks import Range
from webhook.domain.seeds import capacity, zones
from webhook.domain.seeds.capacity import CapacityError
from webhook.kube.conditions import Condition

_NOTHING: Final[Mapping[str, Decimal]] = {}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A seed with its quantities, networks and zones parsed."""

    seed: Seed
    name: str
    provider: str
    region: str
    zones: frozenset[str]
    is_multi_zonal: bool
    ranges: tuple[Range, ...]
    default_domains: tuple[str, ...]
    allocatable: Mapping[str, Decimal]
    faults: tuple[str, ...]
    """Fields that cannot be parsed; a seed with such fields is rejected."""
    used: Mapping[str, Decimal]
    """Resources that shoots use on the seed, including placements that are only assumed."""


def read(seed: Seed, used: Mapping[str, Decimal] = _NOTHING) -> Candidate:
    """Parse a seed; fields that cannot be parsed are listed in `faults`, nothing is raised."""
    faults: list[str] = []
    return Candidate(
        seed=seed,
        name=seed.name,
        provider=seed.spec.provider.type,
        region=seed.spec.provider.region,
        zones=frozenset(zones.seed_zones(seed)),
        is_multi_zonal=zones.is_multi_zonal(seed),
        ranges=_ranges(seed, faults),
        default_domains=tuple(default.domain for default in seed.spec.dns.defaults),
        allocatable=_allocatable(seed, faults),
        faults=tuple(faults),
        used=used,
    )


def is_same(seed: Seed, other: Seed) -> bool:
    """Return whether two versions of a seed are equal in every field that placement reads.

    The status of a seed is updated all the time, mostly in fields that cannot change a decision.
    """
    return (
        seed.spec == other.spec
        and seed.status.allocatable == other.status.allocatable
        and _statuses(seed) == _statuses(other)
        and (seed.status.last_operation is None) == (other.status.last_operation is None)
        and seed.metadata.labels == other.metadata.labels
        and seed.metadata.annotations == other.metadata.annotations
        and seed.is_deleting == other.is_deleting
    )


def _statuses(seed: Seed) -> list[tuple[str, str]]:
    conditions: tuple[Condition, ...] = seed.status.conditions
    return [(condition.type, condition.status) for condition in conditions]


def _ranges(seed: Seed, faults: list[str]) -> tuple[Range, ...]:
    wanted = seed.spec.networks
    found = []
    for field, cidr in (
        ("nodes", wanted.nodes),
        ("pods", wanted.pods),
        ("services", wanted.services),
    ):
        if not cidr:
            continue
        parsed = networks.parse(cidr)
        if parsed is None:
            faults.append(f"spec.networks.{field} is not a CIDR: {cidr}")
        else:
            found.append(parsed)
    return tuple(found)


def _allocatable(seed: Seed, faults: list[str]) -> Mapping[str, Decimal]:
    try:
        return capacity.parse(seed.status.allocatable)
    except CapacityError as error:
        faults.append(f"status.allocatable.{error}")
        return _NOTHING
