"""Validation of the status of workloads, which their status subresource receives."""

from typing import Final

from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors
from webhook.kube.meta import Raw

_COUNTS: Final = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "currentReplicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)
_AT_MOST_REPLICAS: Final = (
    "updatedReplicas",
    "currentReplicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
)


def validate_workload_status(obj: Raw) -> Errors:
    """Validate the status of a Deployment, ReplicaSet or StatefulSet."""
    status = obj.get("status") or {}
    for name in _COUNTS:
        yield from checks.not_negative(f"status.{name}", status.get(name))
    replicas, ready = status.get("replicas") or 0, status.get("readyReplicas") or 0
    for name in _AT_MOST_REPLICAS:
        count = status.get(name) or 0
        if count > replicas:
            detail = "cannot be greater than status.replicas"
            yield fielderrors.invalid(f"status.{name}", count, detail)
    available = status.get("availableReplicas") or 0
    if available > ready:
        prefix = "status." if obj.get("kind") == "StatefulSet" else ""
        detail = f"cannot be greater than {prefix}readyReplicas"
        yield fielderrors.invalid("status.availableReplicas", available, detail)
