"""The bounds of node groups: all examples of the design, and cases between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.domain.pools.sizing import (
    Bounds,
    PoolBounds,
    ZoneSize,
    bounds,
    distribute,
    distribute_number,
    distribute_percent,
)


def _groups(*assigned: int, bad: tuple[int, ...] = ()) -> list[ZoneSize]:
    return [ZoneSize(index, count, index in bad) for index, count in enumerate(assigned)]


@pytest.mark.parametrize(
    ("size", "zones", "shares"),
    [
        pytest.param(0, 2, [0, 0], id="nothing is shared as nothing"),
        pytest.param(1, 2, [1, 0], id="the first zone takes the remainder"),
        pytest.param(5, 2, [3, 2], id="five over two"),
        pytest.param(4, 3, [2, 1, 1], id="four over three"),
        pytest.param(6, 3, [2, 2, 2], id="even shares"),
    ],
)
def test_a_number_is_shared_over_zones(size: int, zones: int, shares: list[int]) -> None:
    assert [distribute(index, size, zones) for index in range(zones)] == shares


@pytest.mark.parametrize(
    ("percent", "zones", "total", "shares"),
    [
        pytest.param(40, 3, 7, [52, 35, 35], id="40 percent of 7 over three zones"),
        pytest.param(15, 2, 3, [21, 11], id="floats in the order of the operations, not 20 and 10"),
        pytest.param(50, 3, 1, [150, 0, 0], id="a share can pass 100 percent"),
        pytest.param(30, 3, 6, [30, 30, 30], id="an even total leaves the percentage alone"),
        pytest.param(30, 3, 0, [30, 30, 30], id="so does a total of nothing"),
    ],
)
def test_a_percentage_is_shared_over_zones(
    percent: int, zones: int, total: int, shares: list[int]
) -> None:
    assert [distribute_percent(i, percent, zones, total) for i in range(zones)] == shares


def test_float_rounding_differs_from_exact_shares_as_often_as_in_gardener() -> None:
    different = 0
    for zones in range(1, 7):
        for total in range(1, 61):
            shares = [distribute(index, total, zones) for index in range(zones)]
            for percent in range(101):
                for index, share in enumerate(shares):
                    exact = percent if total % zones == 0 else -(-zones * share * percent // total)
                    different += distribute_percent(index, percent, zones, total) != exact
    assert different == 1023


@pytest.mark.parametrize(
    ("value", "shares"),
    [
        pytest.param(2, [1, 1, 0], id="a number ignores the total"),
        pytest.param("40%", ["52%", "35%", "35%"], id="a percentage is of the total"),
    ],
)
def test_surge_and_unavailability_are_numbers_or_percentages(
    value: int | str, shares: list[int | str]
) -> None:
    assert [distribute_number(index, value, 3, 7) for index in range(3)] == shares


@pytest.mark.parametrize(
    ("pool", "groups", "expected"),
    [
        pytest.param(
            PoolBounds(0, 1, 2),
            _groups(0, 0),
            [(0, 1), (0, 0)],
            id="static Pool-0:1:1:1:2: zone 1 empty",
        ),
        pytest.param(
            PoolBounds(3, 5, 2), _groups(0, 0), [(2, 3), (1, 2)], id="static Pool-3:5:1:1:2"
        ),
        pytest.param(
            PoolBounds(3, 4, 3), _groups(0, 0, 0), [(1, 2), (1, 1), (1, 1)], id="Pool-3:4 Scan-0"
        ),
        pytest.param(
            PoolBounds(3, 4, 3), _groups(1, 1, 0), [(1, 2), (1, 1), (1, 1)], id="Pool-3:4 Scan-1"
        ),
        pytest.param(
            PoolBounds(3, 4, 3), _groups(2, 1, 1), [(1, 2), (1, 1), (1, 1)], id="Pool-3:4 Scan-2"
        ),
        pytest.param(PoolBounds(0, 2, 2), _groups(0, 0), [(0, 1), (0, 1)], id="Pool-0:2 Scan-0"),
        pytest.param(
            PoolBounds(0, 2, 2),
            _groups(0, 1, bad=(0,)),
            [(0, 1), (0, 1)],
            id="Pool-0:2 Scan-1: no zone takes over",
        ),
    ],
)
def test_backward_compatible_shares_both_bounds(
    pool: PoolBounds, groups: list[ZoneSize], expected: list[tuple[int, int]]
) -> None:
    assert bounds(pool, groups) == tuple(Bounds(*pair) for pair in expected)


ADAPTIVE = PoolBounds(3, 4, 3, "Adaptive")


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param(_groups(0, 0, 0), [(1, 4), (1, 4), (1, 4)], id="good Scan-0"),
        pytest.param(_groups(1, 0, 0), [(1, 4), (1, 3), (1, 3)], id="good Scan-1"),
        pytest.param(_groups(2, 1, 0), [(1, 3), (1, 2), (1, 1)], id="good Scan-2"),
        pytest.param(_groups(2, 1, 1), [(1, 2), (1, 1), (1, 1)], id="good Scan-3"),
        pytest.param(_groups(0, 0, 0), [(1, 4), (1, 4), (1, 4)], id="backoff Scan-0"),
        pytest.param(_groups(0, 1, 0, bad=(0,)), [(0, 3), (2, 4), (1, 3)], id="backoff Scan-1"),
        pytest.param(_groups(0, 2, 0, bad=(0,)), [(0, 2), (2, 4), (1, 2)], id="backoff Scan-2"),
        pytest.param(_groups(0, 2, 1, bad=(0,)), [(0, 1), (2, 3), (1, 2)], id="backoff Scan-3"),
        # The design prints a minimum of 1 for the second group, against its own formula and its
        # own note on that line (incrementMin:1); the formula holds.
        pytest.param(
            _groups(0, 2, 2, bad=(0,)), [(0, 0), (2, 2), (1, 2)], id="backoff Scan-4, by formula"
        ),
        pytest.param(
            _groups(4, 0, 0), [(1, 4), (0, 0), (0, 0)], id="a minimum is never above its maximum"
        ),
        pytest.param(
            _groups(5, 1, 0), [(1, 3), (0, 0), (0, 0)], id="a shrunk pool gives no negative bound"
        ),
        pytest.param(
            _groups(0, 0, 0, bad=(0, 1, 2)), [(0, 4), (0, 4), (0, 4)], id="all bad: no minimum"
        ),
        pytest.param(
            _groups(1, 1, 0, bad=(0,)), [(0, 3), (2, 3), (1, 2)], id="a bad zone's nodes count"
        ),
    ],
)
def test_adaptive_leaves_each_group_what_the_others_do_not_use(
    groups: list[ZoneSize], expected: list[tuple[int, int]]
) -> None:
    assert bounds(ADAPTIVE, groups) == tuple(Bounds(*pair) for pair in expected)


@pytest.mark.parametrize(
    ("groups", "minimums"),
    [
        pytest.param(
            [ZoneSize(0, 0, bad=True), ZoneSize(1, 2, joined=2), ZoneSize(2, 0, joined=0)],
            [0, 2, 0],
            id="fewer than the minimum: none may go",
        ),
        pytest.param(
            [ZoneSize(0, 0, bad=True), ZoneSize(1, 4, joined=4), ZoneSize(2, 0, joined=0)],
            [0, 3, 0],
            id="more than the minimum: one may go",
        ),
        pytest.param(
            [ZoneSize(0, 0, bad=True), ZoneSize(1, 2, joined=2), ZoneSize(2, 2, joined=2)],
            [0, 2, 1],
            id="two zones share what the bad one lacks",
        ),
        pytest.param(
            [ZoneSize(0, 2, bad=True), ZoneSize(1, 1, joined=1), ZoneSize(2, 0, joined=0)],
            [0, 1, 0],
            id="the nodes of a bad zone guard nothing",
        ),
    ],
)
def test_without_a_good_zone_the_live_nodes_of_tried_zones_keep_the_minimum(
    groups: list[ZoneSize], minimums: list[int]
) -> None:
    assert [each.minimum for each in bounds(ADAPTIVE, groups)] == minimums


def test_a_zone_that_does_not_exist_keeps_its_index() -> None:
    found = [ZoneSize(0, 0), ZoneSize(2, 0)]
    assert bounds(PoolBounds(3, 4, 3), found) == (Bounds(1, 2), Bounds(1, 1))


@st.composite
def _pools(draw: st.DrawFn) -> tuple[PoolBounds, list[ZoneSize]]:
    zones = draw(st.integers(1, 6))
    minimum = draw(st.integers(0, 12))
    pool = PoolBounds(minimum, draw(st.integers(minimum, 20)), zones, "Adaptive")
    joined = st.none() | st.integers(0, 8)
    groups = [
        ZoneSize(i, draw(st.integers(0, 8)), draw(st.booleans()), draw(joined))
        for i in range(zones)
    ]
    return pool, groups


@given(_pools())
def test_bounds_are_ordered_and_not_negative(
    case: tuple[PoolBounds, list[ZoneSize]],
) -> None:
    assert all(0 <= b.minimum <= b.maximum for b in bounds(*case))


@given(_pools())
def test_minimums_add_up_to_the_pool_while_a_good_zone_exists_and_nothing_is_clamped(
    case: tuple[PoolBounds, list[ZoneSize]],
) -> None:
    pool, groups = case
    sized = bounds(pool, groups)
    unclamped = all(b.minimum < b.maximum for b in sized)
    if unclamped and any(group.is_good for group in groups):
        assert sum(b.minimum for b in sized) == pool.minimum


@given(_pools())
def test_no_zone_that_is_tried_again_guards_more_than_its_live_nodes(
    case: tuple[PoolBounds, list[ZoneSize]],
) -> None:
    for group, sized in zip(case[1], bounds(*case), strict=True):
        if group.joined is not None:
            assert sized.minimum <= group.joined


@given(_pools())
def test_growing_any_one_group_to_its_maximum_fills_the_pool_and_no_more(
    case: tuple[PoolBounds, list[ZoneSize]],
) -> None:
    pool, groups = case
    others = sum(group.assigned for group in groups)
    for group, sized in zip(groups, bounds(pool, groups), strict=True):
        elsewhere = others - group.assigned
        assert sized.maximum + elsewhere == max(pool.maximum, elsewhere)
