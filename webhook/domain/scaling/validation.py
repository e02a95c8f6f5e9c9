"""Validation of ScheduledScalings: every invalid field, with the remedy.

Admission refuses such an object; one that was stored in another way gets a status and no effect.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self
from zoneinfo import available_timezones

from cronsim import CronSim, CronSimError
from msgspec import UNSET

from webhook.api.scaling import ContainerFloor, Schedule, ScheduledScalingSpec, StaticStrategy
from webhook.domain.scaling.cron import pattern_of
from webhook.domain.scaling.windows import MAX_DURATION, MIN_DURATION
from webhook.kube import durations, quantity
from webhook.kube.quantity import QuantityError
from webhook.kube.timestamps import TimestampError, parse_time

MAX_CONTAINERS: Final = 100
MAX_RESOURCES: Final = 20
MAX_SCHEDULES: Final = 100
"""How many ScheduledScalings one Tortoise may have: the status of each depends on all of them."""
SHORTEST_GAP: Final = timedelta(minutes=5)
"""For so long a HorizontalPodAutoscaler does not scale down by default, so that replicas do not
follow windows that close for less."""

_STATIC: Final = "spec.strategy.static"
_SCHEDULE: Final = "spec.schedule"
_FIELDS: Final = {"start_at": "startAt", "finish_at": "finishAt", "duration": "duration"}
_MAX_TEXT: Final = 200


class InvalidField(NamedTuple):
    """One invalid field; `reason` is that of an admission finding."""

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


def validate(spec: ScheduledScalingSpec) -> Iterator[InvalidField]:
    """Yield the invalid fields of a spec, whatever the time."""
    if not spec.target_refs.tortoise_name:
        yield InvalidField.required("spec.targetRefs.tortoiseName", "name the Tortoise to scale")
    yield from _floors(spec.strategy.static)
    yield from _of_schedule(spec.schedule)


def validate_size(static: StaticStrategy | None) -> Iterator[InvalidField]:
    """Yield what is longer than any workload needs; stored objects may be longer."""
    entries = static.min_allocated_resources if static is not None else ()
    field = f"{_STATIC}.minAllocatedResources"
    if len(entries) > MAX_CONTAINERS:
        message = f"must have at most {MAX_CONTAINERS} items, one for each container of a Pod"
        yield InvalidField.invalid(field, len(entries), message)
        return
    for index, floor in enumerate(entries):
        if len(floor.resources) > MAX_RESOURCES:
            message = f"must have at most {MAX_RESOURCES} resources, e.g. cpu and memory"
            found = len(floor.resources)
            yield InvalidField.invalid(f"{field}[{index}].resources", found, message)


def warnings(schedule: Schedule, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield the fields of a valid recurring schedule that do not do what they seem to, and why."""
    cron, name = schedule.cron or schedule.cron_expression, _cron_field(schedule)
    duration = durations.parse(schedule.duration)
    if not cron or duration is None or next(iter(_of_schedule(schedule)), None) is not None:
        return
    pattern = pattern_of(cron)
    if pattern.next_day(now.date()) is None:
        yield name, "matches no day, so no window ever opens; correct the day, month or weekday"
        return
    gaps = pattern.gaps(duration, now.date())
    if not gaps:
        yield (
            name,
            "windows always overlap, so they are one window that does not close until finishAt; "
            "shorten duration, or replace cron and duration by startAt and finishAt",
        )
    elif min(gaps) < SHORTEST_GAP:
        gap = int(min(gaps).total_seconds())
        yield (
            name,
            f"windows close for only {gap}s before the next one opens, too short to scale down; "
            "lengthen duration so that they are one window, or open them less often",
        )


def _cron_field(schedule: Schedule) -> str:
    return f"{_SCHEDULE}.{'cron' if schedule.cron else 'cronExpression'}"


def validate_finish(schedule: Schedule, now: datetime) -> Iterator[InvalidField]:
    """Yield the end of a schedule as invalid if it is in the past."""
    finish = _time(schedule.finish_at)
    if finish is not None and finish <= now:
        yield InvalidField.invalid(
            f"{_SCHEDULE}.finishAt", schedule.finish_at, "is in the past, choose a later time"
        )


def _floors(static: StaticStrategy | None) -> Iterator[InvalidField]:
    if static is None or not _has_floor(static):
        yield InvalidField.required(
            _STATIC,
            "set at least one floor: minimumMinReplicas, or resources in minAllocatedResources",
        )
        return
    replicas = static.minimum_min_replicas
    if replicas is not None and replicas < 1:
        yield InvalidField.invalid(f"{_STATIC}.minimumMinReplicas", replicas, "must be at least 1")
    seen: set[str] = set()
    for index, floor in enumerate(static.min_allocated_resources):
        field = f"{_STATIC}.minAllocatedResources[{index}]"
        if not floor.container_name:
            yield InvalidField.required(f"{field}.containerName", "name the container")
        elif floor.container_name in seen:
            yield InvalidField.duplicate(
                f"{field}.containerName", floor.container_name, "name each container once"
            )
        seen.add(floor.container_name)
        yield from _resources(floor, f"{field}.resources")


