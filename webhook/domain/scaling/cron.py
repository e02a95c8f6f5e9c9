"""Cron expressions in two parts: the days that match, and the times on such a day.

Both are small whatever the density of an expression, so nothing here walks its occurrences.
"""

from array import array
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from cronsim import CronSim

Seconds: TypeAlias = "array[int]"
"""Times of day in order, in seconds since midnight, four bytes each."""

_DAY: Final = timedelta(days=1)
_SEARCHED_YEARS: Final = 50
"""An expression that matches no day for so long never does."""
_LAST_YEAR: Final = 9_990
"""Later days are not searched: times at the end of the calendar overflow."""
_COMPARED_DAYS: Final = 366


class Runs(NamedTuple):
    """The windows of a day, merged: the first and the last time of each that is left."""

    firsts: Seconds
    lasts: Seconds


class CronPattern:
    """The days and the times of day of a cron expression, in no time zone."""

    def __init__(self, expression: str) -> None:
        parsed = CronSim(expression, datetime(2000, 1, 1))  # noqa: DTZ001 -- only parsed here
        self._months = parsed.months
        self._matches = parsed.match_day
        hours, minutes = sorted(parsed.hours), sorted(parsed.minutes)
        self.times: Seconds = array(
            "i", [hour * 3600 + minute * 60 for hour in hours for minute in minutes]
        )

    def matches(self, day: date) -> bool:
        return day.month in self._months and self._matches(day)

    def next_day(self, day: date) -> date | None:
        """Return the first day that matches, from a day on; None if none does."""
        last = min(day.year + _SEARCHED_YEARS, _LAST_YEAR)
        while day.year <= last:
            if day.month not in self._months:
                day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
            elif self._matches(day):
                return day
            else:
                day += _DAY
        return None

    def runs(self, duration: timedelta) -> Runs:
        """Merge windows of one day that overlap or touch, on a day of 24 hours."""
        return merge(self.times, duration)

    def gaps(self, duration: timedelta, day: date) -> set[timedelta]:
        """Return the times between two windows, from a day on; none if they always overlap."""
        firsts, lasts = self.runs(duration)
        gaps = {
            timedelta(seconds=first - last) - duration
            for last, first in zip(lasts, firsts[1:], strict=False)
        }
        night = timedelta(seconds=firsts[0] - lasts[-1]) - duration
        gaps |= {each + night for each in self._distances(day)}
        return {gap for gap in gaps if gap > timedelta(0)}

    def _distances(self, day: date) -> set[timedelta]:
        """Return the distances between days that match."""
        found: set[timedelta] = set()
        last = self.next_day(day)
        for _ in range(_COMPARED_DAYS):
            following = self.next_day(last + _DAY) if last is not None else None
            if last is None or following is None:
                break
            found.add(following - last)
            last = following
        return found


@lru_cache(maxsize=1024)
def pattern_of(expression: str) -> CronPattern:
    """Parse a valid cron expression of five fields; raises CronSimError for any other."""
    return CronPattern(expression)


def merge(times: Seconds, duration: timedelta) -> Runs:
    """Merge windows that start at these times where they overlap or touch."""
    firsts, lasts = array("i"), array("i")
    if not times:
        return Runs(firsts, lasts)
    longest = duration.total_seconds()
    first = last = times[0]
    for time in times:
        if time - last > longest:
            firsts.append(first)
            lasts.append(last)
            first = time
        last = time
    firsts.append(first)
    lasts.append(last)
    return Runs(firsts, lasts)
