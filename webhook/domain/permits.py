"""The permits of a pool: how far a machine set may grow or shrink while all zones roll at once.

Two semaphores belong to the whole pool. *Surge* is spent by machines beyond what zones want,
*unavailability* by machines that zones want and lack. Nobody is refused: a size that the permits
do not allow becomes the nearest one that they do.

Sizes that were granted and are not seen yet count at their worst, upwards for surge and downwards
for unavailability, because a write that was admitted may come, come late, or never come.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from webhook.domain.pools import Permits


class SetState(NamedTuple):
    """One machine set: its size, its machines that serve, and all that exist, leaving or not."""

    uid: str
    size: int
    available: int = 0
    machines: int = 0


class Zone(NamedTuple):
    """The machine sets of one deployment, and how many machines it wants."""

    name: str
    replicas: int
    sets: tuple[SetState, ...] = ()
    held: bool = False
    """Whether it gets no surge for now, since it could not use it."""


class Granted(NamedTuple):
    """A size that a set was given and that nobody has seen on it yet."""

    zone: str
    size: int


class Wish(NamedTuple):
    """What a write asks for: the set of a zone from its present size to another."""

    zone: str
    uid: str
    old: int
    size: int


class Answer(NamedTuple):
    """The size that a set gets, and whether somebody must remember that it does."""

    size: int
    is_permit: bool


class _Range(NamedTuple):
    """What a set may turn out to be."""

    low: int
    high: int
    available: int
    machines: int


def judge(
    permits: Permits, zones: Sequence[Zone], granted: Mapping[str, Granted], wish: Wish
) -> Answer:
    """Give a set as much of what it asks for as the pool's permits allow."""
    if wish.size == wish.old:
        return Answer(wish.size, False)
    others = {uid: grant for uid, grant in granted.items() if uid != wish.uid}
    pool = {zone.name: _ranges(zone, others) for zone in _with(zones, wish)}
    by_name = {zone.name: zone for zone in _with(zones, wish)}
    if wish.size > wish.old:
        return _grow(permits, by_name, pool, wish)
    return _shrink(permits, by_name, pool, wish)


def surge_used(zones: Sequence[Zone], granted: Mapping[str, Granted]) -> int:
    """Count the machines of a pool beyond what its zones want."""
    return sum(_excess(zone, _ranges(zone, granted).values()) for zone in zones)


def unavailable_used(zones: Sequence[Zone], granted: Mapping[str, Granted]) -> int:
    """Count the machines that the zones of a pool want and lack."""
    return sum(_shortfall(zone, _ranges(zone, granted).values()) for zone in zones)


def surplus(zone: Zone) -> int:
    """Count the machines of one zone beyond what it wants, by the sizes of its sets alone."""
    return max(0, sum(each.size for each in zone.sets) - zone.replicas)


def _grow(
    permits: Permits, zones: Mapping[str, Zone], pool: Mapping[str, dict[str, _Range]], wish: Wish
) -> Answer:
    zone, ranges = zones[wish.zone], pool[wish.zone]
    besides = sum(each.high for uid, each in ranges.items() if uid != wish.uid)
    free = max(wish.old, min(wish.size, zone.replicas - besides))
    if free == wish.size or zone.held:
        return Answer(free, False)
    elsewhere = sum(
        _excess(zones[name], each.values()) for name, each in pool.items() if name != wish.zone
    )
    size = wish.size
    while size > free and elsewhere + _excess(zone, _at(ranges, wish, size)) > permits.surge:
        size -= 1
    return Answer(size, size > free)


def _shrink(
    permits: Permits, zones: Mapping[str, Zone], pool: Mapping[str, dict[str, _Range]], wish: Wish
) -> Answer:
    zone, ranges = zones[wish.zone], pool[wish.zone]
    before = _shortfall(zone, _at(ranges, wish, wish.old))
    free = wish.old
    while free > wish.size and _shortfall(zone, _at(ranges, wish, free - 1)) == before:
        free -= 1
    if free == wish.size:
        return Answer(free, False)
    elsewhere = sum(
        _shortfall(zones[name], each.values()) for name, each in pool.items() if name != wish.zone
    )
    size = wish.size
    while size < free and (
        elsewhere + _shortfall(zone, _at(ranges, wish, size)) > permits.unavailable
    ):
        size += 1
    return Answer(size, size < free)


def _excess(zone: Zone, ranges: Iterable[_Range]) -> int:
    return max(0, sum(max(each.high, each.machines) for each in ranges) - zone.replicas)


def _shortfall(zone: Zone, ranges: Iterable[_Range]) -> int:
    return max(0, zone.replicas - sum(min(each.available, each.low) for each in ranges))


def _ranges(zone: Zone, granted: Mapping[str, Granted]) -> dict[str, _Range]:
    """Say what each set of a zone may be; one that is granted and not there yet counts too."""
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


def _at(ranges: Mapping[str, _Range], wish: Wish, size: int) -> list[_Range]:
    """Give a zone's sets as they would be with the one that asks at another size."""
    own = ranges.get(wish.uid, _Range(0, 0, 0, 0))
    rest = [each for uid, each in ranges.items() if uid != wish.uid]
    return [*rest, _Range(size, size, own.available, own.machines)]


def _with(zones: Sequence[Zone], wish: Wish) -> Sequence[Zone]:
    """Make sure that the zone that asks is among them, however little is known of it."""
    known = any(zone.name == wish.zone for zone in zones)
    return zones if known else [*zones, Zone(wish.zone, 0)]
