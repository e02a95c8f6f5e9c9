"""What ScheduledScalings ask for at an instant: their windows, their floors, their sum."""

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from webhook.api import conditions, names, quantity
from webhook.api.quantity import QuantityError
from webhook.api.scaling import Schedule as Written
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.timestamps import TimestampError, parse_time
from webhook.domain import durations, soundness
from webhook.domain.floors import NO_FLOORS, Floors, above, combine, higher
from webhook.domain.options import ScalingOptions
from webhook.domain.windows import OneShot, Recurring, Schedule, Window, open_window

_OFF: Final = ("", "Off")


def schedule_of(scaling: ScheduledScaling) -> Schedule | None:
    """Read a schedule; None if the object has any fault, which admission explains."""
    if next(soundness.faults(scaling.spec), None) is not None:
        return None
    return _read(scaling.spec.schedule, scaling.metadata.creation_timestamp or "")


# The same few schedules are asked for at every write to what they are about.
@lru_cache(maxsize=4096)
def _read(written: Written, created: str) -> Schedule | None:
    try:
        start = parse_time(written.start_at) if written.start_at else None
        finish = parse_time(written.finish_at) if written.finish_at else None
        cron = written.cron or written.cron_expression
        if cron:
            return _recurring(cron, written.duration, written.time_zone, start, finish)
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
    """Give the window of a schedule that is open now and not suspended or going away.

    In kube-system none ever is: what keeps the cluster alive is not ours to scale.
    """
    if scaling.spec.suspend or scaling.is_deleting or scaling.namespace == names.KUBE_SYSTEM:
        return None
    schedule = schedule_of(scaling)
    return open_window(schedule, now) if schedule is not None else None


def floors_of(scaling: ScheduledScaling) -> Floors:
    """Read the floors of a schedule; a quantity that is none is left out."""
    static = scaling.spec.strategy.static
    if static is None:
        return NO_FLOORS
    resources: dict[str, dict[str, str]] = {}
    for floor in static.min_allocated_resources:
        known = resources.setdefault(floor.container_name, {})
        known.update({name: str(value) for name, value in floor.resources.items() if _is(value)})
    return Floors(
        static.minimum_min_replicas, {name: each for name, each in resources.items() if each}
    )


def _is(value: int | str) -> bool:
    try:
        return quantity.parse(value) > 0
    except QuantityError:
        return False


def held(scalings: Iterable[ScheduledScaling], now: datetime) -> Floors:
    """Take the maximum over all windows that are open now, afresh."""
    return combine(floors_of(each) for each in scalings if window_of(each, now) is not None)


def effective(tortoise: Tortoise | None, floors: Floors, options: ScalingOptions) -> Floors:
    """Keep of the floors what a Tortoise can be asked for.

    Nothing where it does not act itself; nothing that its global minimum guarantees anyway; and
    nothing above its global maximum, which wins over every floor.
    """
    if tortoise is None or why_idle(tortoise):
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


def why_idle(tortoise: Tortoise) -> str:
    """Say why floors do not hold on a Tortoise; empty where they do."""
    if tortoise.is_deleting:
        return "the Tortoise is being deleted"
    if tortoise.spec.update_mode in _OFF:
        return "the Tortoise's updateMode is Off"
    overridden = conditions.is_true(
        tortoise.status.conditions.tortoise_conditions, names.EFFECTIVE_MODE_OVERRIDDEN
    )
    return "the Tortoise's mode is overridden by its administrator" if overridden else ""


def autoscaler_of(tortoise: Tortoise) -> str:
    """Name the HorizontalPodAutoscaler of a Tortoise."""
    return (
        tortoise.spec.target_refs.horizontal_pod_autoscaler_name
        or tortoise.status.targets.horizontal_pod_autoscaler
        or f"{names.TORTOISE_HPA_PREFIX}{tortoise.name}"
    )
