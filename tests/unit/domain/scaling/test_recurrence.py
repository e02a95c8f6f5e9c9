"""Recurring windows of every density: the same as a walk over occurrences, at a fixed cost."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSimError
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.support import naive_windows
from tests.support.steps import count_steps
from webhook.domain.scaling.cron import CronPattern
from webhook.domain.scaling.recurrence import Window
from webhook.domain.scaling.windows import HORIZON, Recurring, next_transition, upcoming

ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"),
    *("America/Havana", "Asia/Gaza", "Antarctica/Troll", "Pacific/Chatham"),
)
DAY = timedelta(days=1)
NOW = datetime(2026, 11, 18, 4, 50, 13, tzinfo=UTC)


def _clock_changes() -> list[datetime]:
    """Find when clocks change in these zones, over three years."""
    found = []
    for zone in map(ZoneInfo, ZONES):
        hours = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(3 * 8766))
        offset: timedelta | None = None
        for hour in hours:
            before, offset = offset, hour.astimezone(zone).utcoffset()
            if before not in (None, offset):
                found.append(hour)
    return found


CHANGES = _clock_changes()


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    ranges = st.tuples(numbers, numbers).map(lambda pair: f"{min(pair)}-{max(pair)}")
    lists = st.lists(numbers, min_size=1, max_size=5).map(lambda each: ",".join(map(str, each)))
    steps = st.tuples(st.sampled_from(["*"]) | ranges, st.integers(1, 15)).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )
    return st.one_of(st.just("*"), lists, ranges, steps)


def _mostly_any(low: int, high: int) -> st.SearchStrategy[str]:
    return st.one_of(st.just("*"), st.just("*"), _field(low, high))


CRONS = st.tuples(
    _field(0, 59), _field(0, 23), _mostly_any(1, 31), _mostly_any(1, 12), _mostly_any(0, 6)
).map(" ".join)
DURATIONS = st.one_of(
    st.sampled_from([60, 61, 119, 120, 3599, 3600, 86_399, 86_400]), st.integers(60, 86_400)
).map(lambda seconds: timedelta(seconds=seconds))
INSTANTS = st.builds(
    lambda change, seconds: change + timedelta(seconds=seconds),
    st.sampled_from(CHANGES),
    st.integers(-3 * 86_400, 3 * 86_400),
)
OFFSETS = st.none() | st.integers(-4 * 86_400, 4 * 86_400).map(lambda n: timedelta(seconds=n))


def _clip(windows: list[Window], since: datetime, until: datetime) -> list[Window]:
    cut = (Window(max(start, since), min(end, until)) for start, end in windows)
    return [window for window in cut if window.start < window.end]


@settings(deadline=None, max_examples=100)
@given(CRONS, DURATIONS, st.sampled_from(ZONES), INSTANTS, OFFSETS, OFFSETS)
@example("* * * * *", timedelta(minutes=1), "Europe/Berlin", CHANGES[0], None, None)
@example("0,30 2 * * *", timedelta(hours=24), "America/New_York", CHANGES[0], None, DAY)
def test_merged_windows_equal_a_walk_over_all_occurrences(
    cron: str,
    duration: timedelta,
    zone: str,
    now: datetime,
    starts: timedelta | None,
    lasts: timedelta | None,
) -> None:
    not_before = now + starts if starts is not None else None
    not_after = (not_before or now) + abs(lasts) if lasts is not None else None
    schedule = Recurring(cron, duration, ZoneInfo(zone), not_before, not_after)
    until = now + HORIZON
    try:
        walked = naive_windows.walk(schedule, now - HORIZON - 2 * DAY, until)
    except CronSimError:
        assume(False)
    found = [*upcoming(schedule, now, until)]
    assert _clip(found, now, until) == _clip(walked, now, until)
    recent = now - HORIZON
    whole = [each.start for each in walked if each.end > now and each.start > recent]
    assert [each.start for each in found if each.start > recent] == whole


def _next(cron: str, minutes: int = 1, zone: str = "UTC", **bounds: datetime) -> Callable[[], None]:
    schedule = Recurring(cron, timedelta(minutes=minutes), ZoneInfo(zone), **bounds)

    def evaluate() -> None:
        next(schedule.windows(NOW), None)

    evaluate()  # the windows of a day are merged once
    return evaluate


HOURLY = count_steps(_next("0 * * * *", 30))


@pytest.mark.parametrize(
    "evaluate",
    [
        pytest.param(_next("* * * * *"), id="every minute for a minute"),
        pytest.param(_next("* * * * *", 1440), id="every minute for a day"),
        pytest.param(_next("* * * * *", 5, "Europe/Berlin"), id="every minute, in a zone"),
        pytest.param(_next("*/2 * * * *"), id="opening and closing every minute"),
        pytest.param(
            _next("* * * * *", not_before=datetime(2126, 1, 1, tzinfo=UTC)),
            id="every minute, from the next century on",
        ),
        pytest.param(
            _next("* * * * *", not_before=datetime(2000, 1, 1, tzinfo=UTC)),
            id="every minute, since the last century",
        ),
        pytest.param(_next("0 0 * * *"), id="once a day"),
    ],
)
def test_the_cost_of_a_schedule_does_not_depend_on_its_density(
    evaluate: Callable[[], None],
) -> None:
    assert count_steps(evaluate) < 5 * HOURLY


def test_the_windows_of_a_day_are_merged_in_one_pass_over_its_times() -> None:
    dense, sparse = CronPattern("* * * * *"), CronPattern("0 * * * *")
    minute = timedelta(minutes=1)
    assert count_steps(lambda: dense.runs(minute)) <= count_steps(lambda: sparse.runs(minute))
    assert count_steps(lambda: CronPattern("*/2 * * * *").runs(minute)) < 3 * 24 * 60


def test_a_window_is_cached_until_the_next_edge() -> None:
    schedule = Recurring("*/2 * * * *", timedelta(minutes=1), ZoneInfo("UTC"))
    next(schedule.windows(NOW))  # the windows of a day are merged once
    first = count_steps(lambda: schedule.first(NOW))
    assert count_steps(lambda: schedule.first(NOW)) < first / 5
    window = schedule.first(NOW)
    assert window is not None
    assert schedule.first(window.end - timedelta(seconds=1)) == window
    following = schedule.first(window.end)
    assert following is not None
    assert following.start == window.end + timedelta(minutes=1)
    assert schedule.first(NOW) == window, "clocks may go back"


def test_a_window_that_never_closes_changes_once_a_day() -> None:
    schedule = Recurring("* * * * *", timedelta(minutes=1), ZoneInfo("Asia/Tokyo"))
    midnight = datetime(2026, 11, 19, tzinfo=UTC)
    window = schedule.first(NOW)
    again = Recurring("* * * * *", timedelta(minutes=1), ZoneInfo("Asia/Tokyo"))
    assert again.first(midnight - timedelta(seconds=1)) == window, "also in another process"
    later = schedule.first(midnight)
    assert window is not None
    assert later == Window(window.start + DAY, window.end + DAY)


def test_a_window_that_does_not_close_is_open_for_a_whole_timeline() -> None:
    schedule = Recurring("*/5 * * * *", timedelta(minutes=5), ZoneInfo("UTC"))
    until = NOW + 30 * DAY
    (window,) = upcoming(schedule, NOW, until)
    assert window.end >= until


@pytest.mark.parametrize(
    ("cron", "opens"),
    [
        pytest.param("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC), id="on leap days"),
        pytest.param("0 0 29 2 */8", datetime(2032, 2, 29, tzinfo=UTC), id="on leap Sundays"),
        pytest.param("0 0 */3 2 1#5", None, id="never: a fifth Monday in February is a 29th"),
    ],
)
def test_sparse_schedules(cron: str, opens: datetime | None) -> None:
    schedule = Recurring(cron, timedelta(hours=1), ZoneInfo("UTC"))
    assert next_transition(schedule, NOW) == opens


@pytest.mark.parametrize("year", [9998, 9999])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Niue"])
def test_bounds_at_the_end_of_the_calendar_mean_no_window(year: int, zone: str) -> None:
    end = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
    schedule = Recurring("* * * * *", timedelta(hours=24), ZoneInfo(zone), end, end)
    assert schedule.first(NOW) is None


def test_the_first_and_the_last_day_of_the_calendar_are_bounds_like_others() -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
    schedule = Recurring("0 9 * * *", timedelta(hours=1), ZoneInfo("UTC"), first, last)
    assert next_transition(schedule, NOW) == datetime(2026, 11, 18, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "minutes", "gaps"),
    [
        pytest.param("* * * * *", 1, set(), id="every minute"),
        pytest.param("0 0 * * *", 1440, set(), id="every day, for a day"),
        pytest.param("0 0 * * *", 1439, {1}, id="every day, but for a minute"),
        pytest.param("0 0 * * 1-5", 1440, {2 * 1440}, id="on working days"),
        pytest.param("*/2 * * * *", 1, {1}, id="every other minute"),
        pytest.param("0 8,9,12 * * *", 60, {120, 19 * 60}, id="twice a day"),
    ],
)
def test_gaps_between_windows(cron: str, minutes: int, gaps: set[int]) -> None:
    found = CronPattern(cron).gaps(timedelta(minutes=minutes), NOW.date())
    assert found == {timedelta(minutes=gap) for gap in gaps}


def test_windows_are_read_one_by_one_on_a_dense_day() -> None:
    schedule = Recurring("*/2 * * * *", timedelta(minutes=1), ZoneInfo("UTC"))
    one = count_steps(lambda: next(schedule.windows(NOW)))
    ten = count_steps(lambda: [*islice(schedule.windows(NOW), 10)])
    assert ten < 10 * one
