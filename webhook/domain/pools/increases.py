"""Increases of zones: each gets an even share of a pool at first, then what the others leave.

cluster-autoscaler spreads a scale-up over zones and increases one after the other, each by more
than the pool may have in all. A zone that got all at once would leave nothing to the others. What
a zone did not get is therefore recorded, and granted at the next refresh or after a moment without
further increases: by then the scale-up is complete.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from webhook.domain.pools import even_sizes, pool_record
from webhook.domain.pools.discovery import Pool
from webhook.domain.pools.even_sizes import ZoneRange
from webhook.domain.pools.node_groups import ZoneGroup
from webhook.domain.pools.pool_record import OpenIncrease, PoolRecord, parse_instant
from webhook.kube import timestamps

COMPLETE_AFTER: Final = timedelta(seconds=0.5)
"""After this time without another increase of the pool, a scale-up is complete."""
EXPIRE_AFTER: Final = timedelta(seconds=30)
"""After this time, an open increase is dropped: an autoscaler that still needs it repeats it."""


def ranges(
    groups: Sequence[ZoneGroup], record: PoolRecord, asking: str = ""
) -> tuple[ZoneRange, ...]:
    """Return the sizes and limits of zones, the asking one first; bad zones get no share."""
    found = [
        ZoneRange(
            group.zone.name,
            pool_record.size_of(group.zone, record),
            0 if group.health == "bad" and group.zone.name != asking else group.bounds.maximum,
        )
        for group in groups
    ]
    return tuple(sorted(found, key=lambda each: each.name != asking))


def first_size(zones: Sequence[ZoneRange], room: int) -> int:
    """Return the size up to which the first zone may grow at once, if all zones share `room`."""
    return even_sizes.grown(zones, room)[zones[0].name]


def rest(zones: Sequence[ZoneRange], wanted: Mapping[str, int], room: int) -> dict[str, int]:
    """Return the sizes of the zones that get more of what is left, evenly among those that ask."""
    asking = [
        each._replace(limit=min(each.limit, wanted[each.name]))
        for each in zones
        if each.name in wanted
    ]
    sizes = even_sizes.grown(asking, room)
    return {each.name: sizes[each.name] for each in asking if sizes[each.name] > each.size}


def note(record: PoolRecord, zone: str, wanted: int, size: int, now: datetime) -> PoolRecord:
    """Record what a zone asked for and got, or drop its entry if it got all."""
    others = {name: each for name, each in record.increases.items() if name != zone}
    if wanted > size:
        time = timestamps.format_micro_time(now)
        others[zone] = OpenIncrease(wanted=wanted, granted=size, time=time)
    return record if others == record.increases else replace(record, increases=others)


def drop(record: PoolRecord, settled: Mapping[str, OpenIncrease]) -> PoolRecord:
    """Remove settled increases, unless they were replaced meanwhile."""
    kept = {name: each for name, each in record.increases.items() if settled.get(name) != each}
    return record if len(kept) == len(record.increases) else replace(record, increases=kept)


def rest_sizes(
    pool: Pool, groups: Sequence[ZoneGroup], record: PoolRecord, now: datetime
) -> dict[str, int]:
    """Return the sizes of a pool's zones that get more, by the open increases of its record.

    An increase has expired after a while, and ends if its zone was scaled down since.
    """
    zones = ranges(groups, record)
    wanted = {
        each.name: found.wanted
        for each in zones
        if (found := record.increases.get(each.name)) is not None
        and each.size >= found.granted
        and now - parse_instant(found.time) < EXPIRE_AFTER
    }
    return rest(zones, wanted, pool_record.remaining_size(pool, record))


def complete_at(record: PoolRecord) -> datetime | None:
    """Return when the scale-up of the open increases is complete; None without any."""
    times = [parse_instant(each.time) for each in record.increases.values()]
    return max(times) + COMPLETE_AFTER if times else None
