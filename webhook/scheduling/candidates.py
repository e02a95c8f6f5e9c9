"""What placement wants to know of a seed, read once for each version of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from webhook.api.conditions import Condition
from webhook.api.seeds import Seed
from webhook.domain import capacity, networks, zones
from webhook.domain.capacity import CapacityError
from webhook.domain.networks import Range

_NOTHING: Final[Mapping[str, Decimal]] = {}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A seed with its texts parsed."""

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
    """What of the seed cannot be read; such a seed takes no shoots."""
    used: Mapping[str, Decimal]
    """What shoots use of it now, those included that are only assumed to be there."""


def read(seed: Seed, used: Mapping[str, Decimal] = _NOTHING) -> Candidate:
    """Parse a seed; what cannot be parsed is noted, never raised."""
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
    """Tell whether two versions of a seed are alike in all that placement reads.

    Seeds report themselves all the time; only what is told here can change a decision.
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
            faults.append(f"spec.networks.{field} is no address range: {cidr}")
        else:
            found.append(parsed)
    return tuple(found)


def _allocatable(seed: Seed, faults: list[str]) -> Mapping[str, Decimal]:
    try:
        return capacity.parse(seed.status.allocatable)
    except CapacityError as error:
        faults.append(f"status.allocatable.{error}")
        return _NOTHING
