"""What makes a ScheduledScaling meaningless: every fault, with its field and the remedy.

Admission refuses such an object; one that came past admission is reported and touches nothing.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self
from zoneinfo import available_timezones

from cronsim import CronSim, CronSimError
from msgspec import UNSET

from webhook.api import quantity
from webhook.api.quantity import QuantityError
from webhook.api.scaling import ContainerFloor, Schedule, ScheduledScalingSpec, StaticStrategy
from webhook.api.timestamps import TimestampError, parse_time
from webhook.domain import durations
from webhook.domain.windows import MAX_DURATION, MIN_DURATION

_STATIC: Final = "spec.strategy.static"
_SCHEDULE: Final = "spec.schedule"


class Fault(NamedTuple):
    """One objection to one field, named as admission names its reasons."""

    field: str
    message: str
    reason: str
    value: Any = UNSET

    @classmethod
    def required(cls, field: str, message: str) -> Self:
        return cls(field, message, "Required")

    @classmethod
    def invalid(cls, field: str, value: Any, message: str) -> Self:
        return cls(field, message, "Invalid", value)

    @classmethod
    def forbidden(cls, field: str, message: str) -> Self:
        return cls(field, message, "Forbidden")

    @classmethod
    def duplicate(cls, field: str, value: Any, message: str) -> Self:
        return cls(field, message, "Duplicate", value)


def faults(spec: ScheduledScalingSpec) -> Iterator[Fault]:
    """Judge everything that does not depend on what time it is."""
    if not spec.target_refs.tortoise_name:
        yield Fault.required("spec.targetRefs.tortoiseName", "name the Tortoise to scale")
    yield from _floors(spec.strategy.static)
    yield from _of_schedule(spec.schedule)


def faults_now(schedule: Schedule, now: datetime) -> Iterator[Fault]:
    """Refuse a schedule that is over before it begins."""
    finish = _time(schedule.finish_at)
    if finish is not None and finish <= now:
        yield Fault.invalid(
            f"{_SCHEDULE}.finishAt", schedule.finish_at, "is in the past, choose a later time"
        )


def _floors(static: StaticStrategy | None) -> Iterator[Fault]:
    if static is None or not _has_floor(static):
        yield Fault.required(
            _STATIC,
            "set at least one floor: minimumMinReplicas, or resources in minAllocatedResources",
        )
        return
    replicas = static.minimum_min_replicas
    if replicas is not None and replicas < 1:
        yield Fault.invalid(f"{_STATIC}.minimumMinReplicas", replicas, "must be at least 1")
    seen: set[str] = set()
    for index, floor in enumerate(static.min_allocated_resources):
        field = f"{_STATIC}.minAllocatedResources[{index}]"
        if not floor.container_name:
            yield Fault.required(f"{field}.containerName", "name the container")
        elif floor.container_name in seen:
            yield Fault.duplicate(
                f"{field}.containerName", floor.container_name, "name each container once"
            )
        seen.add(floor.container_name)
        yield from _resources(floor, f"{field}.resources")


def _has_floor(static: StaticStrategy) -> bool:
    return static.minimum_min_replicas is not None or any(
        floor.resources for floor in static.min_allocated_resources
    )


def _resources(floor: ContainerFloor, field: str) -> Iterator[Fault]:
    if not floor.resources:
        yield Fault.required(field, "name at least one resource, e.g. memory")
    for name, written in floor.resources.items():
        try:
            if quantity.parse(written) <= 0:
                yield Fault.invalid(f"{field}.{name}", written, "must be more than 0")
        except QuantityError as error:
            yield Fault.invalid(f"{field}.{name}", written, str(error))


# The same few schedules are judged at every write to what they are about.
@lru_cache(maxsize=4096)
def _of_schedule(schedule: Schedule) -> tuple[Fault, ...]:
    return tuple(_schedule(schedule))


def _schedule(schedule: Schedule) -> Iterator[Fault]:
    if schedule.cron or schedule.cron_expression:
        yield from _recurring(schedule)
    else:
        if not schedule.finish_at:
            yield Fault.required(
                f"{_SCHEDULE}.finishAt", "say when the scaling ends, e.g. 2026-01-05T00:00:00Z"
            )
        for value, name in ((schedule.duration, "duration"), (schedule.time_zone, "timeZone")):
            if value:
                yield Fault.forbidden(
                    f"{_SCHEDULE}.{name}", "is for recurring schedules, add cron or remove it"
                )
    yield from _order(schedule)


def _order(schedule: Schedule) -> Iterator[Fault]:
    for written, name in ((schedule.start_at, "startAt"), (schedule.finish_at, "finishAt")):
        if written:
            try:
                parse_time(written)
            except TimestampError as error:
                yield Fault.invalid(f"{_SCHEDULE}.{name}", written, str(error))
    start, finish = _time(schedule.start_at), _time(schedule.finish_at)
    if start is not None and finish is not None and finish <= start:
        yield Fault.invalid(
            f"{_SCHEDULE}.finishAt",
            schedule.finish_at,
            f"must be after startAt ({schedule.start_at})",
        )


def _recurring(schedule: Schedule) -> Iterator[Fault]:
    name = "cron" if schedule.cron else "cronExpression"
    written = schedule.cron or schedule.cron_expression
    if schedule.cron and schedule.cron_expression and schedule.cron != schedule.cron_expression:
        yield Fault.invalid(
            f"{_SCHEDULE}.cronExpression", schedule.cron_expression, "contradicts cron, remove it"
        )
    if not _is_cron(written):
        yield Fault.invalid(
            f"{_SCHEDULE}.{name}", written, "write minute hour day month weekday, e.g. 0 9 * * 1-5"
        )
    yield from _duration(schedule.duration)
    if schedule.time_zone and not _is_zone(schedule.time_zone):
        yield Fault.invalid(
            f"{_SCHEDULE}.timeZone", schedule.time_zone, "name an IANA zone, e.g. Europe/Berlin"
        )


def _duration(written: str) -> Iterator[Fault]:
    field = f"{_SCHEDULE}.duration"
    if not written:
        yield Fault.required(field, "say how long each window lasts, e.g. 90m")
        return
    duration = durations.parse(written)
    if duration is None:
        yield Fault.invalid(field, written, "write a duration such as 90m or 1h30m")
    elif not MIN_DURATION <= duration <= MAX_DURATION:
        yield Fault.invalid(field, written, "must be from 1m to 24h")


def _is_cron(written: str) -> bool:
    if len(written) > 200 or len(written.split()) != 5:
        return False
    try:
        CronSim(written, datetime(2026, 1, 1))  # noqa: DTZ001 -- only its syntax is looked at
    except CronSimError:
        return False
    return True


_ZONES: Final = frozenset(available_timezones())
"""Read once, when the program starts: a decision looks at no files."""


def _is_zone(written: str) -> bool:
    return written in _ZONES


def _time(written: str | None) -> datetime | None:
    if not written:
        return None
    try:
        return parse_time(written)
    except (TimestampError, OverflowError):
        return None
