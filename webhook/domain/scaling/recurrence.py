"""The windows of a cron expression that begin on one day of a time zone, merged.

A day without a change of the clock is the same every time but for its midnight, so its windows are
merged once. Days with a change are merged one by one.
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple, overload
from zoneinfo import ZoneInfo

from typing_extensions import override

from webhook.domain.scaling.cron import CronPattern, Runs, merge

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = date(1970, 1, 1)
_DAY: Final = 86_400
_WEST, _EAST = 15 * 3600, 13 * 3600
"""A day somewhere begins less than 15 hours before, and ends less than 13 after that of UTC."""


class Window(NamedTuple):
    """A span of time, including its start and excluding its end."""

    start: datetime
    end: datetime

    def holds(self, instant: datetime) -> bool:
        return self.start <= instant < self.end


class DayWindows(Sequence[Window]):
    """The windows that begin on one day, in order; each is made when it is read."""

    __slots__ = ("_duration", "_midnight", "_runs")

    def __init__(self, midnight: datetime, runs: Runs, duration: timedelta) -> None:
        self._midnight = midnight
        self._runs = runs
        self._duration = duration

    @override
    def __len__(self) -> int:
        return len(self._runs.firsts)

    @overload
    def __getitem__(self, index: int) -> Window: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Window]: ...
    @override
    def __getitem__(self, index: int | slice) -> Window | Sequence[Window]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        first, last = self._runs.firsts[index], self._runs.lasts[index]
        return Window(
            self._midnight + timedelta(seconds=first),
            self._midnight + timedelta(seconds=last) + self._duration,
        )

    def first_open_after(self, instant: datetime) -> int:
        """Return the index of the first window that ends after an instant."""
        seconds = (instant - self._duration - self._midnight) // timedelta(seconds=1)
        return bisect_right(self._runs.lasts, seconds)


class ClockChange(NamedTuple):
    """The offsets around a day, and the instant at which they change, in seconds."""

    before: int
    at: int
    after: int

    def instant(self, wall: int) -> int:
        """Convert a local time: the first if it occurs twice, the end of the gap if skipped."""
        first = wall - self.before
        return first if first < self.at else max(self.at, wall - self.after)


class Recurrence:
    """A cron expression in a time zone, with windows of one duration."""

    def __init__(self, pattern: CronPattern, duration: timedelta, zone: ZoneInfo) -> None:
        self._pattern = pattern
        self._duration = duration
        self._zone = zone
        self._runs = pattern.runs(duration)

    def windows_of(self, day: date) -> DayWindows | None:
        """Return the windows that begin on a day; None if the day does not match."""
        if not self._pattern.matches(day):
            return None
        midnight = (day - _FIRST_DAY).days * _DAY
        change = _change_around(self._zone, midnight)
        times = self._pattern.times
        if midnight + times[-1] - change.before < change.at:
            return self._plain(midnight - change.before)
        if midnight + times[0] - max(change.before, change.after) >= change.at:
            return self._plain(midnight - change.after)
        base = midnight - change.before
        moved = array("i", [change.instant(midnight + time) - base for time in times])
        return DayWindows(_instant(base), merge(moved, self._duration), self._duration)

    def _plain(self, midnight: int) -> DayWindows:
        return DayWindows(_instant(midnight), self._runs, self._duration)


def _instant(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


@lru_cache(maxsize=4096)
def _change_around(zone: ZoneInfo, midnight: int) -> ClockChange:
    """Find the change of the clock around a day, given its midnight as if in UTC.

    Without a change, the instant is after the day. No zone has changed its clocks twice within
    three days since 2015.
    """
    low, high = midnight - _WEST, midnight + _DAY + _EAST
    before, after = _offset(zone, low), _offset(zone, high)
    if before == after:
        return ClockChange(before, high + _DAY, after)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    return ClockChange(before, high, after)


def _offset(zone: ZoneInfo, seconds: int) -> int:
    offset = _instant(seconds).astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0
