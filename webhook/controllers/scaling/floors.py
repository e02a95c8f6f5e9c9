"""Bring floors to Tortoises and autoscalers, and take them off wherever a note says so."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler, Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Object, ObjectKey
from webhook.api.names import SCALING_AFTERMATH, SCALING_NAMESPACE
from webhook.api.scaling import ReplicaSlot, ScheduledScaling, Tortoise
from webhook.controllers.scaling import effects
from webhook.domain import learning, schedules
from webhook.domain.learning import Aftermath
from webhook.domain.windows import next_edge
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.runtime.rows import Controller, Watch
from webhook.state.indexes import NOTED_AUTOSCALERS, NOTED_TORTOISES, SCALINGS_BY_TORTOISE
from webhook.state.snapshot import Snapshot

AHEAD: Final = timedelta(seconds=60)
"""How long before its first window a namespace is labelled, so that our webhooks are called."""
REPEAT_SECONDS: Final = 1.0
"""How soon to look again whether a write shows: Tortoise's own webhook may have the last word."""

_TORTOISE: Final = kind_of_model(Tortoise)
_NAMESPACE: Final = kind_of_model(Namespace)


def plan_tortoise(tortoise: Tortoise, snapshot: Snapshot) -> Plan:
    """Write the floors of now, then the record, then follow what the window leaves behind."""
    written = effects.write_tortoise(tortoise, snapshot)
    if written is not None:
        return Plan((written,), REPEAT_SECONDS)
    recorded = effects.write_status(tortoise, snapshot)
    if recorded is not None:
        return Plan((recorded,), REPEAT_SECONDS)
    return _plan_aftermath(tortoise, snapshot)


def plan_autoscaler(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> Plan:
    """Write both bounds at the edges of windows; in between admission holds them."""
    written = effects.write_autoscaler(autoscaler, snapshot)
    if written is not None:
        return Plan((written,), REPEAT_SECONDS)
    tortoise = effects.tortoise_of(autoscaler, snapshot)
    if tortoise is None:
        return NOTHING
    return Plan(requeue_after=effects.seconds_to_edge(tortoise, snapshot))


def _plan_aftermath(tortoise: Tortoise, snapshot: Snapshot) -> Plan:
    """Mark a Tortoise under a floor, and take the mark off once its replicas are demand again."""
    edge = effects.seconds_to_edge(tortoise.key, snapshot)
    present = learning.read(tortoise)
    wanted = _aftermath(tortoise, present, snapshot)
    if wanted == present:
        still = present.since + learning.STILL - snapshot.taken_at if present else None
        waits = [still.total_seconds() + 1] if still is not None else []
        return Plan(
            requeue_after=min([*waits, *([edge] if edge is not None else [])], default=None)
        )
    text = learning.write(wanted) if wanted is not None else None
    change = {"metadata": {"annotations": {SCALING_AFTERMATH: text}}}
    return Plan((Patch(_TORTOISE, tortoise.key, change, tortoise.uid),), edge)


def _aftermath(
    tortoise: Tortoise, present: Aftermath | None, snapshot: Snapshot
) -> Aftermath | None:
    if not snapshot.options.scaling.unlearn:
        return None
    key = ObjectKey(tortoise.namespace, schedules.autoscaler_of(tortoise))
    autoscaler = snapshot.get(HorizontalPodAutoscaler, key)
    replicas = autoscaler.status.current_replicas if autoscaler is not None else 0
    if effects.effect_on(tortoise.key, snapshot).wanted.replicas is not None:
        highest = present is not None and present.replicas >= replicas
        return present if highest else Aftermath(replicas, snapshot.taken_at)
    if present is None:
        return None
    allowed = max((slot.value for slot in _slots(tortoise)), default=0)
    return learning.follow(present, replicas, allowed, snapshot.taken_at)


def _slots(tortoise: Tortoise) -> Iterable[ReplicaSlot]:
    horizontal = tortoise.status.recommendations.horizontal
    return horizontal.min_replicas if horizontal is not None else ()


def plan_namespace(namespace: Namespace, snapshot: Snapshot) -> Plan:
    """Label a namespace from a minute before its first window until all is settled."""
    if namespace.is_terminating:
        return NOTHING
    opening = _next_opening(namespace.name, snapshot)
    near = opening is not None and opening <= AHEAD
    wanted = near or _is_owing(namespace.name, snapshot)
    labelled = SCALING_NAMESPACE in namespace.metadata.labels
    requeue = None if opening is None or near else (opening - AHEAD).total_seconds()
    if wanted == labelled:
        return Plan(requeue_after=requeue)
    change = {"metadata": {"labels": {SCALING_NAMESPACE: "true" if wanted else None}}}
    return Plan((Patch(_NAMESPACE, namespace.key, change, namespace.uid),), requeue)


def _next_opening(namespace: str, snapshot: Snapshot) -> timedelta | None:
    """Say how long until a window of the namespace is open; nothing if one is."""
    now = snapshot.taken_at
    waits = []
    for scaling in snapshot.by_index(SCALINGS_BY_TORTOISE, namespace):
        if schedules.window_of(scaling, now) is not None:
            return timedelta(0)
        schedule = schedules.schedule_of(scaling)
        edge = next_edge(schedule, now) if schedule is not None else None
        if edge is not None and not scaling.spec.suspend and not scaling.is_deleting:
            waits.append(edge - now)
    return min(waits, default=None)


def _is_owing(namespace: str, snapshot: Snapshot) -> bool:
    return bool(
        snapshot.by_index(NOTED_AUTOSCALERS, namespace)
        or snapshot.by_index(NOTED_TORTOISES, namespace)
    )


def _tortoise_of_scaling(
    old: ScheduledScaling | None, new: ScheduledScaling | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    targets = {
        ObjectKey(each.namespace, each.spec.target_refs.tortoise_name)
        for each in (old, new)
        if each is not None
    }
    return sorted(targets)


def _autoscalers_of_scaling(
    old: ScheduledScaling | None, new: ScheduledScaling | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    for key in _tortoise_of_scaling(old, new, snapshot):
        yield from (each.key for each in effects.autoscalers_of(key, snapshot))


def _autoscalers_of_tortoise(
    old: Tortoise | None, new: Tortoise | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    if changed is not None:
        yield ObjectKey(changed.namespace, schedules.autoscaler_of(changed))
        yield from (each.key for each in effects.autoscalers_of(changed.key, snapshot))


def _tortoise_of_autoscaler(
    old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    found = effects.tortoise_of(changed, snapshot) if changed is not None else None
    return () if found is None else (found,)


def _its_namespace(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    return () if changed is None else (ObjectKey("", changed.namespace),)


FLOORS: Final = (
    Controller(
        "scaling.tortoise",
        Tortoise,
        plan_tortoise,
        (
            Watch(ScheduledScaling, _tortoise_of_scaling),
            Watch(HorizontalPodAutoscaler, _tortoise_of_autoscaler),
        ),
        reads=(CustomResourceDefinition,),
        workers=2,
    ),
    Controller(
        "scaling.autoscaler",
        HorizontalPodAutoscaler,
        plan_autoscaler,
        (
            Watch(ScheduledScaling, _autoscalers_of_scaling),
            Watch(Tortoise, _autoscalers_of_tortoise),
        ),
        workers=2,
    ),
    Controller(
        "scaling.namespace",
        Namespace,
        plan_namespace,
        (
            Watch(ScheduledScaling, _its_namespace),
            Watch(Tortoise, _its_namespace),
            Watch(HorizontalPodAutoscaler, _its_namespace),
        ),
    ),
)
"""The rows that hold floors."""
