"""What an unmodified Tortoise does to objects, as observed with a real one; pure functions.

Tortoise decodes into its own structs and so drops unknown fields, learns replicas hour by hour, and
writes its recommendations into its autoscaler and VPA.
"""

import copy
from datetime import datetime
from math import ceil
from typing import Any

from webhook.kube import quantity

Object = dict[str, Any]

API_VERSION = "autoscaling.mercari.com/v1beta3"
SPEC = (
    *("targetRefs", "updateMode", "resourcePolicy", "deletionPolicy", "autoscalingPolicy"),
    *("maxReplicas", "horizontalPodAutoscalerBehavior"),
)
STATUS = (
    *("tortoisePhase", "conditions", "recommendations", "targets"),
    *("containerResourcePhases", "autoscalingPolicy"),
)
RECOMMENDATIONS = ("horizontal", "vertical")

MINIMUM_MIN_REPLICAS, MAXIMUM_MIN_REPLICAS, MAXIMUM_MAX_REPLICAS = 3, 10, 100


def typed_spec(tortoise: Object) -> Object:
    """Return the spec as its webhook returns it, without unknown fields."""
    return _only(tortoise.get("spec") or {}, SPEC)


def typed_status(tortoise: Object) -> Object:
    """Return the status as its controller puts it, from its struct."""
    status = _only(tortoise.get("status") or {}, STATUS)
    if "recommendations" in status:
        status["recommendations"] = _only(status["recommendations"], RECOMMENDATIONS)
    return status


def defaulted(tortoise: Object) -> Object:
    """Return the spec after its mutating webhook."""
    return {"updateMode": "Off", "deletionPolicy": "NoDelete", **typed_spec(tortoise)}


def slots(value: int, hours: int = 24) -> list[Object]:
    """Return the slots of a day that all recommend the same."""
    return [
        {"from": hour, "to": hour + 1, "timezone": "UTC", "value": value} for hour in range(hours)
    ]


def learned(minimum: int = 3, maximum: int = 20, hours: int = 24) -> Object:
    """Return what a Tortoise has learned in its first week."""
    minima, maxima = slots(minimum, hours), slots(maximum, hours)
    return {"horizontal": {"minReplicas": minima, "maxReplicas": maxima}}


def learn(status: Object, replicas: int, now: datetime) -> None:
    """Raise the slots of this hour by the current replicas."""
    horizontal = status.get("recommendations", {}).get("horizontal") or {}
    for name, factor in (("minReplicas", 0.5), ("maxReplicas", 2.0)):
        for slot in horizontal.get(name) or ():
            if slot["from"] == now.hour:
                seen = min(MAXIMUM_MAX_REPLICAS, max(MINIMUM_MIN_REPLICAS, ceil(replicas * factor)))
                slot["value"] = max(slot["value"], seen)


def bounds(tortoise: Object, now: datetime) -> tuple[int, int] | None:
    """Return the bounds that it sets on its autoscaler; None if it does not change them."""
    phase = (tortoise.get("status") or {}).get("tortoisePhase")
    if phase != "Working" or tortoise["spec"].get("updateMode") != "Auto":
        return None
    horizontal = tortoise["status"]["recommendations"]["horizontal"]
    minimum, maximum = (
        next(slot["value"] for slot in horizontal[name] if slot["from"] == now.hour)
        for name in ("minReplicas", "maxReplicas")
    )
    return min(minimum, MAXIMUM_MIN_REPLICAS), min(maximum, MAXIMUM_MAX_REPLICAS)


def set_bounds(autoscaler: Object, tortoise: Object, now: datetime) -> None:
    """Set the bounds as its webhook on autoscalers does."""
    found = bounds(tortoise, now)
    if found is not None:
        autoscaler["spec"]["minReplicas"], autoscaler["spec"]["maxReplicas"] = found


def container_policies(tortoise: Object) -> list[Object]:
    """Return the container policies of its VPA."""
    return [
        {"containerName": each["containerName"], "minAllowed": dict(each["minAllocatedResources"])}
        for each in tortoise["spec"].get("resourcePolicy") or ()
        if each.get("minAllocatedResources")
    ]


def requests(target: Object) -> Object:
    """Return the requests that follow from the VPA's target: two buffers of a tenth."""
    return {name: f"{_milli(amount) * 121 // 100}m" for name, amount in target.items()}


def _milli(amount: Any) -> int:
    return int(quantity.parse(amount) * 1000)


def _only(fields: Object, known: tuple[str, ...]) -> Object:
    return {name: copy.deepcopy(fields[name]) for name in known if name in fields}


def is_more(wanted: Object, given: Object) -> bool:
    """Return whether requests rise: only then it restarts a workload."""
    return any(_milli(amount) > _milli(given.get(name, 0)) for name, amount in wanted.items())
