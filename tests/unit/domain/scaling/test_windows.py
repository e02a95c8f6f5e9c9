"""Windows: transitions to the second, recurrence, and days on which clocks change."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.domain.scaling.recurrence import Window
from webhook.domain.scaling.windows import (
    HORIZON,
    OneShot,
    Recurring,
    next_transition,
    open_window,
    phase,
    upcoming,
)

UTC_ZONE = ZoneInfo("UTC")
NEW_YORK = ZoneInfo("America/New_York")
BERLIN = ZoneInfo("Europe/Berlin")


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NEW_YEAR = OneShot(Window(_at("2023-12-31T23:30:00"), _at("2024-01-05T00:00:00")))


@pytest.mark.parametrize(
    ("now", "expected", "edge"),
    [
        pytest.param("2023-12-31T23:29:59", "Pending", "2023-12-31T23:30:00", id="a second before"),
        pytest.param("2023-12-31T23:30:00", "Active", "2024-01-05T00:00:00", id="at the start"),
        pytest.param("2024-01-04T23:59:59", "Active", "2024-01-05T00:00:00", id="the last second"),
        pytest.param("2024-01-05T00:00:00", "Completed", None, id="at the finish it is over"),
        pytest.param("2025-01-01T00:00:00", "Completed", None, id="long after"),
    ],
)
def test_a_window_includes_its_start_and_excludes_its_finish(
    now: str, expected: str, edge: str | None
) -> None:
    assert phase(NEW_YEAR, _at(now)) == expected
    assert next_transition(NEW_YEAR, _at(now)) == (edge and _at(edge))
    assert (open_window(NEW_YEAR, _at(now)) is not None) == (expected == "Active")


NIGHTLY = Recurring("0 22 * * *", timedelta(hours=2), UTC_ZONE)


@pytest.mark.parametrize(
    ("now", "expected", "edge"),
    [
        pytest.param("2024-03-01T21:59:59", "Pending", "2024-03-01T22:00:00", id="before"),
        pytest.param("2024-03-01T22:00:00", "Active", "2024-03-02T00:00:00", id="opens"),
        pytest.param("2024-03-01T23:59:59", "Active", "2024-03-02T00:00:00", id="last second"),
        pytest.param("2024-03-02T00:00:00", "Pending", "2024-03-02T22:00:00", id="between two"),
    ],
)
def test_recurring_windows_open_and_close(now: str, expected: str, edge: str) -> None:
    assert phase(NIGHTLY, _at(now)) == expected
    assert next_transition(NIGHTLY, _at(now)) == _at(edge)


def test_overlapping_windows_of_one_schedule_are_one_window() -> None:
    schedule = Recurring("0 8,9,10,14 * * *", timedelta(minutes=90), UTC_ZONE)
    assert open_window(schedule, _at("2024-03-01T10:15:00")) == Window(
        _at("2024-03-01T08:00:00"), _at("2024-03-01T11:30:00")
    )


def test_windows_that_touch_are_one_window() -> None:
    schedule = Recurring("0 8,9 * * *", timedelta(hours=1), UTC_ZONE)
    assert open_window(schedule, _at("2024-03-01T09:00:00")) == Window(
        _at("2024-03-01T08:00:00"), _at("2024-03-01T10:00:00")
    )


def test_a_schedule_that_never_closes_ends_at_the_horizon() -> None:
    schedule = Recurring("* * * * *", timedelta(minutes=2), UTC_ZONE)
    now = _at("2024-03-01T10:15:30")
    window = open_window(schedule, now)
    assert window is not None
    assert window.end - now > HORIZON


BOUNDED = Recurring(
    "0 22 * * *",
    timedelta(hours=2),
    UTC_ZONE,
    not_before=_at("2024-03-01T22:30:00"),
    not_after=_at("2024-03-02T23:00:00"),
)


def test_bounds_truncate_the_first_and_the_last_window() -> None:
    assert list(BOUNDED.windows(_at("2024-01-01T00:00:00"))) == [
        Window(_at("2024-03-01T22:30:00"), _at("2024-03-02T00:00:00")),
        Window(_at("2024-03-02T22:00:00"), _at("2024-03-02T23:00:00")),
    ]


def test_a_recurrence_past_its_bound_is_completed() -> None:
    assert phase(BOUNDED, _at("2024-03-02T22:59:59")) == "Active"
    assert phase(BOUNDED, _at("2024-03-02T23:00:00")) == "Completed"


@pytest.mark.parametrize(
    ("zone", "cron", "day", "starts"),
    [
        pytest.param(
            NEW_YORK,
            "30 2 * * *",
            "2024-03-10T05:00:00",
            ["2024-03-10T07:00:00", "2024-03-11T06:30:00"],
            id="New York, spring: 02:30 does not exist and opens at 03:00",
        ),
        pytest.param(
            NEW_YORK,
            "30 1 * * *",
            "2024-11-03T04:00:00",
            ["2024-11-03T05:30:00", "2024-11-04T06:30:00"],
            id="New York, autumn: 01:30 comes twice and opens the first time",
        ),
        pytest.param(
            BERLIN,
            "30 2 * * *",
            "2024-03-31T00:00:00",
            ["2024-03-31T01:00:00", "2024-04-01T00:30:00"],
            id="Berlin, spring: 02:30 does not exist and opens at 03:00",
        ),
        pytest.param(
            BERLIN,
            "30 2 * * *",
            "2024-10-27T00:00:00",
            ["2024-10-27T00:30:00", "2024-10-28T01:30:00"],
            id="Berlin, autumn: 02:30 comes twice and opens the first time",
        ),
        pytest.param(
            BERLIN,
            "0,30 2 * * *",
            "2024-03-31T00:00:00",
            ["2024-03-31T01:00:00", "2024-04-01T00:00:00"],
            id="two skipped times open one window",
        ),
    ],
)
def test_days_on_which_the_clock_changes(
    zone: ZoneInfo, cron: str, day: str, starts: list[str]
) -> None:
    schedule = Recurring(cron, timedelta(minutes=10), zone)
    found = [window.start for window in islice(schedule.windows(_at(day)), len(starts))]
    assert found == [_at(start) for start in starts]


def test_a_duration_is_elapsed_time_over_a_change_of_the_clock() -> None:
    schedule = Recurring("0 0 * * *", timedelta(hours=6), BERLIN)
    window = open_window(schedule, _at("2024-03-31T00:00:00"))
    assert window == Window(_at("2024-03-30T23:00:00"), _at("2024-03-31T05:00:00"))


def test_a_window_that_opens_in_a_repeated_hour_stays_open_in_its_second_pass() -> None:
    schedule = Recurring("30 2 * * *", timedelta(hours=2), BERLIN)
    again = _at("2024-10-27T01:10:00")  # 02:10 local, the second time
    assert open_window(schedule, again) == Window(
        _at("2024-10-27T00:30:00"), _at("2024-10-27T02:30:00")
    )


def test_upcoming_yields_the_windows_that_overlap_a_span() -> None:
    span = (_at("2024-03-01T23:00:00"), _at("2024-03-03T22:00:00"))
    assert [window.start for window in upcoming(NIGHTLY, *span)] == [
        _at("2024-03-01T22:00:00"),
        _at("2024-03-02T22:00:00"),
    ]


INSTANTS = st.integers(0, 3 * 365 * 86_400).map(
    lambda seconds: _at("2023-01-01T00:00:00") + timedelta(seconds=seconds)
)
CRONS = st.sampled_from(
    ["0 22 * * *", "*/30 1-3 * * *", "15 2 * * SUN", "0 0 1 * *", "*/7 * * * *"]
)


@settings(deadline=None)
@given(
    CRONS,
    st.integers(1, 24 * 60),
    st.sampled_from([UTC_ZONE, NEW_YORK, BERLIN, ZoneInfo("Australia/Lord_Howe")]),
    INSTANTS,
)
def test_the_phase_changes_at_the_next_transition_and_not_before(
    cron: str, minutes: int, zone: ZoneInfo, now: datetime
) -> None:
    schedule = Recurring(cron, timedelta(minutes=minutes), zone)
    edge = next_transition(schedule, now)
    assert edge is not None
    assert edge > now
    before = open_window(schedule, now) is not None
    assert (open_window(schedule, edge - timedelta(seconds=1)) is not None) == before
    never_closes = before and edge - now > HORIZON
    assert never_closes or (open_window(schedule, edge) is not None) != before
