"""The health of shoots, by the criteria of Gardener's own controllers."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.kube import conditions

Health: TypeAlias = Literal["healthy", "progressing", "unknown", "unhealthy"]

SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
DELETE: Final = "Delete"

_BY_LABEL: Final[Mapping[str, Health]] = {
    "healthy": "healthy",
    "progressing": "progressing",
    "unknown": "unknown",
    "unhealthy": "unhealthy",
}


def shoot_health(shoot: Shoot) -> Health:
    """Return the health of a shoot by its status label or, without one, by its conditions."""
    label = shoot.metadata.labels.get(names.SHOOT_STATUS)
    if label is not None:
        return _BY_LABEL.get(label, "unknown")
    statuses = {condition.status for condition in shoot.status.conditions}
    if conditions.FALSE in statuses:
        return "unhealthy"
    if statuses and statuses == {conditions.TRUE}:
        return "healthy"
    return "progressing"


def is_observed(shoot: Shoot) -> bool:
    """Return whether the current generation has been observed."""
    return shoot.status.observed_generation == shoot.metadata.generation


def is_reconciled(shoot: Shoot) -> bool:
    """Return whether the last operation brought the shoot to its current spec."""
    operation = shoot.status.last_operation
    return (
        not shoot.is_deleting
        and operation is not None
        and operation.type != DELETE
        and operation.state == SUCCEEDED
        and is_observed(shoot)
    )


def pending_readiness_gates(shoot: Shoot) -> tuple[str, ...]:
    """Return the readiness gates of a shoot that are not True, in the order of the annotation."""
    listed = shoot.metadata.annotations.get(names.READINESS_GATES, "")
    gates = filter(None, (gate.strip() for gate in listed.split(",")))
    return tuple(gate for gate in gates if not conditions.is_true(shoot.status.conditions, gate))
