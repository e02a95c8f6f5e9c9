"""Tell people how a ScheduledScaling stands, and let it go only when nothing is owed."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from webhook.api import conditions, names
from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler, Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.timestamps import TimestampError, format_time, parse_time
from webhook.controllers.scaling import edges, effects, observing
from webhook.controllers.scaling.floors import AHEAD, FIRST, label
from webhook.controllers.scaling.observing import Said, target_of
from webhook.domain import schedules, soundness
from webhook.domain.floors import Floors
from webhook.domain.windows import Window, phase
from webhook.runtime.actions import Action, Emit, Patch, Plan
from webhook.runtime.rows import Controller, Watch
from webhook.state.indexes import SCALINGS_BY_TORTOISE
from webhook.state.snapshot import Snapshot

UP: Final = "ScheduledScalingUp"
DOWN: Final = "ScheduledScalingDown"
PATIENCE: Final = timedelta(seconds=60)
"""How long a deletion waits for writes that are refused."""

_KIND: Final = kind_of_model(ScheduledScaling)
_FINALIZER: Final = names.SCHEDULED_SCALING_FINALIZER


class Standing(NamedTuple):
    """Where a schedule is now."""

    phase: str
    message: str = ""
    window: Window | None = None

    @property
    def is_active(self) -> bool:
        return self.phase == "Active"


def plan(scaling: ScheduledScaling, snapshot: Snapshot) -> Plan:
    """Report phase, window and effect; hold the finalizer while something may be owed.

    At an edge the autoscaler and the Tortoise are written first, and this is told afterwards; if
    that takes long, it is told that they are not.
    """
    if scaling.is_deleting:
        return _plan_farewell(scaling, snapshot)
    standing = _standing(scaling, snapshot.taken_at)
    actions: list[Action] = [
        *_prepare(scaling, standing, snapshot),
        *_finalize(scaling, standing, snapshot),
    ]
    grace = edges.grace(target_of(scaling), snapshot)
    if grace is not None and not effects.is_settled(target_of(scaling), snapshot):
        return Plan(tuple(actions), grace)
    observed = observing.observe(scaling, standing.window if standing.is_active else None, snapshot)
    status = _status(scaling, standing, observed, snapshot)
    if status:
        actions.append(
            Patch(_KIND, scaling.key, {"status": status}, scaling.uid, subresource="status")
        )
        actions += _events(scaling, standing, observed)
    return Plan(tuple(actions), _requeue(scaling, standing, snapshot))


def _standing(scaling: ScheduledScaling, now: datetime) -> Standing:
    faults = [f"{fault.field}: {fault.message}" for fault in soundness.faults(scaling.spec)]
    if faults:
        return Standing("Failed", "; ".join(faults))
    schedule = schedules.schedule_of(scaling)
    if schedule is None:
        return Standing("Failed", "spec.schedule: means no window")
    window = next(schedule.windows(now), None)
    if scaling.spec.suspend:
        return Standing("Pending" if window else "Completed", "suspended", window)
    return Standing(phase(schedule, now), "", window)


def _prepare(scaling: ScheduledScaling, standing: Standing, snapshot: Snapshot) -> Iterable[Action]:
    """Have our webhooks called in the namespace from a minute before a window."""
    without_us = (names.KUBE_SYSTEM, snapshot.options.namespace)
    if not _is_near(scaling, standing, snapshot) or scaling.namespace in without_us:
        return ()
    namespace = snapshot.get(Namespace, ObjectKey("", scaling.namespace))
    if namespace is None or namespace.is_terminating:
        return ()
    known = names.SCALING_NAMESPACE in namespace.metadata.labels
    return () if known else (label(namespace, "true"),)


def _is_near(scaling: ScheduledScaling, standing: Standing, snapshot: Snapshot) -> bool:
    window = standing.window
    if window is None or scaling.spec.suspend:
        return False
    return window.start - snapshot.taken_at <= AHEAD


def _finalize(
    scaling: ScheduledScaling, standing: Standing, snapshot: Snapshot
) -> Iterable[Action]:
    """Hold the object from a minute before its first window until its last one is settled."""
    present = scaling.metadata.finalizers
    if _is_near(scaling, standing, snapshot) and _FINALIZER not in present:
        return (_patch(scaling, {"metadata": {"finalizers": [*present, _FINALIZER]}}),)
    over = standing.phase in ("Completed", "Failed") and scaling.status.phase == standing.phase
    is_free = over and _FINALIZER in present and _is_settled(scaling, snapshot)
    return (_release(scaling),) if is_free else ()


def _status(
    scaling: ScheduledScaling,
    standing: Standing,
    observed: Mapping[str, Said],
    snapshot: Snapshot,
) -> Draft:
    """Give what has to change in the status; nothing if it says it all."""
    held = observing.floors_held(scaling, snapshot) if standing.is_active else None
    wanted: Draft = {
        "observedGeneration": scaling.metadata.generation or None,
        "phase": standing.phase,
        "message": standing.message or None,
        "window": _window(standing.window, scaling),
        "floors": _floors(held) if held else None,
    }
    # As JSON has it: a Struct's tuples would never equal the lists that are written.
    present: Draft = msgspec.json.decode(msgspec.json.encode(scaling.status))
    change = {key: value for key, value in wanted.items() if (present.get(key) or None) != value}
    drafts: list[Draft] = [msgspec.to_builtins(each) for each in scaling.status.conditions]
    changed = False
    for name, said in observed.items():
        changed |= conditions.set(
            drafts,
            name,
            said.status,
            reason=said.reason,
            message=said.message,
            now=snapshot.taken_at,
        )
    if changed:
        change["conditions"] = drafts
    return change


def _floors(held: Floors) -> Draft:
    floors: Draft = {}
    if held.replicas is not None:
        floors["minimumMinReplicas"] = held.replicas
    if held.resources:
        floors["minAllocatedResources"] = [
            {"containerName": container, "resources": dict(amounts)}
            for container, amounts in sorted(held.resources.items())
        ]
    return floors


def _window(window: Window | None, scaling: ScheduledScaling) -> Draft | None:
    if window is None:
        return None
    # A window that never closes is followed only so far: what was said once stays said.
    known = scaling.status.window
    start, finish = format_time(window.start), format_time(window.end)
    if known is not None and known.start <= finish and start <= known.finish:
        start = min(start, known.start)
    return {"start": start, "finish": finish}


def _events(
    scaling: ScheduledScaling, standing: Standing, observed: Mapping[str, Said]
) -> Iterable[Emit]:
    yield from _changes(scaling, standing)
    effective = observed.get(names.EFFECTIVE)
    if effective is not None and _is_news(scaling, names.EFFECTIVE, effective, "Limited"):
        yield Emit(_KIND, scaling, "ScheduledScalingLimited", effective.message, "Warning")
    reached = observed.get(names.RESOURCES_REACHED)
    if reached is not None and _is_news(scaling, names.RESOURCES_REACHED, reached, observing.LATE):
        yield Emit(_KIND, scaling, "ResourcesNotReached", reached.message, "Warning")


def _changes(scaling: ScheduledScaling, standing: Standing) -> Iterable[Emit]:
    before = scaling.status.phase
    if standing.phase == before:
        return
    name = scaling.spec.target_refs.tortoise_name
    if standing.is_active:
        yield Emit(_KIND, scaling, UP, f"floors hold on Tortoise {name} from now on")
    elif before == "Active":
        yield Emit(_KIND, scaling, DOWN, f"floors on Tortoise {name} are taken off")
    elif standing.phase == "Failed":
        yield Emit(_KIND, scaling, "ScheduledScalingFailed", standing.message, "Warning")


def _is_news(scaling: ScheduledScaling, condition: str, said: Said, reason: str) -> bool:
    known = conditions.get(scaling.status.conditions, condition)
    return said.reason == reason and (known is None or known.reason != reason)


def _requeue(scaling: ScheduledScaling, standing: Standing, snapshot: Snapshot) -> float | None:
    if standing.window is None or scaling.spec.suspend:
        return None
    window, now = standing.window, snapshot.taken_at
    if not window.holds(now):
        opening = (window.start - now).total_seconds()
        ahead = opening - AHEAD.total_seconds()
        return ahead if ahead > 0 else opening
    closing = (window.end - now).total_seconds()
    deadline = observing.seconds_to_deadline(window, snapshot)
    return closing if deadline is None else min(closing, deadline)


def _plan_farewell(scaling: ScheduledScaling, snapshot: Snapshot) -> Plan:
    """Let a deleted schedule go once what it raised is settled, or waiting is in vain."""
    if _FINALIZER not in scaling.metadata.finalizers:
        return Plan()
    if _is_settled(scaling, snapshot):
        return Plan((_release(scaling),))
    waited = _waited(scaling, snapshot.taken_at)
    if waited < PATIENCE:
        return Plan(requeue_after=min(1.0, (PATIENCE - waited).total_seconds()))
    message = "writes are refused; what is owed stays noted and is settled when they pass"
    blocked = Emit(_KIND, scaling, "ScheduledScalingBlocked", message, "Warning")
    return Plan((blocked, _release(scaling)))


def _release(scaling: ScheduledScaling) -> Patch:
    left = [name for name in scaling.metadata.finalizers if name != _FINALIZER]
    return _patch(scaling, {"metadata": {"finalizers": left}})


def _is_settled(scaling: ScheduledScaling, snapshot: Snapshot) -> bool:
    namespace = snapshot.get(Namespace, ObjectKey("", scaling.namespace))
    if namespace is None or namespace.is_terminating:
        return True
    tortoise = snapshot.get(Tortoise, target_of(scaling))
    return (
        tortoise is None or tortoise.is_deleting or effects.is_settled(target_of(scaling), snapshot)
    )


def _waited(scaling: ScheduledScaling, now: datetime) -> timedelta:
    try:
        return now - parse_time(scaling.metadata.deletion_timestamp or "")
    except TimestampError:
        return timedelta.max


def _patch(scaling: ScheduledScaling, change: Draft) -> Patch:
    return Patch(_KIND, scaling.key, change, scaling.uid, scaling.resource_version)


def _scalings_of_tortoise(
    old: Tortoise | None, new: Tortoise | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    # Tortoises report all the time, and what they recommend is not told here.
    if changed is None or (old is not None and new is not None and _tells(old) == _tells(new)):
        return ()
    return [each.key for each in snapshot.by_index(SCALINGS_BY_TORTOISE, str(changed.key))]


def _tells(tortoise: Tortoise) -> tuple[object, ...]:
    metadata, status = tortoise.metadata, tortoise.status
    identity = (metadata.uid, metadata.deletion_timestamp, metadata.annotations)
    return *identity, tortoise.spec, status.conditions, status.targets


def _scalings_of_autoscaler(
    old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    if old is not None and new is not None and _bounds(old) == _bounds(new):
        return ()
    tortoise = effects.tortoise_of(changed, snapshot) if changed is not None else None
    found = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise)) if tortoise else ()
    return [scaling.key for scaling in found]


def _bounds(autoscaler: HorizontalPodAutoscaler) -> tuple[object, ...]:
    return autoscaler.uid, autoscaler.metadata.annotations, autoscaler.spec


STANDING: Final = Controller(
    "scaling.standing",
    ScheduledScaling,
    plan,
    (
        Watch(Tortoise, _scalings_of_tortoise),
        Watch(HorizontalPodAutoscaler, _scalings_of_autoscaler),
    ),
    reads=(Namespace, CustomResourceDefinition),
    workers=4,
    after=FIRST,
)
