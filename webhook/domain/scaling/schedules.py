"""The windows and floors of ScheduledScalings at a point in time.

What is derived from one object, or from all schedules of a Tortoise, is cached until it may
change: the same few are read with every write to the objects that they scale.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from webhook.api import names
from webhook.api.scaling import Schedule, ScheduledScaling, Tortoise
from webhook.domain.options import ScalingOptions
from webhook.domain.scaling import validation
from webhook.domain.scaling.floors import NO_FLOORS, Floors, above, combine, higher
from webhook.domain.scaling.recurrence import Window
from webhook.domain.scaling.result_cache import ResultCache, Span
from webhook.domain.scaling.validation import InvalidField
from webhook.domain.scaling.windows import (
    OneShot,
    Recurring,
    WindowSchedule,
    next_midnight,
    next_transition,
    open_window,
)
from webhook.kube import conditions, durations, quantity
from webhook.kube.meta import ObjectKey
from webhook.kube.quantity import QuantityError
from webhook.kube.timestamps import TimestampError, parse_time

_OFF: Final = ("", "Off")
_ALWAYS: Final = Span(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


class ParsedScaling(NamedTuple):
    """What the spec of a ScheduledScaling means; without a schedule if a field is invalid."""

    faults: tuple[InvalidField, ...]
    schedule: WindowSchedule | None
    floors: Floors


class TortoiseSchedules(NamedTuple):
    """The schedules of one Tortoise at a point in time."""

    opened: tuple[ScheduledScaling, ...]
    floors: Floors
    next_edge: datetime | None


_parsed: Final[ResultCache[ObjectKey, ScheduledScaling, ParsedScaling]] = ResultCache(8192)
_evaluated: Final[ResultCache[ObjectKey, Sequence[ScheduledScaling], TortoiseSchedules]] = (
    ResultCache(4096)
)


def parse(scaling: ScheduledScaling) -> ParsedScaling:
    """Validate and parse the spec of a ScheduledScaling.

    With an invalid field its valid parts do not count either: users see one state, Failed, with the
    messages of admission.
    """
    return _parsed.get(scaling.key, scaling, _ALWAYS.since, _parse)


def _parse(scaling: ScheduledScaling, _now: datetime) -> tuple[ParsedScaling, Span]:
    faults = tuple(validation.validate(scaling.spec))
    created = scaling.metadata.creation_timestamp or ""
    schedule = _windows(scaling.spec.schedule, created) if not faults else None
    return ParsedScaling(faults, schedule, _floors(scaling)), _ALWAYS


def schedule_of(scaling: ScheduledScaling) -> WindowSchedule | None:
    """Return the windows of a ScheduledScaling; None if its spec is invalid."""
    return parse(scaling).schedule


# Every write of a status makes a new object of the same schedule.
@lru_cache(maxsize=8192)
def _windows(schedule: Schedule, created: str) -> WindowSchedule | None:
    try:
        start = parse_time(schedule.start_at) if schedule.start_at else None
        finish = parse_time(schedule.finish_at) if schedule.finish_at else None
        cron = schedule.cron or schedule.cron_expression
        if cron:
            return _recurring(cron, schedule.duration, schedule.time_zone, start, finish)
        if finish is None:
            return None
        opening = start or parse_time(created)
        return OneShot(Window(opening, finish)) if opening < finish else None
    except TimestampError:
        return None


def _recurring(
    cron: str, duration: str, zone: str, start: datetime | None, finish: datetime | None
) -> Recurring | None:
    length = durations.parse(duration)
    return Recurring(cron, length, ZoneInfo(zone or "UTC"), start, finish) if length else None


def window_of(scaling: ScheduledScaling, now: datetime) -> Window | None:
    """Return the open window of a ScheduledScaling, unless it is suspended or being deleted.

    In kube-system no window is ever open: the components of the cluster itself are not scaled.
    """
    if scaling.spec.suspend or scaling.is_deleting or scaling.namespace == names.KUBE_SYSTEM:
        return None
    schedule = schedule_of(scaling)
    return open_window(schedule, now) if schedule is not None else None


def floors_of(scaling: ScheduledScaling) -> Floors:
    """Return the floors of a ScheduledScaling, without malformed quantities."""
    return parse(scaling).floors


def _floors(scaling: ScheduledScaling) -> Floors:
    static = scaling.spec.strategy.static
    if static is None:
        return NO_FLOORS
    resources: dict[str, dict[str, str]] = {}
    for floor in static.min_allocated_resources:
        known = resources.setdefault(floor.container_name, {})
        known.update(
            {name: str(value) for name, value in floor.resources.items() if _is_positive(value)}
        )
    return Floors(
        static.minimum_min_replicas, {name: each for name, each in resources.items() if each}
    )


def _is_positive(value: int | str) -> bool:
    try:
        return quantity.parse(value) > 0
    except QuantityError:
        return False


def schedules_of(
    tortoise: ObjectKey, scalings: Sequence[ScheduledScaling], now: datetime
) -> TortoiseSchedules:
    """Evaluate all schedules of a Tortoise, once until one of them changes or meets an edge."""
    return _evaluated.get(tortoise, scalings, now, _evaluate)


def _evaluate(
    scalings: Sequence[ScheduledScaling], now: datetime
) -> tuple[TortoiseSchedules, Span]:
    opened = tuple(each for each in scalings if window_of(each, now) is not None)
    edges = [
        edge
        for each in scalings
        if (schedule := schedule_of(each)) is not None
        and (edge := next_transition(schedule, now)) is not None
    ]
    edge = min(edges, default=None)
    span = Span(now, min(edge, next_midnight(now)) if edge is not None else next_midnight(now))
    return TortoiseSchedules(opened, open_floors(opened, now), edge), span


def open_floors(scalings: Iterable[ScheduledScaling], now: datetime) -> Floors:
    """Return the maximum of the floors of all open windows."""
    return combine(floors_of(each) for each in scalings if window_of(each, now) is not None)


def effective_floors(tortoise: Tortoise | None, floors: Floors, options: ScalingOptions) -> Floors:
    """Return the floors that take effect on a Tortoise.

    None while the Tortoise itself is inactive, none that its global minimum guarantees anyway, and
    none above its global maximum, which takes precedence.
    """
    if tortoise is None or inactive_reason(tortoise):
        return NO_FLOORS
    bounds = Floors(options.minimum_min_replicas, {"*": options.minimum_resources})
    wanted = above(floors, bounds)
    replicas = wanted.replicas
    if replicas is not None:
        replicas = min(replicas, options.maximum_max_replicas)
    resources = {
        container: {
            name: _lower(amount, options.maximum_resources.get(name))
            for name, amount in amounts.items()
        }
        for container, amounts in wanted.resources.items()
    }
    return Floors(replicas, resources)


def _lower(amount: str, most: str | None) -> str:
    return amount if most is None or higher(amount, most) == most else most


def inactive_reason(tortoise: Tortoise) -> str:
    """Return why floors have no effect on a Tortoise; empty if they have."""
    if tortoise.is_deleting:
        return "the Tortoise is being deleted"
    if tortoise.spec.update_mode in _OFF:
        return "the Tortoise's updateMode is Off"
    overridden = conditions.is_true(
        tortoise.status.conditions.tortoise_conditions, names.EFFECTIVE_MODE_OVERRIDDEN
    )
    return "the Tortoise's mode is overridden by its administrator" if overridden else ""


def autoscaler_of(tortoise: Tortoise) -> str:
    """Return the name of a Tortoise's HorizontalPodAutoscaler."""
    return (
        tortoise.spec.target_refs.horizontal_pod_autoscaler_name
        or tortoise.status.targets.horizontal_pod_autoscaler
        or f"{names.TORTOISE_HPA_PREFIX}{tortoise.name}"
    )
