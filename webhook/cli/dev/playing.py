"""What all parts of the local provider have in common: their mark, their pace, their reports."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from webhook.api import conditions, names
from webhook.api.meta import Draft, Object, Raw
from webhook.api.timestamps import TimestampError, format_time, parse_time
from webhook.cli.dev.authorship import Authors

MARK: Final = "played by the local provider"
REASON: Final = "LocalProvider"

DARK: Final = "dark"
"""On a Seed: its gardenlet is silent."""
ZONE: Final = "zone="
"""On a Seed, with a zone's name: that zone has failed."""
FAIL: Final = "fail"
"""On a Shoot: it cannot be reconciled."""


def simulated(obj: Object) -> str:
    """Read how an object is told to behave."""
    return obj.metadata.annotations.get(names.SIMULATE, "")


def operation(kind: str, state: str, now: datetime, progress: int = 100) -> Draft:
    """Write a last operation; the description is without the mark."""
    return {
        "type": kind,
        "state": state,
        "progress": progress,
        "description": f"{kind} {state.lower()}",
        "lastUpdateTime": format_time(now),
    }


def age(stamp: str, now: datetime) -> timedelta:
    """Tell how long ago something was; for ever where the stamp says nothing."""
    try:
        return now - parse_time(stamp)
    except TimestampError:
        return timedelta.max


def add(path: str, value: Any) -> Draft:
    """Write one step of a JSON patch."""
    return {"op": "add", "path": path, "value": value}


class Reports:
    """The conditions of one object, of which only those that are played change."""

    def __init__(self, raw: Raw, authors: Authors, last: str = "") -> None:
        """Take the object as it is, and the verdict that was played last, where there is one."""
        self._authors = authors
        self._last = last
        status = raw.get("status") or {}
        self._present: list[Draft] = list(status.get("conditions") or ())

    def set(
        self, types: Iterable[str], verdict: str, now: datetime, *, insists: bool = False
    ) -> list[Draft]:
        """Return the steps that report a verdict; what somebody else wrote stays as it is."""
        places = {each.get("type"): place for place, each in enumerate(self._present)}
        fresh: list[Draft] = []
        steps: list[Draft] = []
        for condition_type in types:
            place = places.get(condition_type)
            drafts = [] if place is None else [dict(self._present[place])]
            if drafts and not insists and not self._is_played(drafts[0]):
                continue
            if not conditions.set(
                drafts, condition_type, verdict, reason=REASON, message=MARK, now=now
            ):
                continue
            if place is None:
                fresh.append(drafts[0])
            else:
                path = f"/status/conditions/{place}"
                steps.append({"op": "replace", "path": path, "value": drafts[0]})
        if fresh and not self._present:
            return [add("/status/conditions", fresh)]
        return [*steps, *(add("/status/conditions/-", each) for each in fresh)]

    def _is_played(self, condition: Raw) -> bool:
        if not self._authors.may_set(condition["type"]):
            return False
        if "message" not in condition:
            # Only the verdict is known: one that was not played last is not ours.
            return bool(condition.get("status") == self._last)
        as_played = not self._last or condition.get("status") == self._last
        return as_played and MARK in condition["message"]
