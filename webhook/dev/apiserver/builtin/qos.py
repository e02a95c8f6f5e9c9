"""The quality-of-service class of a Pod."""

from typing import Final

from webhook.kube.meta import Draft, Raw

_COMPUTE: Final = ("cpu", "memory")


def qos_class(spec: Raw) -> str:
    """Return the QoS class that follows from the requests and limits of the containers."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    resources = [container.get("resources") or {} for container in containers]
    kinds = ("requests", "limits")
    if not any(_compute_resources(part, kind) for part in resources for kind in kinds):
        return "BestEffort"
    guaranteed = all(
        _compute_resources(part, "limits").keys() == set(_COMPUTE)
        and all(
            _compute_resources(part, "requests").get(name, value) == value
            for name, value in _compute_resources(part, "limits").items()
        )
        for part in resources
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _compute_resources(resources: Raw, kind: str) -> Draft:
    amounts = resources.get(kind) or {}
    return {
        name: amounts[name] for name in _COMPUTE if str(amounts.get(name, "0")) not in ("0", "")
    }
