"""The windows of a cron expression by its definition: one occurrence after the other."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from webhook.domain.scaling.recurrence import Window
from webhook.domain.scaling.windows import Recurring

_MINUTE = timedelta(minutes=1)
_SLACK = timedelta(days=1)


def walk(schedule: Recurring, since: datetime, until: datetime) -> list[Window]:
    """Return the merged windows of occurrences that start in a span, cut to the bounds."""
    merged: list[Window] = []
    for start in _occurrences(schedule.cron, schedule.zone, since, until):
        end = start + schedule.duration
        start = max(start, schedule.not_before or start)
        end = min(end, schedule.not_after or end)
        if start >= end:
            continue
        if merged and start <= merged[-1].end:
            merged[-1] = Window(merged[-1].start, max(merged[-1].end, end))
        else:
            merged.append(Window(start, end))
    return merged


def _occurrences(cron: str, zone: ZoneInfo, since: datetime, until: datetime) -> Iterator[datetime]:
    wall = since.astimezone(zone).replace(tzinfo=None) - _SLACK
    for each in CronSim(cron, wall):
        if each > until.astimezone(zone).replace(tzinfo=None) + _SLACK:
            return
        instant = _instant(each, zone)
        if since <= instant < until:
            yield instant


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """Convert a local time: the first if it occurs twice, the end of the gap if skipped."""
    instant = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == wall:
        return instant
    offset = instant.astimezone(zone).utcoffset()
    while (instant - _MINUTE).astimezone(zone).utcoffset() == offset:
        instant -= _MINUTE
    return instant
