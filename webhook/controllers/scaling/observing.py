"""What can be said about an open window: whether its floors hold, are on record, are reached."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from webhook.api import conditions, names, quantity
from webhook.api.meta import ObjectKey
from webhook.api.quantity import QuantityError
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.controllers.scaling import edges, effects
from webhook.domain import schedules
from webhook.domain.floors import Floors
from webhook.domain.windows import Window
from webhook.state.snapshot import Snapshot

LATE: Final = "Late"
BLOCKED: Final = "Blocked"


class Said(NamedTuple):
    """A condition's status, reason and message."""

    status: str
    reason: str
    message: str


def target_of(scaling: ScheduledScaling) -> ObjectKey:
    """Name the Tortoise that a schedule is for."""
    return ObjectKey(scaling.namespace, scaling.spec.target_refs.tortoise_name)


def floors_held(scaling: ScheduledScaling, snapshot: Snapshot) -> Floors:
    """Give what of a schedule's own floors holds while its window is open."""
    floors = schedules.floors_of(scaling)
    if snapshot.options.scaling.effect == "none":
        return floors
    tortoise = snapshot.get(Tortoise, target_of(scaling))
    return schedules.effective(tortoise, floors, snapshot.options.scaling)


def observe(
    scaling: ScheduledScaling, window: Window | None, snapshot: Snapshot
) -> Mapping[str, Said]:
    """Judge the effect of an open window, or how a closed one was settled."""
    if window is None:
        return _observe_closed(scaling, snapshot)
    key = target_of(scaling)
    tortoise = snapshot.get(Tortoise, key)
    observed = {names.CONSTRAINTS_STORED: _stored(snapshot)}
    effective = _effective(scaling, tortoise, snapshot)
    if effective is not None:
        observed[names.EFFECTIVE] = effective
    floors = floors_held(scaling, snapshot)
    if tortoise is not None and floors.resources:
        deadline = _deadline(window, snapshot)
        observed[names.RESOURCES_REACHED] = _reached(tortoise, floors, snapshot.taken_at, deadline)
    return observed


def _observe_closed(scaling: ScheduledScaling, snapshot: Snapshot) -> Mapping[str, Said]:
    known = conditions.get(scaling.status.conditions, names.EFFECTIVE)
    if known is None:
        return {}
    closing = scaling.status.phase == "Active" or known.reason == BLOCKED
    if closing and not effects.is_settled(target_of(scaling), snapshot):
        message = "what was raised is not given back yet; it is written until it is"
        return {names.EFFECTIVE: Said("False", BLOCKED, message)}
    return {names.EFFECTIVE: Said("False", "NotActive", "no window is open")}


def seconds_to_deadline(window: Window, snapshot: Snapshot) -> float | None:
    """Say how long until pods below a floor are reported; None if that is past."""
    left = (_deadline(window, snapshot) - snapshot.taken_at).total_seconds()
    return left if left > 0 else None


def _deadline(window: Window, snapshot: Snapshot) -> datetime:
    return window.start + timedelta(seconds=snapshot.options.scaling.resources_deadline_seconds)


def _stored(snapshot: Snapshot) -> Said:
    if effects.is_recorded(snapshot):
        return Said("True", "Stored", "the Tortoise keeps constraints")
    message = "apply what `espalier manifests --tortoise-crd-patch` prints; floors hold anyway"
    return Said("False", "NotServed", message)


def _effective(
    scaling: ScheduledScaling, tortoise: Tortoise | None, snapshot: Snapshot
) -> Said | None:
    """Judge whether floors hold; None while that cannot be said yet."""
    key = target_of(scaling)
    if scaling.namespace == names.KUBE_SYSTEM:
        return Said("False", "Excluded", "floors never hold in kube-system")
    if tortoise is None:
        return Said("False", "TortoiseNotFound", f"there is no Tortoise {key} yet")
    idle = schedules.why_idle(tortoise)
    if idle:
        return Said("False", "Idle", idle)
    if snapshot.options.scaling.effect == "none":
        return Said("True", "LeftToTortoise", "the Tortoise reads constraints itself")
    if not effects.is_settled(key, snapshot):
        if edges.grace(key, snapshot) is not None:
            return None
        message = "the floors are not shown yet; they are written until they are"
        return Said("False", BLOCKED, message)
    return _held(scaling, tortoise, snapshot)


def _held(scaling: ScheduledScaling, tortoise: Tortoise, snapshot: Snapshot) -> Said:
    held = floors_held(scaling, snapshot).replicas
    if held is not None and effects.autoscaler_of(tortoise, snapshot) is None:
        name = schedules.autoscaler_of(tortoise)
        return Said("False", "NoAutoscaler", f"there is no HorizontalPodAutoscaler {name} yet")
    if held is not None and held < (schedules.floors_of(scaling).replicas or 0):
        message = f"held at {held} replicas, the most that settings allow"
        return Said("True", "Limited", message)
    return Said("True", "Held", "the floors hold")


def _reached(tortoise: Tortoise, floors: Floors, now: datetime, deadline: datetime) -> Said:
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
        return Said("True", "Reached", "all requests are at or above their floors")
    listed = ", ".join(missing)
    if now >= deadline:
        return Said("False", LATE, f"still below the floor: {listed}; look at the Tortoise's VPA")
    return Said("False", "Rising", f"not there yet: {listed}")


def _is_enough(given: Any, amount: str) -> bool:
    try:
        return quantity.parse(given) >= quantity.parse(amount)
    except QuantityError:
        return False
