"""Read and set the conditions of a status."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

from webhook.kube.meta import Draft, Int64, Model, describe
from webhook.kube.timestamps import format_time

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"
PROGRESSING: Final = "Progressing"


class ConditionSummary(Model):
    """The core of a condition, all that is kept of the many conditions of Shoots."""

    type: Annotated[str, describe("what is observed")] = ""
    status: Annotated[str, describe("True, False, Unknown or Progressing")] = ""


class Condition(ConditionSummary):
    """One observation about an object.

    Gardener's conditions also have lastUpdateTime and codes, Kubernetes' an observedGeneration;
    document 001 adds `propagate`, which asks to copy the condition to the Shoot.
    """

    reason: Annotated[str, describe("why, as one word")] = ""
    message: Annotated[str, describe("why, for people")] = ""
    last_transition_time: Annotated[str | None, describe("when the status last changed")] = None
    last_update_time: Annotated[str | None, describe("when anything of it last changed")] = None
    last_heartbeat_time: Annotated[str | None, describe("when it was last confirmed")] = None
    observed_generation: Annotated[Int64 | None, describe("the generation that was looked at")] = (
        None
    )
    codes: Annotated[tuple[str, ...], describe("well-known kinds of errors")] = ()
    propagate: Annotated[bool, describe("whether it is copied to the Shoot")] = False


V = TypeVar("V", bound=ConditionSummary)


def get(conditions: Iterable[V], condition_type: str) -> V | None:
    """Return the condition of that type, if there is one."""
    for condition in conditions:
        if condition.type == condition_type:
            return condition
    return None


def status_of(conditions: Iterable[ConditionSummary], condition_type: str) -> str:
    """Return the status of the condition of that type; Unknown if there is none."""
    condition = get(conditions, condition_type)
    return condition.status if condition is not None else UNKNOWN


def is_true(conditions: Iterable[ConditionSummary], condition_type: str) -> bool:
    """Return whether there is a condition of that type and it is True."""
    return status_of(conditions, condition_type) == TRUE


def set(  # noqa: A001 -- reads as conditions.set(...)
    conditions: list[Draft],
    condition_type: str,
    status: str,
    *,
    reason: str,
    message: str,
    now: datetime,
) -> bool:
    """Set a condition in the list of a draft; returns whether anything changed.

    lastTransitionTime changes only with the status, lastUpdateTime with any change. An unchanged
    condition keeps both, so that repeated plans write nothing.
    """
    wanted: dict[str, Any] = {"status": status, "reason": reason, "message": message}
    stamp = format_time(now)
    for condition in conditions:
        if condition.get("type") != condition_type:
            continue
        if all(condition.get(key) == value for key, value in wanted.items()):
            return False
        if condition.get("status") != status:
            condition["lastTransitionTime"] = stamp
        condition.update(wanted)
        condition["lastUpdateTime"] = stamp
        return True
    conditions.append(
        {
            "type": condition_type,
            **wanted,
            "lastTransitionTime": stamp,
            "lastUpdateTime": stamp,
        }
    )
    return True


def remove(conditions: list[Draft], condition_type: str) -> bool:
    """Remove a condition from the list of a draft; returns whether it was there."""
    kept = [condition for condition in conditions if condition.get("type") != condition_type]
    changed = len(kept) != len(conditions)
    conditions[:] = kept
    return changed
