"""The conditions of a window: whether its floors are effective, stored and reached."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from webhook.api import names
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.controllers.scheduledscaling import edges, effects
from webhook.controllers.status_patch import ConditionDraft
from webhook.domain.scaling import schedules
from webhook.domain.scaling.floors import Floors
from webhook.domain.scaling.recurrence import Window
from webhook.kube import conditions, quantity
from webhook.kube.meta import ObjectKey
from webhook.kube.quantity import QuantityError
from webhook.state.snapshot import Snapshot

LATE: Final = "Late"
BLOCKED: Final = "Blocked"


def target_of(scaling: ScheduledScaling) -> ObjectKey:
    """Return the key of a schedule's Tortoise."""
    return ObjectKey(scaling.namespace, scaling.spec.target_refs.tortoise_name)


def floors_held(scaling: ScheduledScaling, snapshot: Snapshot) -> Floors:
    """Return the floors of a schedule that are effective while its window is open."""
    floors = schedules.floors_of(scaling)
    if snapshot.options.scaling.effect == "none":
        return floors
    tortoise = snapshot.get(Tortoise, target_of(scaling))
    return schedules.effective_floors(tortoise, floors, snapshot.options.scaling)


def observe(
    scaling: ScheduledScaling, window: Window | None, snapshot: Snapshot
) -> Sequence[ConditionDraft]:
    """Return the conditions of an open window, or of a closed one that is being undone."""
    if window is None:
        return _observe_closed(scaling, snapshot)
    key = target_of(scaling)
    tortoise = snapshot.get(Tortoise, key)
    observed = [_stored(snapshot)]
    effective = _effective(scaling, tortoise, snapshot)
    if effective is not None:
        observed.append(effective)
    floors = floors_held(scaling, snapshot)
    if tortoise is not None and floors.resources:
        deadline = _deadline(window, snapshot)
        observed.append(_reached(tortoise, floors, snapshot.taken_at, deadline))
    return observed


def _observe_closed(scaling: ScheduledScaling, snapshot: Snapshot) -> Sequence[ConditionDraft]:
    known = conditions.get(scaling.status.conditions, names.EFFECTIVE)
    if known is None:
        return ()
    closing = scaling.status.phase == "Active" or known.reason == BLOCKED
    if closing and not effects.is_settled(target_of(scaling), snapshot):
        message = "raised values are not restored yet; the writes are repeated"
        return (ConditionDraft(names.EFFECTIVE, "False", BLOCKED, message),)
    return (ConditionDraft(names.EFFECTIVE, "False", "NotActive", "no window is open"),)


def seconds_to_deadline(window: Window, snapshot: Snapshot) -> float | None:
    """Return the seconds until pods below a floor are reported; None if that is past."""
    left = (_deadline(window, snapshot) - snapshot.taken_at).total_seconds()
    return left if left > 0 else None


def _deadline(window: Window, snapshot: Snapshot) -> datetime:
    return window.start + timedelta(seconds=snapshot.options.scaling.resources_deadline_seconds)


def _stored(snapshot: Snapshot) -> ConditionDraft:
    if effects.stores_constraints(snapshot):
        return ConditionDraft(
            names.CONSTRAINTS_STORED, "True", "Stored", "the Tortoise keeps constraints"
        )
    message = "apply what `espalier manifests --tortoise-crd-patch` prints; floors hold anyway"
    return ConditionDraft(names.CONSTRAINTS_STORED, "False", "NotServed", message)


def _effective(
    scaling: ScheduledScaling, tortoise: Tortoise | None, snapshot: Snapshot
) -> ConditionDraft | None:
    """Return whether floors are effective; None while that is not known yet."""
    key = target_of(scaling)
    if scaling.namespace == names.KUBE_SYSTEM:
        return ConditionDraft(
            names.EFFECTIVE, "False", "Excluded", "floors never hold in kube-system"
        )
    if tortoise is None:
        return ConditionDraft(
            names.EFFECTIVE, "False", "TortoiseNotFound", f"there is no Tortoise {key} yet"
        )
    idle = schedules.inactive_reason(tortoise)
    if idle:
        return ConditionDraft(names.EFFECTIVE, "False", "Idle", idle)
    if snapshot.options.scaling.effect == "none":
        return ConditionDraft(
            names.EFFECTIVE, "True", "LeftToTortoise", "the Tortoise reads constraints itself"
        )
    if not effects.is_settled(key, snapshot):
        if edges.grace(key, snapshot) is not None:
            return None
        message = "the floors are not in place yet; the writes are repeated"
        return ConditionDraft(names.EFFECTIVE, "False", BLOCKED, message)
    return _held(scaling, tortoise, snapshot)


def _held(scaling: ScheduledScaling, tortoise: Tortoise, snapshot: Snapshot) -> ConditionDraft:
    floors = floors_held(scaling, snapshot)
    held = floors.replicas
    if held is not None and effects.autoscaler_of(tortoise, snapshot) is None:
        name = schedules.autoscaler_of(tortoise)
        return ConditionDraft(
            names.EFFECTIVE,
            "False",
            "NoAutoscaler",
            f"there is no HorizontalPodAutoscaler {name} yet",
        )
    if cut := [*_cut(schedules.floors_of(scaling), floors)]:
        message = f"held at {', '.join(cut)}, the most that settings allow"
        return ConditionDraft(names.EFFECTIVE, "True", "Limited", message)
    return ConditionDraft(names.EFFECTIVE, "True", "Held", "the floors hold")


def _cut(wanted: Floors, held: Floors) -> Iterator[str]:
    """Describe the floors that are lower than in the schedule."""
    if held.replicas is not None and held.replicas < (wanted.replicas or 0):
        yield f"{held.replicas} replicas"
    for container, amounts in sorted(held.resources.items()):
        for resource, amount in sorted(amounts.items()):
            if not _is_enough(amount, wanted.resources[container][resource]):
                yield f"{amount} {resource} of container {container}"


def _reached(
    tortoise: Tortoise, floors: Floors, now: datetime, deadline: datetime
) -> ConditionDraft:
    # What Tortoise requests stands for the Pods: watching all Pods of a cluster costs more than it
    # shows.
    given: dict[str, Any] = {
        each.container_name: each.resource
        for each in tortoise.status.conditions.container_resource_requests
    }
    missing = [
        f"{container} {resource}"
        for container, wanted in floors.resources.items()
        for resource, amount in wanted.items()
        if not _is_enough(given.get(container, {}).get(resource, "0"), amount)
    ]
    if not missing:
        return ConditionDraft(
            names.RESOURCES_REACHED, "True", "Reached", "all requests are at or above their floors"
        )
    listed = ", ".join(missing)
    if now >= deadline:
        return ConditionDraft(
            names.RESOURCES_REACHED,
            "False",
            LATE,
            f"still below the floor: {listed}; look at the Tortoise's VPA",
        )
    return ConditionDraft(names.RESOURCES_REACHED, "False", "Rising", f"not there yet: {listed}")


def _is_enough(given: Any, amount: str) -> bool:
    try:
        return quantity.parse(given) >= quantity.parse(amount)
    except QuantityError:
        return False
