"""Plans that apply floors to autoscalers and Tortoises, and remove them after the window."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from webhook.api.core import HorizontalPodAutoscaler, Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.names import KUBE_SYSTEM, SCALING_AFTERMATH, SCALING_NAMESPACE
from webhook.api.scaling import ReplicaSlot, ScheduledScaling, Tortoise
from webhook.controllers.scheduledscaling import edges, effects
from webhook.domain.scaling import aftermath
from webhook.domain.scaling.aftermath import Aftermath
from webhook.kube.timestamps import TimestampError, format_time, parse_time
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.state.indexes import (
    ACTIVE,
    RAISED_AUTOSCALERS,
    RAISED_TORTOISES,
    SCALINGS_BY_PHASE,
    minute,
    phase_key,
)
from webhook.state.snapshot import Snapshot

LABEL_AHEAD: Final = timedelta(seconds=60)
"""How long before a window its namespace is labelled, so that our webhooks are called."""

_TORTOISE: Final = kind_of_model(Tortoise)
_NAMESPACE: Final = kind_of_model(Namespace)
_MINUTE: Final = timedelta(minutes=1)


def plan_tortoise(tortoise: Tortoise, snapshot: Snapshot) -> Plan:
    """Apply the present floors and record them, then follow the aftermath of a window.

    At an edge the autoscaler goes first: replicas take the longest to start.
    """
    if not effects.is_relevant(tortoise, snapshot):
        return NOTHING
    written = effects.patch_tortoise(tortoise, snapshot)
    recorded = effects.patch_status(tortoise, snapshot)
    writes = tuple(each for each in (written, recorded) if each is not None)
    if not writes:
        return _plan_aftermath(tortoise, snapshot)
    grace = edges.grace(tortoise.key, snapshot)
    if grace is not None and not effects.autoscalers_are_settled(tortoise.key, snapshot):
        return Plan(requeue_after=grace)
    lost = edges.lost_floors(tortoise.key, _TORTOISE.name, snapshot) if written is not None else ()
    return Plan(writes, requeue_with_backoff=True, metric_updates=lost)


def plan_autoscaler(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> Plan:
    """Patch both bounds at the edges of windows; in between admission enforces them."""
    tortoise = effects.tortoise_of(autoscaler, snapshot)
    if tortoise is None:
        return NOTHING
    written = effects.patch_autoscaler(autoscaler, snapshot)
    if written is not None:
        lost = edges.lost_floors(tortoise, written.kind.name, snapshot)
        return Plan(
            (written,),
            requeue_with_backoff=True,
            metric_updates=lost or edges.lateness(tortoise, snapshot),
        )
    return Plan(requeue_after=edges.seconds_to_next(tortoise, snapshot))


def _plan_aftermath(tortoise: Tortoise, snapshot: Snapshot) -> Plan:
    """Track a Tortoise from its floor until its replicas follow the demand again."""
    edge = edges.seconds_to_next(tortoise.key, snapshot)
    present = aftermath.read(tortoise)
    wanted = _aftermath(tortoise, present, snapshot)
    if wanted == present:
        since = present.since if present is not None else None
        still = since + aftermath.STABLE_AFTER - snapshot.taken_at if since is not None else None
        waits = [still.total_seconds()] if still is not None else []
        return Plan(
            requeue_after=min([*waits, *([edge] if edge is not None else [])], default=None)
        )
    text = aftermath.write(wanted) if wanted is not None else None
    change = {"metadata": {"annotations": {SCALING_AFTERMATH: text}}}
    return Plan((Patch(_TORTOISE, tortoise.key, change, tortoise.uid),), edge)


def _aftermath(
    tortoise: Tortoise, present: Aftermath | None, snapshot: Snapshot
) -> Aftermath | None:
    if not snapshot.options.scaling.unlearn:
        return None
    replicas = effects.replicas_of(tortoise, snapshot)
    floor = effects.effect_on(tortoise.key, snapshot).applied.replicas
    if floor is not None:
        return aftermath.start(present, floor, replicas)
    if present is None:
        return None
    allowed = aftermath.recommended_now(_slots(tortoise), snapshot.taken_at)
    return aftermath.advance(present, replicas, allowed, snapshot.taken_at)


def _slots(tortoise: Tortoise) -> Iterable[ReplicaSlot]:
    horizontal = tortoise.status.recommendations.horizontal
    return horizontal.min_replicas if horizontal is not None else ()


def plan_namespace(namespace: Namespace, snapshot: Snapshot) -> Plan:
    """Label a namespace from a minute before a window until all values are restored.

    It reads only windows that are due, because the status plan labels a namespace as well. Our own
    namespace is never labelled: there floors are applied without our webhooks.
    """
    if namespace.is_terminating or namespace.name == KUBE_SYSTEM:
        return NOTHING
    wanted = namespace.name != snapshot.options.namespace and _is_needed(namespace.name, snapshot)
    if wanted == (SCALING_NAMESPACE in namespace.metadata.labels):
        return NOTHING
    return Plan((label(namespace, "true" if wanted else None),))


def label(namespace: Namespace, value: str | None) -> Patch:
    """Set or remove the label that our webhooks select namespaces by."""
    change = {"metadata": {"labels": {SCALING_NAMESPACE: value}}}
    return Patch(_NAMESPACE, namespace.key, change, namespace.uid)


def _is_needed(namespace: str, snapshot: Snapshot) -> bool:
    if _has_raised_values(namespace, snapshot) or any(
        snapshot.has(SCALINGS_BY_PHASE, phase_key(namespace, each)) for each in (ACTIVE, "")
    ):
        return True
    now = snapshot.taken_at
    # A window that opens right now may still be reported as pending.
    minutes = (minute(format_time(now + step * _MINUTE)) for step in (-1, 0, 1))
    return any(
        _opens_soon(scaling, snapshot)
        for each in minutes
        for scaling in snapshot.by_index(SCALINGS_BY_PHASE, phase_key(namespace, each))
    )


def _has_raised_values(namespace: str, snapshot: Snapshot) -> bool:
    return snapshot.has(RAISED_AUTOSCALERS, namespace) or snapshot.has(RAISED_TORTOISES, namespace)


def _opens_soon(scaling: ScheduledScaling, snapshot: Snapshot) -> bool:
    try:
        opening = parse_time(scaling.status.window.start) if scaling.status.window else None
    except TimestampError:
        return False
    return opening is not None and opening - snapshot.taken_at <= LABEL_AHEAD
