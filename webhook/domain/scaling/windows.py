"""One-shot and recurring windows: which one is open, and when that changes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

from webhook.domain.scaling.cron import CronPattern, pattern_of
from webhook.domain.scaling.recurrence import Recurrence, Window

Phase: TypeAlias = Literal["Pending", "Active", "Completed"]

MIN_DURATION: Final = timedelta(minutes=1)
MAX_DURATION: Final = timedelta(hours=24)

HORIZON: Final = timedelta(days=2)
"""Overlapping windows are merged at least this far into the past and the future; a window that
never closes ends there and is evaluated again. Both ends are counted from midnight, so that they
change once a day."""

_DAY: Final = timedelta(days=1)
_LAST_YEAR: Final = 9_990


@dataclass(frozen=True, slots=True)
class OneShot:
    """A single window."""

    window: Window

    def windows(self, since: datetime, _until: datetime | None = None) -> Iterator[Window]:
        """Yield the windows that end after `since`, in order."""
        if since < self.window.end:
            yield self.window

    def first(self, now: datetime) -> Window | None:
        """Return the first window that ends after `now`."""
        return self.window if now < self.window.end else None


@dataclass(slots=True)
class _FirstWindow:
    """The result of an evaluation, and the times that it is right for."""

    window: Window | None
    since: datetime
    until: datetime


@dataclass(frozen=True)
class Recurring:
    """Windows that open by a cron expression in local time and last for a duration.

    A local time that is skipped when clocks change opens at the first instant after the gap; one
    that occurs twice opens the first time only. `not_before` and `not_after` truncate windows. They
    are not dropped, because a schedule is a state and not a trigger.

    The cost of an evaluation does not depend on how often windows open: those of one day are merged
    in advance, and evaluations go from day to day.
    """

    cron: str
    duration: timedelta
    zone: ZoneInfo
    not_before: datetime | None = None
    not_after: datetime | None = None
    _cached: list[_FirstWindow] = field(default_factory=list, init=False, repr=False, compare=False)

    @cached_property
    def pattern(self) -> CronPattern:
        return pattern_of(self.cron)

    @cached_property
    def _recurrence(self) -> Recurrence:
        return Recurrence(self.pattern, self.duration, self.zone)

    def first(self, now: datetime) -> Window | None:
        """Return the first window that ends after `now`, cached until it changes."""
        if self._cached:
            known = self._cached[0]
            if known.since <= now < known.until:
                return known.window
        found = next(self.windows(now), None)
        self._cached[:] = (_FirstWindow(found, now, _next_change(found, now)),)
        return found

    def windows(self, since: datetime, until: datetime | None = None) -> Iterator[Window]:
        """Yield the windows that end after `since`, in order, with overlapping ones merged.

        A window that does not close is the last one, and ends at the horizon, or after `until`.
        """
        if self.not_before is not None:
            since = max(since, self.not_before)
        midnight = since.replace(hour=0, minute=0, second=0, microsecond=0)
        newest = midnight + _DAY + HORIZON if since.year < _LAST_YEAR else since
        newest = max(newest, until) if until is not None else newest
        merged: Window | None = None
        for window in self._raw_windows(since, midnight):
            if merged is not None and window.start <= merged.end:
                merged = Window(merged.start, max(merged.end, window.end))
                if merged.end > newest:
                    break
                continue
            if merged is not None and merged.end > since:
                yield merged
            merged = window
        if merged is not None and merged.end > since:
            yield merged

    def _raw_windows(self, since: datetime, midnight: datetime) -> Iterator[Window]:
        """Yield windows from the start of those that may be open at `since`, cut to the bounds."""
        position = self._position(since, midnight)
        day, index = position if position is not None else (None, 0)
        while day is not None:
            found = self._recurrence.windows_of(day) or ()
            for window in (found[each] for each in range(index, len(found))):
                if self.not_after is not None and window.start >= self.not_after:
                    return
                window = self._cut(window)
                if window.start < window.end:
                    yield window
            day, index = self.pattern.next_day(day + _DAY), 0

    def _cut(self, window: Window) -> Window:
        start, end = window
        if self.not_before is not None:
            start = max(start, self.not_before)
        if self.not_after is not None:
            end = min(end, self.not_after)
        return Window(start, end)

    def _position(self, since: datetime, midnight: datetime) -> tuple[date, int] | None:
        """Return the day and the index of the first of the windows that may be open at `since`."""
        if since.year >= _LAST_YEAR:
            return None
        # The day before as well, because a change of the clock moves windows.
        day = self.pattern.next_day((since - self.duration).astimezone(self.zone).date() - _DAY)
        while day is not None:
            found = self._recurrence.windows_of(day)
            index = found.first_open_after(since) if found is not None else 0
            if found is not None and index < len(found):
                return self._chain_start(day, index, midnight - HORIZON)
            day = self.pattern.next_day(day + _DAY)
        return None

    def _chain_start(self, day: date, index: int, oldest: datetime) -> tuple[date, int]:
        """Go back over the windows of earlier days that overlap with the first one of a day."""
        if self.not_before is not None:
            oldest = max(oldest, self.not_before)
        longest = self.duration // _DAY + 2
        while index == 0:
            found = self._recurrence.windows_of(day)
            if not found or found[0].start <= oldest:
                break
            days = (day - each * _DAY for each in range(1, longest + 1))
            earlier = next(filter(self.pattern.matches, days), None)
            before = self._recurrence.windows_of(earlier) if earlier is not None else None
            if earlier is None or not before or before[-1].end < found[0].start:
                break
            day, index = earlier, len(before) - 1
        return day, index


WindowSchedule: TypeAlias = OneShot | Recurring


def _next_change(window: Window | None, now: datetime) -> datetime:
    """Return until when an evaluation is right; one that met the horizon until midnight."""
    if window is None:
        return next_midnight(now)
    if window.end - window.start <= HORIZON:
        return window.end
    return min(next_midnight(now), window.end) if window.holds(now) else window.start


def next_midnight(now: datetime) -> datetime:
    """Return when evaluations that met the horizon have to be made again."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0) + _DAY


def open_window(schedule: WindowSchedule, now: datetime) -> Window | None:
    """Return the window that is open now."""
    window = schedule.first(now)
    return window if window is not None and window.holds(now) else None


def next_transition(schedule: WindowSchedule, now: datetime) -> datetime | None:
    """Return when the next window opens or the open one closes; None if none will."""
    window = schedule.first(now)
    if window is None:
        return None
    return window.end if window.holds(now) else window.start


def phase(schedule: WindowSchedule, now: datetime) -> Phase:
    """Return the phase of a schedule: before a window, in one, or after the last one."""
    window = schedule.first(now)
    if window is None:
        return "Completed"
    return "Active" if window.holds(now) else "Pending"


def upcoming(schedule: WindowSchedule, since: datetime, until: datetime) -> Iterator[Window]:
    """Yield the windows that overlap a span of time."""
    for window in schedule.windows(since, until):
        if window.start >= until:
            return
        yield window
