"""plan(): the status of a ScheduledScaling, and its finalizer while values are raised."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from webhook.api import names
from webhook.api.core import Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.controllers.scheduledscaling import edges, effects, observation
from webhook.controllers.scheduledscaling.floors import LABEL_AHEAD, label
from webhook.controllers.scheduledscaling.observation import target_of
from webhook.controllers.status_patch import ConditionDraft, set_conditions
from webhook.domain.scaling import schedules
from webhook.domain.scaling.floors import Floors
from webhook.domain.scaling.recurrence import Window
from webhook.domain.scaling.validation import InvalidField
from webhook.domain.scaling.windows import phase
from webhook.kube import conditions
from webhook.kube.meta import Draft, ObjectKey
from webhook.kube.timestamps import TimestampError, format_time, parse_time
from webhook.runtime.actions import Action, Emit, Patch, Plan
from webhook.state.snapshot import Snapshot

SCALED_UP: Final = "ScheduledScalingUp"
SCALED_DOWN: Final = "ScheduledScalingDown"
DELETION_GRACE: Final = timedelta(seconds=60)
"""How long a deletion waits while writes are refused."""

MAX_FAULTS: Final = 10
"""How many invalid fields a status names."""

_KIND: Final = kind_of_model(ScheduledScaling)
_FINALIZER: Final = names.SCHEDULED_SCALING_FINALIZER


class ScheduleState(NamedTuple):
    """The phase of a schedule and its present or next window."""

    phase: str
    message: str = ""
    window: Window | None = None

    @property
    def is_active(self) -> bool:
        return self.phase == "Active"


def plan(scaling: ScheduledScaling, snapshot: Snapshot) -> Plan:
    """Report phase, window and effect; keep the finalizer while values may be raised.

    At an edge the autoscaler and the Tortoise are patched first, and the status follows; if that
    takes long, the status reports that they are not patched.
    """
    if scaling.is_deleting:
        return _plan_deletion(scaling, snapshot)
    state = _state_of(scaling, snapshot.taken_at)
    actions: list[Action] = [
        *_label_namespace(scaling, state, snapshot),
        *_plan_finalizer(scaling, state, snapshot),
    ]
    grace = edges.grace(target_of(scaling), snapshot)
    if grace is not None and not effects.is_settled(target_of(scaling), snapshot):
        return Plan(tuple(actions), grace)
    observed = observation.observe(scaling, state.window if state.is_active else None, snapshot)
    status = _status(scaling, state, observed, snapshot)
    if status:
        actions.append(
            Patch(_KIND, scaling.key, {"status": status}, scaling.uid, subresource="status")
        )
        actions += _events(scaling, state, observed)
    return Plan(tuple(actions), _requeue_after(scaling, state, snapshot))


def _state_of(scaling: ScheduledScaling, now: datetime) -> ScheduleState:
    faults, schedule, _ = schedules.parse(scaling)
    if faults:
        return ScheduleState("Failed", _describe(faults))
    if schedule is None:
        return ScheduleState("Failed", "spec.schedule: means no window")
    window = schedule.first(now)
    if scaling.spec.suspend:
        return ScheduleState("Pending" if window else "Completed", "suspended", window)
    return ScheduleState(phase(schedule, now), "", window)


def _describe(faults: Sequence[InvalidField]) -> str:
    listed = [f"{fault.field}: {fault.message}" for fault in faults[:MAX_FAULTS]]
    left = len(faults) - len(listed)
    return "; ".join([*listed, f"and {left} more invalid fields"] if left else listed)


def _label_namespace(
    scaling: ScheduledScaling, state: ScheduleState, snapshot: Snapshot
) -> Iterable[Action]:
    """Label the namespace a minute before a window, so that our webhooks are called there."""
    unlabelled = (names.KUBE_SYSTEM, snapshot.options.namespace)
    if not _opens_soon(scaling, state, snapshot) or scaling.namespace in unlabelled:
        return ()
    namespace = snapshot.get(Namespace, ObjectKey("", scaling.namespace))
    if namespace is None or namespace.is_terminating:
        return ()
    is_labelled = names.SCALING_NAMESPACE in namespace.metadata.labels
    return () if is_labelled else (label(namespace, "true"),)


def _opens_soon(scaling: ScheduledScaling, state: ScheduleState, snapshot: Snapshot) -> bool:
    window = state.window
    if window is None or scaling.spec.suspend:
        return False
    return window.start - snapshot.taken_at <= LABEL_AHEAD


def _plan_finalizer(
    scaling: ScheduledScaling, state: ScheduleState, snapshot: Snapshot
) -> Iterable[Action]:
    """Keep the finalizer from a minute before the first window until the last one is undone.

    At the edge itself nothing is then written before the autoscalers. A schedule that is over has
    no finalizer, so that it can be deleted while no server runs.
    """
    present = scaling.metadata.finalizers
    if _opens_soon(scaling, state, snapshot) and _FINALIZER not in present:
        return (_patch(scaling, {"metadata": {"finalizers": [*present, _FINALIZER]}}),)
    over = state.phase in ("Completed", "Failed") and scaling.status.phase == state.phase
    is_free = over and _FINALIZER in present and _is_settled(scaling, snapshot)
    return (_remove_finalizer(scaling),) if is_free else ()


def _status(
    scaling: ScheduledScaling,
    state: ScheduleState,
    observed: Sequence[ConditionDraft],
    snapshot: Snapshot,
) -> Draft:
    """Return what has to change in the status."""
    held = observation.floors_held(scaling, snapshot) if state.is_active else None
    wanted: Draft = {
        "observedGeneration": scaling.metadata.generation or None,
        "phase": state.phase,
        "message": state.message or None,
        "window": _window(state.window, scaling),
        "floors": _floors(held) if held else None,
    }
    # As JSON: the tuples of a Struct never equal the lists that are written.
    present: Draft = msgspec.json.decode(msgspec.json.encode(scaling.status))
    change = {key: value for key, value in wanted.items() if (present.get(key) or None) != value}
    conditions_now = set_conditions(present, observed, snapshot.taken_at)
    if conditions_now != present.get("conditions", []):
        change["conditions"] = conditions_now
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
    # The start of a window that never closes is not computed again: the reported one stays.
    known = scaling.status.window
    start, finish = format_time(window.start), format_time(window.end)
    if known is not None and known.start <= finish and start <= known.finish:
        start = min(start, known.start)
    return {"start": start, "finish": finish}


def _events(
    scaling: ScheduledScaling, state: ScheduleState, observed: Sequence[ConditionDraft]
) -> Iterable[Emit]:
    yield from _phase_events(scaling, state)
    for draft in observed:
        if draft.type == names.EFFECTIVE and _is_new(scaling, draft, "Limited"):
            yield Emit(_KIND, scaling, "ScheduledScalingLimited", draft.message, "Warning")
        if draft.type == names.RESOURCES_REACHED and _is_new(scaling, draft, observation.LATE):
            yield Emit(_KIND, scaling, "ResourcesNotReached", draft.message, "Warning")


def _phase_events(scaling: ScheduledScaling, state: ScheduleState) -> Iterable[Emit]:
    before = scaling.status.phase
    if state.phase == before:
        return
    name = scaling.spec.target_refs.tortoise_name
    if state.is_active:
        yield Emit(_KIND, scaling, SCALED_UP, f"floors hold on Tortoise {name} from now on")
    elif before == "Active":
        yield Emit(_KIND, scaling, SCALED_DOWN, f"floors on Tortoise {name} are taken off")
    elif state.phase == "Failed":
        yield Emit(_KIND, scaling, "ScheduledScalingFailed", state.message, "Warning")


def _is_new(scaling: ScheduledScaling, draft: ConditionDraft, reason: str) -> bool:
    known = conditions.get(scaling.status.conditions, draft.type)
    return draft.reason == reason and (known is None or known.reason != reason)


def _requeue_after(
    scaling: ScheduledScaling, state: ScheduleState, snapshot: Snapshot
) -> float | None:
    if state.window is None or scaling.spec.suspend:
        return None
    window, now = state.window, snapshot.taken_at
    if not window.holds(now):
        opening = (window.start - now).total_seconds()
        ahead = opening - LABEL_AHEAD.total_seconds()
        return ahead if ahead > 0 else opening
    closing = (window.end - now).total_seconds()
    deadline = observation.seconds_to_deadline(window, snapshot)
    return closing if deadline is None else min(closing, deadline)


def _plan_deletion(scaling: ScheduledScaling, snapshot: Snapshot) -> Plan:
    """Remove the finalizer once raised values are restored, or after the grace period."""
    if _FINALIZER not in scaling.metadata.finalizers:
        return Plan()
    if _is_settled(scaling, snapshot):
        return Plan((_remove_finalizer(scaling),))
    waited = _waited(scaling, snapshot.taken_at)
    if waited < DELETION_GRACE:
        return Plan(requeue_after=min(1.0, (DELETION_GRACE - waited).total_seconds()))
    message = (
        "writes are refused; raised values stay annotated and are restored once writes succeed"
    )
    blocked = Emit(_KIND, scaling, "ScheduledScalingBlocked", message, "Warning")
    return Plan((blocked, _remove_finalizer(scaling)))


def _remove_finalizer(scaling: ScheduledScaling) -> Patch:
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
