"""The time after a window in which replicas still come down from its floor.

Tortoise records, hour by hour, how many replicas a workload needed. Under a floor, and while
replicas only come down from it, their number is our doing and not demand. Until that is over,
Tortoise's recommendations must not rise.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.scaling import ReplicaSlot, Tortoise
from webhook.domain.scaling import raised_values
from webhook.kube.meta import Draft, Raw

ANNOTATION: Final = names.SCALING_AFTERMATH
STABLE_AFTER: Final = timedelta(minutes=10)
"""Replicas that are unchanged for this long have come down as far as they will."""

_SLOTS: Final = ("minReplicas", "maxReplicas")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Aftermath(msgspec.Struct, frozen=True):
    """The replicas that are still due to a floor, and since when they are unchanged.

    `since` is None while a floor is applied.
    """

    replicas: int
    since: datetime | None = None


def read(tortoise: Tortoise) -> Aftermath | None:
    """Decode the aftermath of a Tortoise; None if there is none."""
    text = tortoise.metadata.annotations.get(ANNOTATION)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Aftermath)
    except msgspec.MsgspecError:
        return None


def write(aftermath: Aftermath) -> str:
    """Encode an aftermath for its annotation."""
    return msgspec.json.encode(aftermath).decode()


def start(present: Aftermath | None, floor: int, replicas: int) -> Aftermath:
    """Return the aftermath of a workload under a floor: the replicas that are due to floors.

    That is the floor, or the replicas that still come down from an earlier, higher one. Otherwise
    Tortoise would learn from a second window with a lower floor.
    """
    earlier = min(present.replicas, replicas) if present is not None else 0
    return Aftermath(max(floor, earlier))


def advance(aftermath: Aftermath, replicas: int, allowed: int, now: datetime) -> Aftermath | None:
    """Return the aftermath with the current replicas; None once their number is demand again."""
    if replicas > aftermath.replicas or replicas <= allowed:
        return None
    if replicas < aftermath.replicas or aftermath.since is None:
        return Aftermath(replicas, now)
    return None if now - aftermath.since >= STABLE_AFTER else aftermath


def recommended_now(slots: Iterable[ReplicaSlot], now: datetime) -> int:
    """Return the replicas that the slots recommend for this hour; 0 without a slot for it.

    Other hours do not count: their peak must not end the aftermath of a window at night.
    """
    return max((slot.value for slot in slots if _is_now(slot, now)), default=0)


def _is_now(slot: ReplicaSlot, now: datetime) -> bool:
    try:
        local = now.astimezone(ZoneInfo(slot.time_zone or "UTC"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return slot.week_day in (None, "", _DAYS[local.weekday()]) and slot.from_ <= local.hour < (
        slot.to or 24
    )


def is_learning_suspended(
    tortoise: Tortoise, autoscaler: HorizontalPodAutoscaler | None, floor: int | None
) -> bool:
    """Return whether recommendations must not rise now.

    That is so under a floor that demand does not exceed, in its aftermath, and as long as a bound
    of the autoscaler is raised, even if the window is closed.
    """
    present = read(tortoise)
    if floor is not None:
        due_to_floors = max(floor, present.replicas if present is not None else 0)
        return autoscaler is None or autoscaler.status.desired_replicas <= due_to_floors
    raised = autoscaler is not None and raised_values.ANNOTATION in autoscaler.metadata.annotations
    return raised or present is not None


def cap_slots(draft: Draft, old: Raw) -> None:
    """Keep every replica slot of a status at or below its stored value."""
    stored = _horizontal(old)
    incoming = _horizontal(draft)
    for name in _SLOTS:
        known = {_hour(slot): slot for slot in stored.get(name) or () if isinstance(slot, dict)}
        for slot in incoming.get(name) or ():
            before = known.get(_hour(slot)) if isinstance(slot, dict) else None
            if before is not None and _value(slot) > _value(before):
                slot["value"] = before.get("value")
                if "updatedAt" in before:
                    slot["updatedAt"] = before["updatedAt"]


def _horizontal(obj: Raw) -> Raw:
    found: Any = obj
    for key in ("status", "recommendations", "horizontal"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _hour(slot: Raw) -> tuple[Any, ...]:
    return tuple(str(slot.get(key)) for key in ("from", "to", "weekday", "timezone"))


def _value(slot: Raw) -> int:
    value = slot.get("value")
    return value if isinstance(value, int) else 0
