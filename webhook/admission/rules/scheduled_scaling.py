"""ScheduledScalings: a schedule that means something, and floors that can be kept."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from webhook.admission.decision import Finding
from webhook.api import quantity
from webhook.api.quantity import QuantityError
from webhook.api.scaling import ContainerFloor, Schedule, ScheduledScalingSpec, StaticStrategy
from webhook.api.timestamps import TimestampError, parse_time
from webhook.domain import durations
from webhook.domain.windows import MAX_DURATION, MIN_DURATION

_STATIC: Final = "spec.strategy.static"
_SCHEDULE: Final = "spec.schedule"


def judge(spec: ScheduledScalingSpec) -> Iterator[Finding]:
    """Judge everything that does not depend on what time it is."""
    if not spec.target_refs.tortoise_name:
        yield Finding.required("spec.targetRefs.tortoiseName", "name the Tortoise to scale")
    yield from _floors(spec.strategy.static)
    yield from _schedule(spec.schedule)


def judge_now(schedule: Schedule, now: datetime) -> Iterator[Finding]:
    """Refuse a schedule that is over before it begins."""
    finish = _time(schedule.finish_at)
    if finish is not None and finish <= now:
        yield Finding.invalid(
            f"{_SCHEDULE}.finishAt", schedule.finish_at, "is in the past, choose a later time"
        )


def _floors(static: StaticStrategy | None) -> Iterator[Finding]:
    if static is None or not _has_floor(static):
        yield Finding.required(
            _STATIC,
            "set at least one floor: minimumMinReplicas, or resources in minAllocatedResources",
        )
        return
    replicas = static.minimum_min_replicas
    if replicas is not None and replicas < 1:
        yield Finding.invalid(f"{_STATIC}.minimumMinReplicas", replicas, "must be at least 1")
    seen: set[str] = set()
    for index, floor in enumerate(static.min_allocated_resources):
        field = f"{_STATIC}.minAllocatedResources[{index}]"
        if not floor.container_name:
            yield Finding.required(f"{field}.containerName", "name the container")
        elif floor.container_name in seen:
            yield Finding.duplicate(
                f"{field}.containerName", floor.container_name, "name each container once"
            )
        seen.add(floor.container_name)
        yield from _resources(floor, f"{field}.resources")


def _has_floor(static: StaticStrategy) -> bool:
    return static.minimum_min_replicas is not None or any(
        floor.resources for floor in static.min_allocated_resources
    )


def _resources(floor: ContainerFloor, field: str) -> Iterator[Finding]:
    if not floor.resources:
        yield Finding.required(field, "name at least one resource, e.g. memory")
    for name, written in floor.resources.items():
        try:
            if quantity.parse(written) <= 0:
                yield Finding.invalid(f"{field}.{name}", written, "must be more than 0")
        except QuantityError as error:
            yield Finding.invalid(f"{field}.{name}", written, str(error))


def _schedule(schedule: Schedule) -> Iterator[Finding]:
    if schedule.cron or schedule.cron_expression:
        yield from _recurring(schedule)
    else:
        if not schedule.finish_at:
            yield Finding.required(
                f"{_SCHEDULE}.finishAt", "say when the scaling ends, e.g. 2026-01-05T00:00:00Z"
            )
        for value, name in ((schedule.duration, "duration"), (schedule.time_zone, "timeZone")):
            if value:
                yield Finding.forbidden(
                    f"{_SCHEDULE}.{name}", "is for recurring schedules, add cron or remove it"
                )
    yield from _order(schedule)


def _order(schedule: Schedule) -> Iterator[Finding]:
    for written, name in ((schedule.start_at, "startAt"), (schedule.finish_at, "finishAt")):
        if written:
            try:
                parse_time(written)
            except TimestampError as error:
                yield Finding.invalid(f"{_SCHEDULE}.{name}", written, str(error))
    start, finish = _time(schedule.start_at), _time(schedule.finish_at)
    if start is not None and finish is not None and finish <= start:
        yield Finding.invalid(
            f"{_SCHEDULE}.finishAt",
            schedule.finish_at,
            f"must be after startAt ({schedule.start_at})",
        )


def _recurring(schedule: Schedule) -> Iterator[Finding]:
    name = "cron" if schedule.cron else "cronExpression"
    written = schedule.cron or schedule.cron_expression
    if schedule.cron and schedule.cron_expression and schedule.cron != schedule.cron_expression:
        yield Finding.invalid(
            f"{_SCHEDULE}.cronExpression", schedule.cron_expression, "contradicts cron, remove it"
        )
    if not _is_cron(written):
        yield Finding.invalid(
            f"{_SCHEDULE}.{name}", written, "write minute hour day month weekday, e.g. 0 9 * * 1-5"
        )
    yield from _duration(schedule.duration)
    if schedule.time_zone and not _is_zone(schedule.time_zone):
        yield Finding.invalid(
            f"{_SCHEDULE}.timeZone", schedule.time_zone, "name an IANA zone, e.g. Europe/Berlin"
        )


def _duration(written: str) -> Iterator[Finding]:
    field = f"{_SCHEDULE}.duration"
    if not written:
        yield Finding.required(field, "say how long each window lasts, e.g. 90m")
        return
    duration = durations.parse(written)
    if duration is None:
        yield Finding.invalid(field, written, "write a duration such as 90m or 1h30m")
    elif not MIN_DURATION <= duration <= MAX_DURATION:
        yield Finding.invalid(field, written, "must be from 1m to 24h")


def _is_cron(written: str) -> bool:
    if len(written) > 200 or len(written.split()) != 5:
        return False
    try:
        CronSim(written, datetime(2026, 1, 1))  # noqa: DTZ001 -- only its syntax is looked at
    except CronSimError:
        return False
    return True


def _is_zone(written: str) -> bool:
    try:
        ZoneInfo(written)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _time(written: str | None) -> datetime | None:
    if not written:
        return None
    try:
        return parse_time(written)
    except (TimestampError, OverflowError):
        return None
