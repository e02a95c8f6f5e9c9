"""Edges of windows: when the next one is, which are due, and whether floors held before."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from webhook.api import names
from webhook.api.scaling import ScheduledScaling
from webhook.domain.scaling import schedules
from webhook.domain.scaling.result_cache import ResultCache, Span
from webhook.domain.scaling.schedules import TortoiseSchedules
from webhook.domain.scaling.windows import next_midnight, next_transition
from webhook.kube import conditions
from webhook.kube.meta import ObjectKey
from webhook.kube.timestamps import TimestampError, parse_time
from webhook.runtime.actions import MetricUpdate
from webhook.state.indexes import SCALINGS_BY_TORTOISE
from webhook.state.snapshot import Snapshot

EDGE_GRACE: Final = timedelta(seconds=1)
"""How long controllers that write later at an edge wait for the first one."""


class Edge(NamedTuple):
    """The start or the finish of a window."""

    name: Literal["start", "finish"]
    at: datetime


_due: Final[ResultCache[ObjectKey, Sequence[ScheduledScaling], tuple[Edge, ...]]] = ResultCache(
    4096
)


def seconds_to_next(tortoise: ObjectKey, snapshot: Snapshot) -> float | None:
    """Return the seconds until a window on a Tortoise opens or closes; None if none will."""
    edge = _schedules(tortoise, snapshot).next_edge
    return (edge - snapshot.taken_at).total_seconds() if edge is not None else None


def _schedules(tortoise: ObjectKey, snapshot: Snapshot) -> TortoiseSchedules:
    scalings = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
    return schedules.schedules_of(tortoise, scalings, snapshot.taken_at)


def due(scaling: ScheduledScaling, now: datetime) -> Edge | None:
    """Return the edge that a schedule's status does not show yet; a change of the spec is none."""
    status = scaling.status
    if scaling.spec.suspend or scaling.is_deleting:
        return None
    if status.observed_generation not in (0, scaling.metadata.generation):
        return None
    window = schedules.window_of(scaling, now)
    was_active = status.phase == "Active"
    if window is not None and not was_active:
        created = _parse(scaling.metadata.creation_timestamp) or window.start
        return Edge("start", max(window.start, created))
    if window is None and was_active and status.window is not None:
        finish = _parse(status.window.finish)
        return Edge("finish", finish) if finish is not None and finish <= now else None
    return None


def due_on(tortoise: ObjectKey, snapshot: Snapshot) -> tuple[Edge, ...]:
    """Return the edges on a Tortoise that its schedules do not show yet."""
    scalings = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
    return _due.get(tortoise, scalings, snapshot.taken_at, _find_due)


def _find_due(scalings: Sequence[ScheduledScaling], now: datetime) -> tuple[tuple[Edge, ...], Span]:
    """Find the edges that are due; they stay the same until a window or a reported one changes."""
    found = tuple(edge for each in scalings if (edge := due(each, now)) is not None)
    changes = [
        change
        for each in scalings
        for change in (_next_change(each, now), _reported_finish(each))
        if change is not None and change > now
    ]
    return found, Span(now, min([*changes, next_midnight(now)]))


def _next_change(scaling: ScheduledScaling, now: datetime) -> datetime | None:
    schedule = schedules.schedule_of(scaling)
    return next_transition(schedule, now) if schedule is not None else None


def _reported_finish(scaling: ScheduledScaling) -> datetime | None:
    window = scaling.status.window
    return _parse(window.finish) if window is not None else None


def grace(tortoise: ObjectKey, snapshot: Snapshot) -> float | None:
    """Return for how many seconds an edge on a Tortoise is still recent; None if there is none."""
    ages = [snapshot.taken_at - edge.at for edge in due_on(tortoise, snapshot)]
    youngest = min(ages, default=EDGE_GRACE)
    return (EDGE_GRACE - youngest).total_seconds() if youngest < EDGE_GRACE else None


def lateness(tortoise: ObjectKey, snapshot: Snapshot) -> tuple[MetricUpdate, ...]:
    """Measure how late the write for the due edges of a Tortoise is."""
    return tuple(
        MetricUpdate("edge_lateness", edge.name, edge.at) for edge in due_on(tortoise, snapshot)
    )


def lost_floors(tortoise: ObjectKey, kind: str, snapshot: Snapshot) -> tuple[MetricUpdate, ...]:
    """Count a floor that has to be applied again between edges, on an object of a kind."""
    if any(due_on(tortoise, snapshot)) or not _was_effective(tortoise, snapshot):
        return ()
    return (MetricUpdate("floors_missing", kind),)


def _was_effective(tortoise: ObjectKey, snapshot: Snapshot) -> bool:
    """Return whether all open windows were reported as effective with their present spec."""
    opened = _schedules(tortoise, snapshot).opened
    return bool(opened) and all(
        conditions.is_true(scaling.status.conditions, names.EFFECTIVE)
        and scaling.status.observed_generation == scaling.metadata.generation
        for scaling in opened
    )


def _parse(written: str | None) -> datetime | None:
    try:
        return parse_time(written or "")
    except TimestampError:
        return None
