"""Edges of windows: when the next one is, which are due, and whether a floor was there before."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from webhook.api import conditions, names
from webhook.api.meta import ObjectKey
from webhook.api.scaling import ScheduledScaling
from webhook.api.timestamps import TimestampError, parse_time
from webhook.domain import schedules
from webhook.domain.windows import next_edge
from webhook.runtime.actions import Measure
from webhook.state.indexes import SCALINGS_BY_TORTOISE
from webhook.state.snapshot import Snapshot

FRESH: Final = timedelta(seconds=1)
"""How long those who write later at an edge wait for those who write first."""


class Edge(NamedTuple):
    """The start or the finish of a window."""

    name: Literal["start", "finish"]
    at: datetime


def seconds_to_next(tortoise: ObjectKey, snapshot: Snapshot) -> float | None:
    """Say how long until a window on a Tortoise opens or closes; None if none ever does."""
    now = snapshot.taken_at
    found = [
        edge
        for scaling in snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
        if (schedule := schedules.schedule_of(scaling)) is not None
        and (edge := next_edge(schedule, now)) is not None
    ]
    return (min(found) - now).total_seconds() if found else None


def due(scaling: ScheduledScaling, now: datetime) -> Edge | None:
    """Find the edge that a schedule's status does not show yet; an edit is none."""
    status = scaling.status
    if scaling.spec.suspend or scaling.is_deleting:
        return None
    if status.observed_generation not in (0, scaling.metadata.generation):
        return None
    window = schedules.window_of(scaling, now)
    was_active = status.phase == "Active"
    if window is not None and not was_active:
        created = _read(scaling.metadata.creation_timestamp) or window.start
        return Edge("start", max(window.start, created))
    if window is None and was_active and status.window is not None:
        finish = _read(status.window.finish)
        return Edge("finish", finish) if finish is not None and finish <= now else None
    return None


def due_on(tortoise: ObjectKey, snapshot: Snapshot) -> Iterator[Edge]:
    """Find the edges on a Tortoise that are not dealt with yet."""
    for scaling in snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise)):
        edge = due(scaling, snapshot.taken_at)
        if edge is not None:
            yield edge


def grace(tortoise: ObjectKey, snapshot: Snapshot) -> float | None:
    """Say how many seconds an edge on a Tortoise is fresh yet; None if there is none."""
    ages = [snapshot.taken_at - edge.at for edge in due_on(tortoise, snapshot)]
    youngest = min(ages, default=FRESH)
    return (FRESH - youngest).total_seconds() if youngest < FRESH else None


def lateness(tortoise: ObjectKey, snapshot: Snapshot) -> tuple[Measure, ...]:
    """Have measured how late the write comes that deals with the edges due on a Tortoise."""
    return tuple(
        Measure("edge_lateness", edge.name, edge.at) for edge in due_on(tortoise, snapshot)
    )


def missing(tortoise: ObjectKey, kind: str, snapshot: Snapshot) -> tuple[Measure, ...]:
    """Have a floor counted that has to be put back between edges, on an object of a kind."""
    if any(due_on(tortoise, snapshot)) or not _was_held(tortoise, snapshot):
        return ()
    return (Measure("floors_missing", kind),)


def _was_held(tortoise: ObjectKey, snapshot: Snapshot) -> bool:
    """Tell whether all windows that are open now were reported to hold, as they are written."""
    opened = [
        scaling
        for scaling in snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
        if schedules.window_of(scaling, snapshot.taken_at) is not None
    ]
    return bool(opened) and all(
        conditions.is_true(scaling.status.conditions, names.EFFECTIVE)
        and scaling.status.observed_generation == scaling.metadata.generation
        for scaling in opened
    )


def _read(written: str | None) -> datetime | None:
    try:
        return parse_time(written or "")
    except TimestampError:
        return None
