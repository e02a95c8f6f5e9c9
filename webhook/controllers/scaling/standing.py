"""Tell people how a ScheduledScaling stands, and let it go only when nothing is owed."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from webhook.admission.rules import scheduled_scaling
from webhook.api import conditions, names, quantity
from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler, Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.timestamps import TimestampError, format_time, parse_time
from webhook.controllers.scaling import effects
from webhook.domain import schedules
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


def plan(scaling: ScheduledScaling, snapshot: Snapshot) -> Plan:
    """Report phase, window and effect; hold the finalizer while something may be owed."""
    if scaling.is_deleting:
        return _plan_farewell(scaling, snapshot)
    now = snapshot.taken_at
    standing = _standing(scaling, now)
    actions: list[Action] = []
    if standing.phase == "Active" and _FINALIZER not in scaling.metadata.finalizers:
        finalizers = [*scaling.metadata.finalizers, _FINALIZER]
        actions.append(_patch(scaling, {"metadata": {"finalizers": finalizers}}))
    status = _status(scaling, standing, snapshot)
    if status:
        actions.append(
            Patch(_KIND, scaling.key, {"status": status}, scaling.uid, subresource="status")
        )
        actions += _events(scaling, standing)
    return Plan(tuple(actions), _requeue(scaling, standing, snapshot))


def _standing(scaling: ScheduledScaling, now: datetime) -> Standing:
    faults = [f"{found.field}: {found.message}" for found in scheduled_scaling.judge(scaling.spec)]
    if faults:
        return Standing("Failed", "; ".join(faults))
    schedule = schedules.schedule_of(scaling)
    if schedule is None:
        return Standing("Failed", "spec.schedule: means no window")
    window = next(schedule.windows(now), None)
    if scaling.spec.suspend:
        return Standing("Pending" if window else "Completed", "suspended", window)
    return Standing(phase(schedule, now), "", window)


def _status(scaling: ScheduledScaling, standing: Standing, snapshot: Snapshot) -> Draft:
    """Give what has to change in the status; nothing if it says it all."""
    active = standing.phase == "Active"
    floors = scaling.spec.strategy.static if active else None
    wanted: Draft = {
        "observedGeneration": scaling.metadata.generation or None,
        "phase": standing.phase,
        "message": standing.message or None,
        "window": _window(standing.window, scaling),
        "floors": msgspec.to_builtins(floors) if floors is not None else None,
    }
    present: Draft = msgspec.to_builtins(scaling.status)
    change = {key: value for key, value in wanted.items() if (present.get(key) or None) != value}
    drafts: list[Draft] = [msgspec.to_builtins(each) for each in scaling.status.conditions]
    changed = False
    for name, (status, reason, message) in _observed(scaling, active, snapshot).items():
        changed |= conditions.set(
            drafts, name, status, reason=reason, message=message, now=snapshot.taken_at
        )
    if changed:
        change["conditions"] = drafts
    return change


def _window(window: Window | None, scaling: ScheduledScaling) -> Draft | None:
    if window is None:
        return None
    # A window that never closes is followed only so far: what was said once stays said.
    known = scaling.status.window
    start, finish = format_time(window.start), format_time(window.end)
    if known is not None and known.start <= finish and start <= known.finish:
        start = min(start, known.start)
    return {"start": start, "finish": finish}


def _observed(
    scaling: ScheduledScaling, active: bool, snapshot: Snapshot
) -> dict[str, tuple[str, str, str]]:
    """Judge the effect of an open window; closed ones have none."""
    if not active:
        if not scaling.status.conditions:
            return {}
        closed = ("False", "NotActive", "no window is open")
        return {names.EFFECTIVE: closed}
    key = ObjectKey(scaling.namespace, scaling.spec.target_refs.tortoise_name)
    tortoise = snapshot.get(Tortoise, key)
    observed = {names.EFFECTIVE: _effective(key, tortoise, snapshot)}
    if effects.is_recorded(snapshot):
        observed[names.CONSTRAINTS_STORED] = ("True", "Stored", "the Tortoise keeps constraints")
    else:
        message = "apply what `espalier manifests --tortoise-crd-patch` prints; floors hold anyway"
        observed[names.CONSTRAINTS_STORED] = ("False", "NotServed", message)
    if tortoise is not None and schedules.floors_of(scaling).resources:
        observed[names.RESOURCES_REACHED] = _reached(tortoise, schedules.floors_of(scaling))
    return observed


def _effective(
    key: ObjectKey, tortoise: Tortoise | None, snapshot: Snapshot
) -> tuple[str, str, str]:
    if tortoise is None:
        return "False", "TortoiseNotFound", f"there is no Tortoise {key} yet"
    idle = schedules.why_idle(tortoise)
    if idle:
        return "False", "Idle", idle
    if snapshot.options.scaling.effect == "none":
        return "True", "LeftToTortoise", "the Tortoise reads constraints itself"
    if _unsettled(key, snapshot):
        return "False", "Blocked", "the floors are not shown yet; they are written until they are"
    return "True", "Held", "the floors hold"


def _unsettled(tortoise: ObjectKey, snapshot: Snapshot) -> bool:
    """Tell whether the Tortoise or an autoscaler of it still has to be written."""
    found = snapshot.get(Tortoise, tortoise)
    if found is not None and effects.write_tortoise(found, snapshot) is not None:
        return True
    return any(
        effects.write_autoscaler(each, snapshot) is not None
        for each in effects.autoscalers_of(tortoise, snapshot)
    )


def _reached(tortoise: Tortoise, floors: Floors) -> tuple[str, str, str]:
    given: dict[str, Any] = {
        each.container_name: each.resource
        for each in tortoise.status.conditions.container_resource_requests
    }
    missing = [
        f"{container} {resource}"
        for container, wanted in floors.resources.items()
        for resource, amount in wanted.items()
        if quantity.parse(given.get(container, {}).get(resource, "0")) < quantity.parse(amount)
    ]
    if missing:
        return "False", "Rising", f"not there yet: {', '.join(missing)}"
    return "True", "Reached", "all requests are at or above their floors"


def _events(scaling: ScheduledScaling, standing: Standing) -> Iterable[Emit]:
    before = scaling.status.phase
    if standing.phase == before:
        return
    name = scaling.spec.target_refs.tortoise_name
    if standing.phase == "Active":
        yield Emit(_KIND, scaling, UP, f"floors hold on Tortoise {name} from now on")
    elif before == "Active":
        yield Emit(_KIND, scaling, DOWN, f"floors on Tortoise {name} are taken off")
    elif standing.phase == "Failed":
        yield Emit(_KIND, scaling, "ScheduledScalingFailed", standing.message, "Warning")


def _requeue(scaling: ScheduledScaling, standing: Standing, snapshot: Snapshot) -> float | None:
    if standing.window is None or scaling.spec.suspend:
        return None
    window, now = standing.window, snapshot.taken_at
    edge = window.end if window.holds(now) else window.start
    return (edge - now).total_seconds()


def _plan_farewell(scaling: ScheduledScaling, snapshot: Snapshot) -> Plan:
    """Let a deleted schedule go once what it raised is settled, or waiting is in vain."""
    if _FINALIZER not in scaling.metadata.finalizers:
        return Plan()
    left = [name for name in scaling.metadata.finalizers if name != _FINALIZER]
    release = _patch(scaling, {"metadata": {"finalizers": left}})
    if _is_settled(scaling, snapshot):
        return Plan((release,))
    waited = _waited(scaling, snapshot.taken_at)
    if waited < PATIENCE:
        return Plan(requeue_after=min(1.0, (PATIENCE - waited).total_seconds()))
    message = "writes are refused; what is owed stays noted and is settled when they pass"
    return Plan((Emit(_KIND, scaling, "ScheduledScalingBlocked", message, "Warning"), release))


def _is_settled(scaling: ScheduledScaling, snapshot: Snapshot) -> bool:
    namespace = snapshot.get(Namespace, ObjectKey("", scaling.namespace))
    if namespace is None or namespace.is_terminating:
        return True
    key = ObjectKey(scaling.namespace, scaling.spec.target_refs.tortoise_name)
    tortoise = snapshot.get(Tortoise, key)
    return tortoise is None or tortoise.is_deleting or not _unsettled(key, snapshot)


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
    found = snapshot.by_index(SCALINGS_BY_TORTOISE, str(changed.key)) if changed else ()
    return [scaling.key for scaling in found]


def _scalings_of_autoscaler(
    old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    tortoise = effects.tortoise_of(changed, snapshot) if changed is not None else None
    found = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise)) if tortoise else ()
    return [scaling.key for scaling in found]


STANDING: Final = Controller(
    "scaling.standing",
    ScheduledScaling,
    plan,
    (
        Watch(Tortoise, _scalings_of_tortoise),
        Watch(HorizontalPodAutoscaler, _scalings_of_autoscaler),
    ),
    reads=(Namespace, CustomResourceDefinition),
)
