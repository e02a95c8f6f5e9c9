"""CONVERSIONS: the built-in kinds that have two shapes, of which one is stored."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

Object = dict[str, Any]

#: The names of the core group, and what the group events.k8s.io calls the same.
_NEW_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_CORE_NAMES: Final = {new: core for core, new in _NEW_NAMES.items()}
_PERCENTAGE: Final = "targetCPUUtilizationPercentage"
_CURRENT: Final = "currentCPUUtilizationPercentage"


class Conversion(NamedTuple):
    """How a version shows what is stored, and what is stored of it."""

    shown: Callable[[Object], Object]
    stored: Callable[[Object], Object]


def _new_event(obj: Object) -> Object:
    return {_NEW_NAMES.get(name, name): value for name, value in obj.items() if value != ""}


def _core_event(obj: Object) -> Object:
    return {_CORE_NAMES.get(name, name): value for name, value in obj.items()}


def _old_autoscaler(obj: Object) -> Object:
    """Show the use of processors, which is all that version 1 knows of metrics."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    for metric in spec.pop("metrics", None) or ():
        if (use := _use(metric, "target")) is not None:
            spec[_PERCENTAGE] = use
    for metric in status.pop("currentMetrics", None) or ():
        if (use := _use(metric, "current")) is not None:
            status[_CURRENT] = use
    for name, part in (("behavior", spec), ("conditions", status)):
        part.pop(name, None)
    return {**obj, "spec": spec, "status": status}


def _use(metric: Object, name: str) -> Any:
    resource = metric.get("resource") or {}
    if resource.get("name") != "cpu":
        return None
    return (resource.get(name) or {}).get("averageUtilization")


def _new_autoscaler(obj: Object) -> Object:
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


#: By apiVersion and kind.
CONVERSIONS: Final = {
    ("events.k8s.io/v1", "Event"): Conversion(_new_event, _core_event),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): Conversion(_old_autoscaler, _new_autoscaler),
}
