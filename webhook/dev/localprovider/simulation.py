"""Shared by all simulations: the annotation that switches failures on, operations, conditions."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from webhook.api import names
from webhook.dev.localprovider.managedfields import FieldOwners
from webhook.kube import conditions
from webhook.kube.meta import Draft, Object, Raw
from webhook.kube.timestamps import TimestampError, format_time, parse_time

MARK: Final = "simulated by the local provider"
"""Ends the message of every condition and the description of every operation written here."""

REASON: Final = "LocalProvider"

DARK: Final = "dark"
"""On a Seed: its gardenlet renews no lease and reports nothing."""
ZONE: Final = "zone="
"""On a Seed, followed by the name of a zone: that zone has failed."""
FAIL: Final = "fail"
"""On a Shoot: its operations fail."""


def simulated(obj: Object) -> str:
    """Return the value of the annotation that switches failures on."""
    return obj.metadata.annotations.get(names.SIMULATE, "")


def operation(kind: str, state: str, now: datetime, progress: int = 100) -> Draft:
    """Return a lastOperation, whose description does not have the mark yet."""
    return {
        "type": kind,
        "state": state,
        "progress": progress,
        "description": f"{kind} {state.lower()}",
        "lastUpdateTime": format_time(now),
    }


def age(stamp: str, now: datetime) -> timedelta:
    """Return the time since a timestamp; `timedelta.max` if it cannot be parsed."""
    try:
        return now - parse_time(stamp)
    except TimestampError:
        return timedelta.max


def add(path: str, value: Any) -> Draft:
    """Return an `add` operation of a JSON patch."""
    return {"op": "add", "path": path, "value": value}


class SimulatedConditions:
    """The conditions of one object, of which only simulated ones are changed."""

    def __init__(self, raw: Raw, owners: FieldOwners, last: str = "") -> None:
        """Take the object, and the status that was simulated last, if there was one."""
        self._owners = owners
        self._last = last
        status = raw.get("status") or {}
        self._present: list[Draft] = list(status.get("conditions") or ())

    def set(
        self, types: Iterable[str], status: str, now: datetime, *, overwrite: bool = False
    ) -> list[Draft]:
        """Return the JSON patch that sets conditions; those of others stay unless `overwrite`."""
        positions = {each.get("type"): index for index, each in enumerate(self._present)}
        added: list[Draft] = []
        replaced: list[Draft] = []
        for condition_type in types:
            index = positions.get(condition_type)
            drafts = [] if index is None else [dict(self._present[index])]
            if drafts and not overwrite and not self._is_simulated(drafts[0]):
                continue
            if not conditions.set(
                drafts, condition_type, status, reason=REASON, message=MARK, now=now
            ):
                continue
            if index is None:
                added.append(drafts[0])
            else:
                path = f"/status/conditions/{index}"
                replaced.append({"op": "replace", "path": path, "value": drafts[0]})
        if added and not self._present:
            return [add("/status/conditions", added)]
        return [*replaced, *(add("/status/conditions/-", each) for each in added)]

    def _is_simulated(self, condition: Raw) -> bool:
        if not self._owners.may_set(condition["type"]):
            return False
        if "message" not in condition:
            # Without a message, its status decides whether it was simulated.
            return bool(condition.get("status") == self._last)
        unchanged = not self._last or condition.get("status") == self._last
        return unchanged and MARK in condition["message"]
