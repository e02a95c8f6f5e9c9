"""Sizes that spread a number of nodes evenly over zones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.domain.pools.even_sizes import ZoneRange, grown, shrunk

ANY = 2**31 - 1


def _zones(*sizes: int, limits: tuple[int, ...] = ()) -> list[ZoneRange]:
    found = limits or (ANY,) * len(sizes)
    return [
        ZoneRange(str(index), size, limit)
        for index, (size, limit) in enumerate(zip(sizes, found, strict=True))
    ]


@pytest.mark.parametrize(
    ("zones", "room", "expected"),
    [
        pytest.param(_zones(0, 0, 0), 4, [2, 1, 1], id="the first zone gets the remainder"),
        pytest.param(_zones(1, 0, 0), 3, [2, 1, 1], id="the smallest grow first"),
        pytest.param(_zones(5, 1, 0), 3, [5, 2, 2], id="a large one waits for the others"),
        pytest.param(_zones(1, 1, 1), 0, [1, 1, 1], id="nothing is left"),
        pytest.param(_zones(1, 1, 1), -2, [1, 1, 1], id="the pool is above its maximum"),
        pytest.param(_zones(0, 0, 0, limits=(9, 1, 9)), 7, [3, 1, 3], id="up to a limit"),
        pytest.param(_zones(3, 0, limits=(1, 2)), 9, [3, 2], id="a limit below the size"),
        pytest.param(_zones(0, 0), 2 * ANY, [ANY, ANY], id="as much as the wire takes"),
        pytest.param([], 3, [], id="no zones"),
    ],
)
def test_zones_grow_evenly(zones: list[ZoneRange], room: int, expected: list[int]) -> None:
    assert [*grown(zones, room).values()] == expected


@pytest.mark.parametrize(
    ("sizes", "total", "expected"),
    [
        pytest.param((5, 3, 2), 6, [2, 2, 2], id="the largest first"),
        pytest.param((5, 3, 2), 7, [3, 2, 2], id="the first zone keeps the remainder"),
        pytest.param((5, 3, 2), 10, [5, 3, 2], id="all fits"),
        pytest.param((5, 3, 2), 99, [5, 3, 2], id="none grows"),
        pytest.param((5, 3, 2), 0, [0, 0, 0], id="nothing may stay"),
    ],
)
def test_zones_shrink_evenly(sizes: tuple[int, ...], total: int, expected: list[int]) -> None:
    assert [*shrunk(_zones(*sizes), total).values()] == expected


_RANGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6).map(
    lambda found: _zones(
        *(size for size, _ in found), limits=tuple(size + more for size, more in found)
    )
)


@given(_RANGES, st.integers(0, 40))
def test_all_that_fits_is_given_and_zones_that_grew_differ_by_one(
    zones: list[ZoneRange], room: int
) -> None:
    sizes = grown(zones, room)
    free = sum(each.limit - each.size for each in zones)
    assert sum(sizes.values()) - sum(each.size for each in zones) == min(room, free)
    grew = [sizes[each.name] for each in zones if sizes[each.name] > each.size]
    open_ones = [sizes[each.name] for each in zones if sizes[each.name] < each.limit]
    if grew and open_ones:
        assert max(grew) - min(open_ones) <= 1


@given(_RANGES, st.integers(0, 40))
def test_zones_that_ask_one_after_another_share_like_those_that_ask_at_once(
    zones: list[ZoneRange], room: int
) -> None:
    sizes = {each.name: each.size for each in zones}
    for each in zones:
        present = [other._replace(size=sizes[other.name]) for other in zones]
        first = sorted(present, key=lambda other: other.name != each.name)
        left = room - sum(sizes.values()) + sum(other.size for other in zones)
        sizes[each.name] = grown(first, left)[each.name]
    assert sizes == grown(zones, room)
