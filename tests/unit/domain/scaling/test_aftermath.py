"""The aftermath of a window: replicas that come down from a floor are not demand."""

from datetime import UTC, datetime, timedelta

import pytest

from webhook.api.scaling import ReplicaSlot
from webhook.domain.scaling.aftermath import (
    STABLE_AFTER,
    Aftermath,
    advance,
    recommended_now,
    start,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SINCE = NOW - timedelta(minutes=5)
FROM_FIFTY = Aftermath(50, SINCE)


@pytest.mark.parametrize(
    ("replicas", "at", "expected"),
    [
        pytest.param(50, NOW, FROM_FIFTY, id="still where it was"),
        pytest.param(49, NOW, Aftermath(49, NOW), id="one step down"),
        pytest.param(51, NOW, None, id="a rise is demand"),
        pytest.param(10, NOW, None, id="down to what the slots allow"),
        pytest.param(11, NOW, Aftermath(11, NOW), id="nearly down"),
        pytest.param(
            50, SINCE + STABLE_AFTER - timedelta(seconds=1), FROM_FIFTY, id="not yet still"
        ),
        pytest.param(50, SINCE + STABLE_AFTER, None, id="still for ten minutes"),
    ],
)
def test_replicas_after_a_floor(replicas: int, at: datetime, expected: Aftermath | None) -> None:
    assert advance(FROM_FIFTY, replicas, 10, at) == expected


def test_the_aftermath_is_timed_from_the_end_of_the_last_floor() -> None:
    marked = start(None, 50, 3)
    assert marked == Aftermath(50)
    assert advance(marked, 50, 10, NOW) == Aftermath(50, NOW)


@pytest.mark.parametrize(
    ("floor", "replicas", "expected"),
    [
        pytest.param(50, 3, 50, id="the floor, as long as replicas are on their way up"),
        pytest.param(50, 70, 60, id="what was there before, though demand is higher"),
        pytest.param(50, 55, 55, id="what is on its way down from a higher floor"),
        pytest.param(80, 60, 80, id="a higher floor"),
    ],
)
def test_under_a_floor_its_replicas_are_recorded(floor: int, replicas: int, expected: int) -> None:
    assert start(Aftermath(60), floor, replicas) == Aftermath(expected)


@pytest.mark.parametrize(
    ("slot", "allowed"),
    [
        pytest.param(ReplicaSlot(from_=12, to=13, value=7), 7, id="this hour"),
        pytest.param(ReplicaSlot(from_=11, to=12, value=7), 0, id="the hour before"),
        pytest.param(ReplicaSlot(from_=13, to=14, value=7), 0, id="the next hour"),
        pytest.param(
            ReplicaSlot(from_=21, to=22, value=7, time_zone="Asia/Tokyo"), 7, id="in its zone"
        ),
        pytest.param(
            ReplicaSlot(from_=12, to=13, value=7, week_day="Thursday"), 7, id="on its day"
        ),
        pytest.param(
            ReplicaSlot(from_=12, to=13, value=7, week_day="Friday"), 0, id="on another day"
        ),
        pytest.param(
            ReplicaSlot(from_=12, to=13, value=7, time_zone="Mars"), 0, id="in no zone at all"
        ),
    ],
)
def test_the_recommendation_of_the_slot_for_this_hour_counts(
    slot: ReplicaSlot, allowed: int
) -> None:
    assert recommended_now([slot], NOW) == allowed
