"""Read and set the conditions of a status."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

from webhook.api.meta import Draft, Int64, Model, says
from webhook.api.timestamps import format_time

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"
PROGRESSING: Final = "Progressing"


class Verdict(Model):
    """The core of a condition, all that is kept of the many conditions of Shoots."""

    type: Annotated[str, says("what is observed")] = ""
    status: Annotated[str, says("True, False, Unknown or Progressing")] = ""


class Condition(Verdict):
    """One observation about an object.

    Gardener's conditions also have lastUpdateTime and codes, Kubernetes' an observedGeneration;
    document 001 adds `propagate`, which asks to copy the condition to the Shoot.
    """

    reason: Annotated[str, says("why, as one word")] = ""
    message: Annotated[str, says("why, for people")] = ""
    last_transition_time: Annotated[str | None, says("when the status last changed")] = None
    last_update_time: Annotated[str | None, says("when anything of it last changed")] = None
    last_heartbeat_time: Annotated[str | None, says("when it was last confirmed")] = None
    observed_generation: Annotated[Int64 | None, says("the generation that was looked at")] = None
    codes: Annotated[tuple[str, ...], says("well-known kinds of errors")] = ()
    propagate: Annotated[bool, says("whether it is copied to the Shoot")] = False


V = TypeVar("V", bound=Verdict)


def get(conditions: Iterable[V], condition_type: str) -> V | None:
    """Return the condition of that type, if there is one."""
    for condition in conditions:
        if condition.type == condition_type:
            return condition
    return None


def status_of(conditions: Iterable[Verdict], condition_type: str) -> str:
    """Return the status of that condition; one that is not there is Unknown."""
    condition = get(conditions, condition_type)
    return condition.status if condition is not None else UNKNOWN


def is_true(conditions: Iterable[Verdict], condition_type: str) -> bool:
    """Tell whether the condition is there and True."""
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
    """Put a condition into the list of a draft and tell whether anything changed.

    lastTransitionTime moves only with the status, lastUpdateTime with any change, and a condition
    that says what it said before is left alone, so that repeated plans write nothing.
    """
    said: dict[str, Any] = {"status": status, "reason": reason, "message": message}
    stamp = format_time(now)
    for condition in conditions:
        if condition.get("type") != condition_type:
            continue
        if all(condition.get(key) == value for key, value in said.items()):
            return False
        if condition.get("status") != status:
            condition["lastTransitionTime"] = stamp
        condition.update(said)
        condition["lastUpdateTime"] = stamp
        return True
    conditions.append(
        {
            "type": condition_type,
            **said,
            "lastTransitionTime": stamp,
            "lastUpdateTime": stamp,
        }
    )
    return True


def remove(conditions: list[Draft], condition_type: str) -> bool:
    """Take a condition out of the list of a draft and tell whether it was there."""
    kept = [condition for condition in conditions if condition.get("type") != condition_type]
    changed = len(kept) != len(conditions)
    conditions[:] = kept
    return changed
