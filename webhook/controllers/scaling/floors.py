"""Bring floors to Tortoises and autoscalers, and take them off wherever a note says so."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final, TypeVar

from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler, Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Object, ObjectKey
from webhook.api.names import KUBE_SYSTEM, SCALING_AFTERMATH, SCALING_NAMESPACE
from webhook.api.scaling import ReplicaSlot, ScheduledScaling, Tortoise
from webhook.api.timestamps import TimestampError, format_time, parse_time
from webhook.controllers.scaling import edges, effects
from webhook.domain import learning, schedules
from webhook.domain.learning import Aftermath
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.runtime.backoff import Delays
from webhook.runtime.rows import Controller, Mapper, Watch
from webhook.state.indexes import (
    ACTIVE,
    NOTED_AUTOSCALERS,
    NOTED_TORTOISES,
    SCALINGS_BY_STAGE,
    Index,
    minute,
    stage,
)
from webhook.state.snapshot import Snapshot

T = TypeVar("T", bound=Object)

AHEAD: Final = timedelta(seconds=60)
"""How long before its first window a namespace is labelled, so that our webhooks are called."""
FIRST: Final = "scaling.autoscaler"
"""The row that others wait for at an edge: replicas take the longest to come, and many windows
open in the same second."""
REPEATS: Final = Delays(first=0.2, limit=5.0, jitter=0.0)
"""How soon a write is repeated that is refused, or that does not show: Tortoise's own webhooks
fail closed, and may have the last word."""

_TORTOISE: Final = kind_of_model(Tortoise)
_NAMESPACE: Final = kind_of_model(Namespace)
_MINUTE: Final = timedelta(minutes=1)


def plan_tortoise(tortoise: Tortoise, snapshot: Snapshot) -> Plan:
    """Write the floors of now, then the record, then follow what the window leaves behind.

    At an edge the autoscaler goes first: replicas take the longest to come.
    """
    if not effects.concerns(tortoise, snapshot):
        return NOTHING
    written = effects.write_tortoise(tortoise, snapshot)
    recorded = effects.write_status(tortoise, snapshot)
    writes = tuple(each for each in (written, recorded) if each is not None)
    if not writes:
        return _plan_aftermath(tortoise, snapshot)
    grace = edges.grace(tortoise.key, snapshot)
    if grace is not None and not effects.autoscalers_are_settled(tortoise.key, snapshot):
        return Plan(requeue_after=grace)
    lost = edges.missing(tortoise.key, _TORTOISE.name, snapshot) if written is not None else ()
    return Plan(writes, again=True, measures=lost)


def plan_autoscaler(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> Plan:
    """Write both bounds at the edges of windows; in between admission holds them."""
    tortoise = effects.tortoise_of(autoscaler, snapshot)
    if tortoise is None:
        return NOTHING
    written = effects.write_autoscaler(autoscaler, snapshot)
    if written is not None:
        lost = edges.missing(tortoise, written.kind.name, snapshot)
        return Plan((written,), again=True, measures=lost or edges.lateness(tortoise, snapshot))
    return Plan(requeue_after=edges.seconds_to_next(tortoise, snapshot))


def _plan_aftermath(tortoise: Tortoise, snapshot: Snapshot) -> Plan:
    """Mark a Tortoise under a floor, and take the mark off once its replicas are demand again."""
    edge = edges.seconds_to_next(tortoise.key, snapshot)
    present = learning.read(tortoise)
    wanted = _aftermath(tortoise, present, snapshot)
    if wanted == present:
        since = present.since if present is not None else None
        still = since + learning.STILL - snapshot.taken_at if since is not None else None
        waits = [still.total_seconds()] if still is not None else []
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
    replicas = effects.replicas_of(tortoise, snapshot)
    floor = effects.effect_on(tortoise.key, snapshot).wanted.replicas
    if floor is not None:
        return learning.mark(present, floor, replicas)
    if present is None:
        return None
    allowed = learning.allowed_now(_slots(tortoise), snapshot.taken_at)
    return learning.follow(present, replicas, allowed, snapshot.taken_at)


def _slots(tortoise: Tortoise) -> Iterable[ReplicaSlot]:
    horizontal = tortoise.status.recommendations.horizontal
    return horizontal.min_replicas if horizontal is not None else ()


def plan_namespace(namespace: Namespace, snapshot: Snapshot) -> Plan:
    """Keep the label from a minute before the first window until all is settled.

    It looks at what is due, not at all schedules: one that comes near labels its namespace. Our
    own webhooks never stand between us and our own namespace: there we hold floors without them.
    """
    if namespace.is_terminating or namespace.name == KUBE_SYSTEM:
        return NOTHING
    wanted = namespace.name != snapshot.options.namespace and _is_needed(namespace.name, snapshot)
    if wanted == (SCALING_NAMESPACE in namespace.metadata.labels):
        return NOTHING
    return Plan((label(namespace, "true" if wanted else None),))


def label(namespace: Namespace, value: str | None) -> Patch:
    """Put the label on a namespace that our webhooks select by, or take it off."""
    change = {"metadata": {"labels": {SCALING_NAMESPACE: value}}}
    return Patch(_NAMESPACE, namespace.key, change, namespace.uid)


def _is_needed(namespace: str, snapshot: Snapshot) -> bool:
    if _is_owing(namespace, snapshot) or any(
        snapshot.has(SCALINGS_BY_STAGE, stage(namespace, each)) for each in (ACTIVE, "")
    ):
        return True
    now = snapshot.taken_at
    # The one that is opening just now may still be reported as pending.
    minutes = (minute(format_time(now + step * _MINUTE)) for step in (-1, 0, 1))
    return any(
        _is_near(scaling, snapshot)
        for each in minutes
        for scaling in snapshot.by_index(SCALINGS_BY_STAGE, stage(namespace, each))
    )


def _is_owing(namespace: str, snapshot: Snapshot) -> bool:
    return snapshot.has(NOTED_AUTOSCALERS, namespace) or snapshot.has(NOTED_TORTOISES, namespace)


def _is_near(scaling: ScheduledScaling, snapshot: Snapshot) -> bool:
    try:
        opening = parse_time(scaling.status.window.start) if scaling.status.window else None
    except TimestampError:
        return False
    return opening is not None and opening - snapshot.taken_at <= AHEAD


def _tortoise_of_scaling(
    old: ScheduledScaling | None, new: ScheduledScaling | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    # What a schedule asks for is in its spec: most of its changes are our own reports.
    if old is not None and new is not None and _asks(old) == _asks(new):
        return ()
    targets = {
        ObjectKey(each.namespace, each.spec.target_refs.tortoise_name)
        for each in (old, new)
        if each is not None
    }
    return sorted(targets)


def _asks(scaling: ScheduledScaling) -> tuple[object, ...]:
    return scaling.uid, scaling.is_deleting, scaling.spec


def _autoscalers_of_scaling(
    old: ScheduledScaling | None, new: ScheduledScaling | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    for key in _tortoise_of_scaling(old, new, snapshot):
        yield from (each.key for each in effects.autoscalers_of(key, snapshot))


def _autoscalers_of_tortoise(
    old: Tortoise | None, new: Tortoise | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    # Tortoises report all the time, and bounds depend on little of it.
    if changed is None or (old is not None and new is not None and _lets(old) == _lets(new)):
        return
    for each in filter(None, (old, new)):
        yield ObjectKey(each.namespace, schedules.autoscaler_of(each))
    yield from (each.key for each in effects.autoscalers_of(changed.key, snapshot))


def _lets(tortoise: Tortoise) -> tuple[str, str, str]:
    return tortoise.uid, schedules.autoscaler_of(tortoise), schedules.why_idle(tortoise)


def _tortoise_of_autoscaler(
    old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    found = effects.tortoise_of(changed, snapshot) if changed is not None else None
    return () if found is None else (found,)


def _namespace_by(index: Index[T]) -> Mapper:
    """Have a namespace looked at when one of its objects changes its place in an index."""

    def find(old: T | None, new: T | None, _snapshot: Snapshot) -> Iterable[ObjectKey]:
        before, now = ([*index.function(each)] if each is not None else [] for each in (old, new))
        changed = new or old
        return () if changed is None or before == now else (ObjectKey("", changed.namespace),)

    return find


FLOORS: Final = (
    Controller(
        FIRST,
        HorizontalPodAutoscaler,
        plan_autoscaler,
        (
            Watch(ScheduledScaling, _autoscalers_of_scaling),
            Watch(Tortoise, _autoscalers_of_tortoise),
        ),
        workers=32,
        delays=REPEATS,
    ),
    Controller(
        "scaling.tortoise",
        Tortoise,
        plan_tortoise,
        (
            Watch(ScheduledScaling, _tortoise_of_scaling),
            Watch(HorizontalPodAutoscaler, _tortoise_of_autoscaler),
        ),
        reads=(CustomResourceDefinition,),
        workers=4,
        delays=REPEATS,
        after=FIRST,
    ),
    Controller(
        "scaling.namespace",
        Namespace,
        plan_namespace,
        (
            Watch(ScheduledScaling, _namespace_by(SCALINGS_BY_STAGE)),
            Watch(Tortoise, _namespace_by(NOTED_TORTOISES)),
            Watch(HorizontalPodAutoscaler, _namespace_by(NOTED_AUTOSCALERS)),
        ),
    ),
)
"""The rows that hold floors."""
