"""Sizes that spread a number of nodes evenly over the zones of a pool."""

from collections.abc import Sequence
from typing import NamedTuple


class ZoneRange(NamedTuple):
    """A zone: its present size, and the size up to which it may grow."""

    name: str
    size: int
    limit: int


def grown(zones: Sequence[ZoneRange], room: int) -> dict[str, int]:
    """Return the sizes of zones after they have grown by `room` in all, the smallest first.

    No zone shrinks or passes its limit. The first zones get the remainder.
    """
    level = _highest(zones, room)
    sizes = {each.name: _at_level(each, level) for each in zones}
    rest = room - sum(sizes[each.name] - each.size for each in zones)
    for each in zones:
        if rest > 0 and sizes[each.name] == level < each.limit:
            sizes[each.name] += 1
            rest -= 1
    return sizes


def shrunk(zones: Sequence[ZoneRange], total: int) -> dict[str, int]:
    """Return the sizes of zones cut to `total` in all, the largest first; none grows.

    The first zones get the remainder.
    """
    empty = [ZoneRange(each.name, 0, each.size) for each in zones]
    return grown(empty, max(0, total))


def _highest(zones: Sequence[ZoneRange], room: int) -> int:
    """Return the highest level that all zones can be raised to, each up to its limit."""
    low, high = 0, max((each.limit for each in zones), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_at_level(each, middle) - each.size for each in zones) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _at_level(zone: ZoneRange, level: int) -> int:
    return max(zone.size, min(level, zone.limit))
