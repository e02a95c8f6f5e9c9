"""Floors: maxima, copied-back values, user edits, and restored values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.domain.scaling.floors import (
    NO_FLOORS,
    FlooredValue,
    Floors,
    RaisedValue,
    above,
    apply_floor,
    combine,
)


def test_several_floors_are_their_element_wise_maximum() -> None:
    campaign = Floors(100, {"app": {"memory": "5Gi"}})
    launch = Floors(50, {"app": {"memory": "4G", "cpu": "2"}, "side": {"cpu": "100m"}})
    assert combine([campaign, launch]) == Floors(
        100, {"app": {"memory": "5Gi", "cpu": "2"}, "side": {"cpu": "100m"}}
    )
    assert combine([launch]) == launch
    assert combine([]) == NO_FLOORS


@pytest.mark.parametrize(
    ("floors", "expected"),
    [
        pytest.param(Floors(3), Floors(), id="replicas at the global minimum are ignored"),
        pytest.param(Floors(4), Floors(4), id="replicas above it count"),
        pytest.param(Floors(None, {"app": {"cpu": "50m"}}), Floors(), id="cpu at the minimum"),
        pytest.param(
            Floors(None, {"app": {"cpu": "51m"}}),
            Floors(None, {"app": {"cpu": "51m"}}),
            id="cpu above the minimum",
        ),
        pytest.param(
            Floors(None, {"side": {"cpu": "51m"}}), Floors(), id="a container's own minimum"
        ),
        pytest.param(
            Floors(None, {"app": {"gpu": "1"}}),
            Floors(None, {"app": {"gpu": "1"}}),
            id="a resource without a minimum",
        ),
    ],
)
def test_a_floor_below_the_global_bounds_is_ignored(floors: Floors, expected: Floors) -> None:
    bounds = Floors(3, {"*": {"cpu": "50m"}, "side": {"cpu": "60m"}})
    assert above(floors, bounds) == expected


@pytest.mark.parametrize(
    ("value", "raised", "floor", "expected"),
    [
        pytest.param(3, None, 50, FlooredValue(50, RaisedValue(3, 50)), id="raised to the floor"),
        pytest.param(60, None, 50, FlooredValue(60, None), id="already above"),
        pytest.param(50, None, 50, FlooredValue(50, None), id="already there"),
        pytest.param(
            None, None, 50, FlooredValue(50, RaisedValue(None, 50)), id="an absent value is raised"
        ),
        pytest.param(
            50,
            RaisedValue(3, 50),
            50,
            FlooredValue(50, RaisedValue(3, 50)),
            id="our own copied back",
        ),
        pytest.param(
            10,
            RaisedValue(3, 50),
            50,
            FlooredValue(50, RaisedValue(10, 50)),
            id="an edit becomes the base",
        ),
        pytest.param(
            70, RaisedValue(3, 50), 50, FlooredValue(70, None), id="an edit above the floor wins"
        ),
        pytest.param(
            50, RaisedValue(3, 50), 80, FlooredValue(80, RaisedValue(3, 80)), id="a higher floor"
        ),
        pytest.param(
            50, RaisedValue(3, 50), 20, FlooredValue(20, RaisedValue(3, 20)), id="a lower floor"
        ),
        pytest.param(50, RaisedValue(3, 50), None, FlooredValue(3, None), id="the floor is gone"),
        pytest.param(50, RaisedValue(None, 50), None, FlooredValue(None, None), id="absent again"),
        pytest.param(
            10, RaisedValue(3, 50), None, FlooredValue(10, None), id="gone, and an edit stays"
        ),
        pytest.param(
            "5368709120",
            RaisedValue("1Gi", "5Gi"),
            None,
            FlooredValue("1Gi", None),
            id="other spelling",
        ),
        pytest.param(
            "1Gi", None, "5Gi", FlooredValue("5Gi", RaisedValue("1Gi", "5Gi")), id="quantities"
        ),
    ],
)
def test_apply_floor(
    value: int | str | None,
    raised: RaisedValue | None,
    floor: int | str | None,
    expected: FlooredValue,
) -> None:
    assert apply_floor(value, raised, floor) == expected


FLOOR = st.none() | st.integers(1, 20)


@given(st.none() | st.integers(0, 20), st.lists(st.tuples(FLOOR, st.booleans()), max_size=12))
def test_the_value_is_restored_after_any_floors(
    start: int | None, steps: list[tuple[int | None, bool]]
) -> None:
    value: int | str | None = start
    raised: RaisedValue | None = None
    for floor, again in steps:
        for _ in range(2 if again else 1):
            value, raised = apply_floor(value, raised, floor)
            assert floor is None or (isinstance(value, int) and value >= floor)
    assert apply_floor(value, raised, None) == FlooredValue(start, None)