def _has_floor(static: StaticStrategy) -> bool:
    return static.minimum_min_replicas is not None or any(
        floor.resources for floor in static.min_allocated_resources
    )


def _resources(floor: ContainerFloor, field: str) -> Iterator[InvalidField]:
    if not floor.resources:
        yield InvalidField.required(field, "name at least one resource, e.g. memory")
    for name, written in floor.resources.items():
        try:
            if quantity.parse(written) <= 0:
                yield InvalidField.invalid(f"{field}.{name}", written, "must be more than 0")
        except QuantityError as error:
            yield InvalidField.invalid(f"{field}.{name}", written, str(error))


def _of_schedule(schedule: Schedule) -> tuple[InvalidField, ...]:
    written = (getattr(schedule, name) or "" for name in Schedule.__struct_fields__)
    # Long texts are invalid and not worth the memory.
    is_short = all(len(text) <= _MAX_TEXT for text in written)
    return _of_short_schedule(schedule) if is_short else tuple(_schedule(schedule))


@lru_cache(maxsize=8192)
def _of_short_schedule(schedule: Schedule) -> tuple[InvalidField, ...]:
    return tuple(_schedule(schedule))


def _schedule(schedule: Schedule) -> Iterator[InvalidField]:
    for name in ("start_at", "finish_at", "duration"):
        if len(getattr(schedule, name) or "") > _MAX_TEXT:
            field = f"{_SCHEDULE}.{_FIELDS[name]}"
            yield InvalidField.invalid(field, UNSET, f"must have at most {_MAX_TEXT} characters")
    if schedule.cron or schedule.cron_expression:
        yield from _recurring(schedule)
    else:
        if not schedule.finish_at:
            yield InvalidField.required(
                f"{_SCHEDULE}.finishAt", "set the end of the scaling, e.g. 2026-01-05T00:00:00Z"
            )
        for value, name in ((schedule.duration, "duration"), (schedule.time_zone, "timeZone")):
            if value:
                yield InvalidField.forbidden(
                    f"{_SCHEDULE}.{name}", "is for recurring schedules, add cron or remove it"
                )
    yield from _order(schedule)


def _order(schedule: Schedule) -> Iterator[InvalidField]:
    for written, name in ((schedule.start_at, "startAt"), (schedule.finish_at, "finishAt")):
        if written:
            try:
                parse_time(written)
            except TimestampError as error:
                yield InvalidField.invalid(f"{_SCHEDULE}.{name}", written, str(error))
    start, finish = _time(schedule.start_at), _time(schedule.finish_at)
    if start is not None and finish is not None and finish <= start:
        yield InvalidField.invalid(
            f"{_SCHEDULE}.finishAt",
            schedule.finish_at,
            f"must be after startAt ({schedule.start_at})",
        )


def _recurring(schedule: Schedule) -> Iterator[InvalidField]:
    written = schedule.cron or schedule.cron_expression
    if schedule.cron and schedule.cron_expression and schedule.cron != schedule.cron_expression:
        yield InvalidField.invalid(
            f"{_SCHEDULE}.cronExpression", schedule.cron_expression, "contradicts cron, remove it"
        )
    if not _is_cron(written):
        yield InvalidField.invalid(
            _cron_field(schedule), written, "use minute hour day month weekday, e.g. 0 9 * * 1-5"
        )
    yield from _duration(schedule.duration)
    if schedule.time_zone and not _is_zone(schedule.time_zone):
        yield InvalidField.invalid(
            f"{_SCHEDULE}.timeZone", schedule.time_zone, "name an IANA zone, e.g. Europe/Berlin"
        )


def _duration(written: str) -> Iterator[InvalidField]:
    field = f"{_SCHEDULE}.duration"
    if not written:
        yield InvalidField.required(field, "set the duration of each window, e.g. 90m")
        return
    duration = durations.parse(written)
    if duration is None:
        yield InvalidField.invalid(field, written, "use a duration such as 90m or 1h30m")
    elif not MIN_DURATION <= duration <= MAX_DURATION:
        yield InvalidField.invalid(field, written, "must be from 1m to 24h")


def _is_cron(written: str) -> bool:
    if len(written) > _MAX_TEXT or len(written.split()) != 5:
        return False
    try:
        CronSim(written, datetime(2026, 1, 1))  # noqa: DTZ001 -- only the syntax is checked
    except CronSimError:
        return False
    return True


_ZONES: Final = frozenset(available_timezones())
"""Read once, when the program starts, because decisions do no I/O."""


def _is_zone(written: str) -> bool:
    return written in _ZONES


def _time(written: str | None) -> datetime | None:
    if not written:
        return None
    try:
        return parse_time(written)
    except (TimestampError, OverflowError):
        return None
