"""Windows of schedules over a span of time, Tortoise by Tortoise."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final, NamedTuple

from webhook.api.meta import ObjectKey
from webhook.api.scaling import ScheduledScaling
from webhook.domain import schedules, soundness
from webhook.domain.floors import Floors, combine
from webhook.domain.windows import Window, upcoming

MOST_WINDOWS: Final = 2_000
"""A schedule that opens every minute is followed no further than this."""


class Bar(NamedTuple):
    """One schedule: its windows in the span, its floors, and why it has none."""

    name: str
    windows: tuple[Window, ...]
    floors: Floors
    remark: str = ""


class Lane(NamedTuple):
    """All schedules of one Tortoise."""

    tortoise: ObjectKey
    bars: tuple[Bar, ...]

    def held(self, instant: datetime) -> Floors:
        """Give the floors that hold together at an instant."""
        return combine(
            bar.floors for bar in self.bars if any(each.holds(instant) for each in bar.windows)
        )


class Step(NamedTuple):
    """A span in which the same floors hold."""

    window: Window
    floors: Floors


def lanes(scalings: Iterable[ScheduledScaling], since: datetime, until: datetime) -> Sequence[Lane]:
    """Group schedules by their Tortoise, by name."""
    found: dict[ObjectKey, list[Bar]] = {}
    for scaling in sorted(scalings, key=lambda each: each.key):
        key = ObjectKey(scaling.namespace, scaling.spec.target_refs.tortoise_name)
        found.setdefault(key, []).append(_bar(scaling, since, until))
    return [Lane(key, tuple(found[key])) for key in sorted(found)]


def steps(lane: Lane) -> Iterator[Step]:
    """Yield what holds on a Tortoise, from edge to edge, without the gaps."""
    instants = sorted({edge for bar in lane.bars for window in bar.windows for edge in window})
    last: Step | None = None
    for start, end in pairwise(instants):
        floors = lane.held(start)
        if last is not None and last.window.end == start and last.floors == floors:
            last = Step(Window(last.window.start, end), floors)
            continue
        if last is not None:
            yield last
        last = Step(Window(start, end), floors) if floors else None
    if last is not None:
        yield last


def describe(floors: Floors) -> str:
    """Write floors in a few words."""
    parts = [f"{floors.replicas} replicas"] if floors.replicas is not None else []
    parts += [
        f"{container} {resource} {amount}"
        for container, amounts in sorted(floors.resources.items())
        for resource, amount in sorted(amounts.items())
    ]
    return ", ".join(parts)


def _bar(scaling: ScheduledScaling, since: datetime, until: datetime) -> Bar:
    floors = schedules.floors_of(scaling)
    fault = next(soundness.faults(scaling.spec), None)
    if fault is not None:
        return Bar(scaling.name, (), floors, f"{fault.field}: {fault.message}")
    schedule = schedules.schedule_of(scaling)
    if schedule is None or scaling.spec.suspend or scaling.is_deleting:
        remark = "suspended" if scaling.spec.suspend else "is over"
        return Bar(scaling.name, (), floors, remark)
    windows: list[Window] = []
    for window in upcoming(schedule, since, until):
        if len(windows) == MOST_WINDOWS:
            break
        windows.append(Window(max(window.start, since), min(window.end, until)))
    return Bar(scaling.name, tuple(windows), floors, "" if windows else "no window in these days")
