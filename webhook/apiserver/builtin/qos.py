"""The quality-of-service class of a pod."""

from typing import Any, Final

_COMPUTE: Final = ("cpu", "memory")


def qos_class(spec: dict[str, Any]) -> str:
    """Judge by what the containers ask for and may use at most."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    resources = [container.get("resources") or {} for container in containers]
    asked = any(_compute(part, kind) for part in resources for kind in ("requests", "limits"))
    if not asked:
        return "BestEffort"
    guaranteed = all(
        _compute(part, "limits").keys() == set(_COMPUTE)
        and all(
            _compute(part, "requests").get(name, value) == value
            for name, value in _compute(part, "limits").items()
        )
        for part in resources
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _compute(resources: dict[str, Any], kind: str) -> dict[str, Any]:
    amounts = resources.get(kind) or {}
    return {
        name: amounts[name] for name in _COMPUTE if str(amounts.get(name, "0")) not in ("0", "")
    }
