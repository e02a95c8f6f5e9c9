"""CONVERSIONS: how versions of built-in kinds are converted from and to the stored one."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from webhook.kube.meta import Draft

_EVENTS_V1_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""Field names of Events in the core group, and their names in events.k8s.io."""
_CORE_NAMES: Final = {new: core for core, new in _EVENTS_V1_NAMES.items()}
_PERCENTAGE: Final = "targetCPUUtilizationPercentage"
_CURRENT: Final = "currentCPUUtilizationPercentage"


class Conversion(NamedTuple):
    """How a version of a kind is read from and written to the stored version."""

    from_storage: Callable[[Draft], Draft]
    to_storage: Callable[[Draft], Draft]


def _to_events_v1(obj: Draft) -> Draft:
    return {_EVENTS_V1_NAMES.get(name, name): value for name, value in obj.items() if value != ""}


def _to_core_event(obj: Draft) -> Draft:
    return {_CORE_NAMES.get(name, name): value for name, value in obj.items()}


def _to_autoscaling_v1(obj: Draft) -> Draft:
    """Convert to autoscaling/v1, whose only metric is the utilization of cpu.

    kube-apiserver keeps other metrics in annotations; here they are dropped. kubectl 1.32 still
    writes this version.
    """
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    for metric in spec.pop("metrics", None) or ():
        if (use := _utilization(metric, "target")) is not None:
            spec[_PERCENTAGE] = use
    for metric in status.pop("currentMetrics", None) or ():
        if (use := _utilization(metric, "current")) is not None:
            status[_CURRENT] = use
    for name, part in (("behavior", spec), ("conditions", status)):
        part.pop(name, None)
    return {**obj, "spec": spec, "status": status}


def _utilization(metric: Draft, name: str) -> Any:
    resource = metric.get("resource") or {}
    if resource.get("name") != "cpu":
        return None
    return (resource.get(name) or {}).get("averageUtilization")


def _to_autoscaling_v2(obj: Draft) -> Draft:
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    if (target := spec.pop(_PERCENTAGE, None)) is not None:
        use = {"type": "Utilization", "averageUtilization": target}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": use}}]
    if (current := status.pop(_CURRENT, None)) is not None:
        used = {"averageUtilization": current}
        status["currentMetrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "current": used}}
        ]
    return {**obj, "spec": spec, "status": status}


CONVERSIONS: Final = {
    ("events.k8s.io/v1", "Event"): Conversion(_to_events_v1, _to_core_event),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): Conversion(
        _to_autoscaling_v1, _to_autoscaling_v2
    ),
}
"""The conversions by apiVersion and kind."""
