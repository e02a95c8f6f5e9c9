"""Keep a window from teaching Tortoise: the replicas it forced must not become a habit.

Tortoise learns, hour by hour, how many replicas a workload needed. While a floor holds, and as
long as replicas only come down from it, what it sees is our doing and not demand.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.meta import Draft, Raw
from webhook.api.scaling import ReplicaSlot, Tortoise
from webhook.domain import notes

ANNOTATION: Final = names.SCALING_AFTERMATH
STILL: Final = timedelta(minutes=10)
"""Replicas that stay this long where they are have come down as far as they will."""

_SLOTS: Final = ("minReplicas", "maxReplicas")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Aftermath(msgspec.Struct, frozen=True):
    """How far replicas have come down since the last floor, and since when they stand there.

    While a floor holds there is no such time: the count begins when the last one has gone.
    """

    replicas: int
    since: datetime | None = None


def read(tortoise: Tortoise) -> Aftermath | None:
    """Read the aftermath that a Tortoise is in; None once it is over."""
    text = tortoise.metadata.annotations.get(ANNOTATION)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Aftermath)
    except msgspec.MsgspecError:
        return None


def write(aftermath: Aftermath) -> str:
    """Spell an aftermath for its annotation."""
    return msgspec.json.encode(aftermath).decode()


def mark(present: Aftermath | None, floor: int, replicas: int) -> Aftermath:
    """Mark a workload under a floor with the replicas that are our doing.

    That is the floor, or what is still on its way down from a higher one that has gone.
    """
    left = min(present.replicas, replicas) if present is not None else 0
    return Aftermath(max(floor, left))


def follow(aftermath: Aftermath, replicas: int, allowed: int, now: datetime) -> Aftermath | None:
    """Follow replicas on their way down; None when what they do from now on is demand again."""
    if replicas > aftermath.replicas or replicas <= allowed:
        return None
    if replicas < aftermath.replicas or aftermath.since is None:
        return Aftermath(replicas, now)
    return None if now - aftermath.since >= STILL else aftermath


def allowed_now(slots: Iterable[ReplicaSlot], now: datetime) -> int:
    """Say what the slots recommend for this hour; 0 where none is for it."""
    return max((slot.value for slot in slots if _is_now(slot, now)), default=0)


def _is_now(slot: ReplicaSlot, now: datetime) -> bool:
    try:
        local = now.astimezone(ZoneInfo(slot.time_zone or "UTC"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return slot.week_day in (None, "", _DAYS[local.weekday()]) and slot.from_ <= local.hour < (
        slot.to or 24
    )


def is_suspended(
    tortoise: Tortoise, autoscaler: HorizontalPodAutoscaler | None, floor: int | None
) -> bool:
    """Tell whether slots must not rise now: under a floor that demand has not passed, or after.

    As long as a bound is raised, a floor holds in fact, though its window may be closed.
    """
    present = read(tortoise)
    if floor is not None:
        ours = max(floor, present.replicas if present is not None else 0)
        return autoscaler is None or autoscaler.status.desired_replicas <= ours
    raised = autoscaler is not None and notes.ANNOTATION in autoscaler.metadata.annotations
    return raised or present is not None


def hold_slots(draft: Draft, old: Raw) -> None:
    """Keep every replica slot of a status from rising above what was stored."""
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
