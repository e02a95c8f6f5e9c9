"""One-shot and recurring windows of time: which one is open now, and when that changes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from cronsim import CronSim

Phase: TypeAlias = Literal["Pending", "Active", "Completed"]

MIN_DURATION = timedelta(minutes=1)
MAX_DURATION = timedelta(hours=24)

# No clock in use changes by more, so a search that starts this much off in local time cannot
# miss an occurrence.
_SHIFT = timedelta(hours=3)
# Overlapping windows are one window, followed this far into the past and the future: one that
# never closes is open until the horizon, and looked at again there.
HORIZON = timedelta(days=2)


class Window(NamedTuple):
    """A span of time that includes its start and excludes its end."""

    start: datetime
    end: datetime

    def holds(self, instant: datetime) -> bool:
        return self.start <= instant < self.end


@dataclass(frozen=True, slots=True)
class OneShot:
    """A single window."""

    window: Window

    def windows(self, since: datetime) -> Iterator[Window]:
        """Yield the windows that end after `since`, in order."""
        if since < self.window.end:
            yield self.window


@dataclass(frozen=True, slots=True)
class Recurring:
    """Windows that open by a cron expression in local time and last an elapsed time.

    A local time that the clock skips opens at the first instant after the gap; one that it
    passes twice opens the first time only. `not_before` and `not_after` cut windows.
    """

    cron: str
    duration: timedelta
    zone: ZoneInfo
    not_before: datetime | None = None
    not_after: datetime | None = None

    def windows(self, since: datetime) -> Iterator[Window]:
        """Yield the windows that end after `since`, in order, overlapping ones as one."""
        merged: Window | None = None
        for window in self._raw_windows(self._chain_start(since)):
            if merged is not None and window.start <= merged.end:
                merged = Window(merged.start, max(merged.end, window.end))
                if merged.end - since > HORIZON:
                    yield merged
                    return
                continue
            if merged is not None and merged.end > since:
                yield merged
            merged = window
        if merged is not None and merged.end > since:
            yield merged

    def _raw_windows(self, opening: datetime) -> Iterator[Window]:
        for start in _occurrences(self.cron, self.zone, opening):
            if self.not_after is not None and start >= self.not_after:
                return
            window = self._cut(Window(start, start + self.duration))
            if window.start < window.end:
                yield window

    def _cut(self, window: Window) -> Window:
        start, end = window
        if self.not_before is not None:
            start = max(start, self.not_before)
        if self.not_after is not None:
            end = min(end, self.not_after)
        return Window(start, end)

    def _chain_start(self, since: datetime) -> datetime:
        """Find where the chain of overlapping windows that may be open at `since` begins."""
        earliest = since
        oldest = since - HORIZON
        if self.not_before is not None:
            oldest = max(oldest, self.not_before)
        for start in _occurrences_back(self.cron, self.zone, since):
            if start + self.duration < earliest:
                break
            earliest = start
            if start <= oldest:
                break
        return earliest


Schedule: TypeAlias = OneShot | Recurring


def open_window(schedule: Schedule, now: datetime) -> Window | None:
    """Return the window that holds `now`."""
    window = next(schedule.windows(now), None)
    return window if window is not None and window.holds(now) else None


def next_edge(schedule: Schedule, now: datetime) -> datetime | None:
    """Return when the next window opens or the open one closes; None when nothing will."""
    window = next(schedule.windows(now), None)
    if window is None:
        return None
    return window.end if window.holds(now) else window.start


def phase(schedule: Schedule, now: datetime) -> Phase:
    """Say where a schedule stands: waiting, in a window, or past its last one."""
    window = next(schedule.windows(now), None)
    if window is None:
        return "Completed"
    return "Active" if window.holds(now) else "Pending"


def upcoming(schedule: Schedule, since: datetime, until: datetime) -> Iterator[Window]:
    """Yield the windows that overlap a span of time."""
    for window in schedule.windows(since):
        if window.start >= until:
            return
        yield window


def _occurrences(cron: str, zone: ZoneInfo, since: datetime) -> Iterator[datetime]:
    """Yield the instants at or after `since` at which the expression fires, in UTC."""
    local = since.astimezone(zone).replace(tzinfo=None) - _SHIFT
    last: datetime | None = None
    for wall in CronSim(cron, local):
        instant = _instant(wall, zone)
        if instant < since or instant == last:
            continue
        last = instant
        yield instant


def _occurrences_back(cron: str, zone: ZoneInfo, before: datetime) -> Iterator[datetime]:
    """Yield the instants at or before `before` at which the expression fires, newest first."""
    local = before.astimezone(zone).replace(tzinfo=None) + _SHIFT
    for wall in CronSim(cron, local, reverse=True):
        instant = _instant(wall, zone)
        if instant <= before:
            yield instant


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """Turn a local time into an instant: the first if doubled, the end of the gap if skipped."""
    first = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) == wall:
        return first
    # A skipped time lies between these two instants, and so does the change of the clock.
    low = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    high = first
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high.replace(microsecond=0)
