"""The windows of ScheduledScalings within a time span, grouped by Tortoise."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import merge
from itertools import groupby, islice
from typing import Final, NamedTuple

from webhook.api.scaling import ScheduledScaling
from webhook.domain.scaling import schedules
from webhook.domain.scaling.floors import Floors, combine
from webhook.domain.scaling.recurrence import Window
from webhook.domain.scaling.windows import Recurring, WindowSchedule, upcoming
from webhook.kube.meta import ObjectKey

MAX_WINDOWS: Final = 3_000
"""More windows of a schedule than anybody can see: the shortest gaps between them are left out."""
MAX_STEPS: Final = 2_000


class Bar(NamedTuple):
    """One schedule: its windows in the span and its floors; `remark` states why it has no window.

    `hidden` is the length of the longest gap between windows that may be left out.
    """

    name: str
    windows: tuple[Window, ...]
    floors: Floors
    remark: str = ""
    hidden: timedelta = timedelta(0)


class Lane(NamedTuple):
    """All schedules of one Tortoise."""

    tortoise: ObjectKey
    bars: tuple[Bar, ...]


class FloorStep(NamedTuple):
    """A span in which the same combined floors apply."""

    window: Window
    floors: Floors


def lanes(scalings: Iterable[ScheduledScaling], since: datetime, until: datetime) -> Sequence[Lane]:
    """Group schedules by Tortoise, sorted by name."""
    found: dict[ObjectKey, list[Bar]] = {}
    for scaling in sorted(scalings, key=lambda each: each.key):
        key = ObjectKey(scaling.namespace, scaling.spec.target_refs.tortoise_name)
        found.setdefault(key, []).append(_bar(scaling, since, until))
    return [Lane(key, tuple(found[key])) for key in sorted(found)]


def steps(lane: Lane) -> Iterator[FloorStep]:
    """Yield the first MAX_STEPS spans in which floors apply to a Tortoise, in order."""
    return islice(_steps(lane), MAX_STEPS)


def _steps(lane: Lane) -> Iterator[FloorStep]:
    last: FloorStep | None = None
    for window, floors in _spans(lane):
        if last is not None and last.window.end == window.start and last.floors == floors:
            last = FloorStep(Window(last.window.start, window.end), floors)
            continue
        if last is not None:
            yield last
        last = FloorStep(window, floors) if floors else None
    if last is not None:
        yield last


def _spans(lane: Lane) -> Iterator[FloorStep]:
    """Yield what applies from each edge of a window to the next one, whichever bar has it."""
    opened: set[int] = set()
    combined: dict[frozenset[int], Floors] = {}
    last: datetime | None = None
    edges = merge(*(_edges(number, bar) for number, bar in enumerate(lane.bars)))
    for instant, group in groupby(edges, key=lambda edge: edge[0]):
        if last is not None:
            now = frozenset(opened)
            if now not in combined:
                combined[now] = combine(lane.bars[each].floors for each in sorted(now))
            yield FloorStep(Window(last, instant), combined[now])
        for _, number, opens in group:
            (opened.add if opens else opened.discard)(number)
        last = instant


def _edges(number: int, bar: Bar) -> Iterator[tuple[datetime, int, bool]]:
    for window in bar.windows:
        yield window.start, number, True
        yield window.end, number, False


def describe(floors: Floors) -> str:
    """Describe floors in one line."""
    parts = [f"{floors.replicas} replicas"] if floors.replicas is not None else []
    parts += [
        f"{container} {resource} {amount}"
        for container, amounts in sorted(floors.resources.items())
        for resource, amount in sorted(amounts.items())
    ]
    return ", ".join(parts)


def _bar(scaling: ScheduledScaling, since: datetime, until: datetime) -> Bar:
    faults, schedule, floors = schedules.parse(scaling)
    for fault in faults[:1]:
        return Bar(scaling.name, (), floors, f"{fault.field}: {fault.message}")
    if schedule is None or scaling.spec.suspend or scaling.is_deleting:
        remark = "suspended" if scaling.spec.suspend else "has ended"
        return Bar(scaling.name, (), floors, remark)
    windows = tuple(islice(_windows(schedule, since, until), MAX_WINDOWS + 1))
    hidden = timedelta(0)
    if len(windows) > MAX_WINDOWS and isinstance(schedule, Recurring):
        hidden = (until - since) / MAX_WINDOWS
        windows = tuple(_joined_windows(schedule, since, until, hidden))
    remark = "" if windows else "no window in this time span"
    return Bar(scaling.name, windows, floors, remark, hidden)


def _windows(schedule: WindowSchedule, since: datetime, until: datetime) -> Iterator[Window]:
    for window in upcoming(schedule, since, until):
        yield Window(max(window.start, since), min(window.end, until))


def _joined_windows(
    schedule: Recurring, since: datetime, until: datetime, gap: timedelta
) -> Iterator[Window]:
    """Yield windows that stay open over gaps of at most so long.

    Windows that are longer by that much overlap instead; each is cut by as much at its end.
    """
    until = min(until, schedule.not_after) if schedule.not_after is not None else until
    longer = replace(schedule, duration=schedule.duration + gap, not_after=None)
    for window in _windows(longer, since, until + gap):
        joined = Window(window.start, min(window.end - gap, until))
        if joined.start < joined.end:
            yield joined
