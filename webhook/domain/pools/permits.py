"""The permits of a pool: how far a machine set may grow or shrink while all zones are updated.

A pool has two semaphores. Surge is used by machines beyond the replicas of their zone,
unavailability by replicas without an available machine. A size that the permits do not allow is
not refused but replaced by the nearest one that they do.

Sizes that were granted and not yet seen count at their worst, up for surge and down for
unavailability, because an admitted write may be stored now, later, or never.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from webhook.domain.pools.discovery import Permits


class SetState(NamedTuple):
    """One machine set: its size, its available machines, and all its machines."""

    uid: str
    size: int
    available: int = 0
    machines: int = 0


class ZoneMachines(NamedTuple):
    """The machine sets of one MachineDeployment, and its replicas."""

    name: str
    replicas: int
    sets: tuple[SetState, ...] = ()
    held: bool = False
    """Whether it gets no surge now, because it could not use it."""


class GrantedSize(NamedTuple):
    """A size that was granted to a set and not yet seen."""

    zone: str
    size: int


class SizeRequest(NamedTuple):
    """A requested change of a set's size."""

    zone: str
    uid: str
    old: int
    size: int


class PermittedSize(NamedTuple):
    """The permitted size, and whether it must be recorded as a grant."""

    size: int
    is_permit: bool


class _Range(NamedTuple):
    """The sizes that a set may have."""

    low: int
    high: int
    available: int
    machines: int


def permit_size(
    permits: Permits,
    zones: Sequence[ZoneMachines],
    granted: Mapping[str, GrantedSize],
    request: SizeRequest,
) -> PermittedSize:
    """Return the size nearest to the requested one that the pool's permits allow."""
    if request.size == request.old:
        return PermittedSize(request.size, False)
    other_grants = {uid: grant for uid, grant in granted.items() if uid != request.uid}
    pool = {zone.name: _ranges(zone, other_grants) for zone in _including(zones, request)}
    by_name = {zone.name: zone for zone in _including(zones, request)}
    if request.size > request.old:
        return _grow(permits, by_name, pool, request)
    return _shrink(permits, by_name, pool, request)


def surge_used(zones: Sequence[ZoneMachines], granted: Mapping[str, GrantedSize]) -> int:
    """Count the machines of a pool beyond the replicas of their zones."""
    return sum(_excess(zone, _ranges(zone, granted).values()) for zone in zones)


def unavailable_used(zones: Sequence[ZoneMachines], granted: Mapping[str, GrantedSize]) -> int:
    """Count the replicas of a pool without an available machine."""
    return sum(_shortfall(zone, _ranges(zone, granted).values()) for zone in zones)


def surplus(zone: ZoneMachines) -> int:
    """Count the machines of one zone beyond its replicas, by the sizes of its sets."""
    return max(0, sum(each.size for each in zone.sets) - zone.replicas)


def _grow(
    permits: Permits,
    zones: Mapping[str, ZoneMachines],
    pool: Mapping[str, dict[str, _Range]],
    request: SizeRequest,
) -> PermittedSize:
    zone, ranges = zones[request.zone], pool[request.zone]
    other_sizes = sum(each.high for uid, each in ranges.items() if uid != request.uid)
    free = max(request.old, min(request.size, zone.replicas - other_sizes))
    if free == request.size or zone.held:
        return PermittedSize(free, False)
    elsewhere = sum(
        _excess(zones[name], each.values()) for name, each in pool.items() if name != request.zone
    )
    size = request.size
    while size > free and elsewhere + _excess(zone, _at(ranges, request, size)) > permits.surge:
        size -= 1
    return PermittedSize(size, size > free)


def _shrink(
    permits: Permits,
    zones: Mapping[str, ZoneMachines],
    pool: Mapping[str, dict[str, _Range]],
    request: SizeRequest,
) -> PermittedSize:
    zone, ranges = zones[request.zone], pool[request.zone]
    before = _shortfall(zone, _at(ranges, request, request.old))
    free = request.old
    while free > request.size and _shortfall(zone, _at(ranges, request, free - 1)) == before:
        free -= 1
    if free == request.size:
        return PermittedSize(free, False)
    elsewhere = sum(
        _shortfall(zones[name], each.values())
        for name, each in pool.items()
        if name != request.zone
    )
    size = request.size
    while size < free and (
        elsewhere + _shortfall(zone, _at(ranges, request, size)) > permits.unavailable
    ):
        size += 1
    return PermittedSize(size, size < free)


def _excess(zone: ZoneMachines, ranges: Iterable[_Range]) -> int:
    # The larger of size and machines: the manager's view and our cache may both be outdated.
    return max(0, sum(max(each.high, each.machines) for each in ranges) - zone.replicas)


def _shortfall(zone: ZoneMachines, ranges: Iterable[_Range]) -> int:
    return max(0, zone.replicas - sum(min(each.available, each.low) for each in ranges))


def _ranges(zone: ZoneMachines, granted: Mapping[str, GrantedSize]) -> dict[str, _Range]:
    """Return the possible sizes of each set of a zone, including granted sets not yet created."""
    found = {}
    for each in zone.sets:
        grant = granted.get(each.uid)
        size = each.size if grant is None else grant.size
        low, high = min(each.size, size), max(each.size, size)
        found[each.uid] = _Range(low, high, each.available, each.machines)
    for uid, grant in granted.items():
        if grant.zone == zone.name and uid not in found:
            found[uid] = _Range(0, grant.size, 0, 0)
    return found


def _at(ranges: Mapping[str, _Range], request: SizeRequest, size: int) -> list[_Range]:
    """Return a zone's sets with the requesting set at another size."""
    own = ranges.get(request.uid, _Range(0, 0, 0, 0))
    rest = [each for uid, each in ranges.items() if uid != request.uid]
    return [*rest, _Range(size, size, own.available, own.machines)]


def _including(zones: Sequence[ZoneMachines], request: SizeRequest) -> Sequence[ZoneMachines]:
    """Return the zones, with the requesting one added if it is unknown."""
    known = any(zone.name == request.zone for zone in zones)
    return zones if known else [*zones, ZoneMachines(request.zone, 0)]
