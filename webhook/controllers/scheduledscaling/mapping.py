"""Maps changes of schedules, Tortoises and autoscalers to the objects that depend on them."""

from collections.abc import Iterable
from typing import TypeVar

from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.controllers.scheduledscaling import effects
from webhook.domain.scaling import schedules
from webhook.kube.meta import Object, ObjectKey
from webhook.runtime.controller import Mapper
from webhook.state.indexes import SCALINGS_BY_TORTOISE, Index
from webhook.state.snapshot import Snapshot

T = TypeVar("T", bound=Object)


def tortoise_of_scaling(
    old: ScheduledScaling | None, new: ScheduledScaling | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a ScheduledScaling to its Tortoises when its spec changes."""
    # Most changes of a ScheduledScaling are our own writes of its status.
    if old is not None and new is not None and _request(old) == _request(new):
        return ()
    targets = {
        ObjectKey(each.namespace, each.spec.target_refs.tortoise_name)
        for each in (old, new)
        if each is not None
    }
    return sorted(targets)


def _request(scaling: ScheduledScaling) -> tuple[object, ...]:
    return scaling.uid, scaling.is_deleting, scaling.spec


def autoscalers_of_scaling(
    old: ScheduledScaling | None, new: ScheduledScaling | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a ScheduledScaling to the autoscalers of its Tortoises."""
    for key in tortoise_of_scaling(old, new, snapshot):
        yield from (each.key for each in effects.autoscalers_of(key, snapshot))


def autoscalers_of_tortoise(
    old: Tortoise | None, new: Tortoise | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a Tortoise to its autoscalers when that changes their floors."""
    changed = new or old
    # Tortoises update their status all the time, and floors depend on little of it.
    if changed is None or (
        old is not None and new is not None and _target_state(old) == _target_state(new)
    ):
        return
    for each in filter(None, (old, new)):
        yield ObjectKey(each.namespace, schedules.autoscaler_of(each))
    yield from (each.key for each in effects.autoscalers_of(changed.key, snapshot))


def _target_state(tortoise: Tortoise) -> tuple[str, str, str]:
    return tortoise.uid, schedules.autoscaler_of(tortoise), schedules.inactive_reason(tortoise)


def tortoise_of_autoscaler(
    old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map an autoscaler to its Tortoise."""
    changed = new or old
    found = effects.tortoise_of(changed, snapshot) if changed is not None else None
    return () if found is None else (found,)


def namespace_by(index: Index[T]) -> Mapper:
    """Map an object to its namespace when its place in an index changes."""

    def find(old: T | None, new: T | None, _snapshot: Snapshot) -> Iterable[ObjectKey]:
        before, now = ([*index.function(each)] if each is not None else [] for each in (old, new))
        changed = new or old
        return () if changed is None or before == now else (ObjectKey("", changed.namespace),)

    return find


def scalings_of_tortoise(
    old: Tortoise | None, new: Tortoise | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a Tortoise to its ScheduledScalings when their status may change."""
    changed = new or old
    # Tortoises update their status all the time; their recommendations are not reported here.
    if changed is None or (
        old is not None and new is not None and _reported_state(old) == _reported_state(new)
    ):
        return ()
    return [each.key for each in snapshot.by_index(SCALINGS_BY_TORTOISE, str(changed.key))]


def _reported_state(tortoise: Tortoise) -> tuple[object, ...]:
    metadata, status = tortoise.metadata, tortoise.status
    identity = (metadata.uid, metadata.deletion_timestamp, metadata.annotations)
    return *identity, tortoise.spec, status.conditions, status.targets


def scalings_of_autoscaler(
    old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map an autoscaler to the ScheduledScalings of its Tortoise."""
    changed = new or old
    if old is not None and new is not None and _autoscaler_state(old) == _autoscaler_state(new):
        return ()
    tortoise = effects.tortoise_of(changed, snapshot) if changed is not None else None
    found = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise)) if tortoise else ()
    return [scaling.key for scaling in found]


def _autoscaler_state(autoscaler: HorizontalPodAutoscaler) -> tuple[object, ...]:
    return autoscaler.uid, autoscaler.metadata.annotations, autoscaler.spec
