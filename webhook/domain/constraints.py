"""The record of floors on a Tortoise: who recommends constraints, and which ones hold."""

from typing import Any, Final

from webhook.api import names
from webhook.api.core import CustomResourceDefinition
from webhook.api.meta import Draft, Raw
from webhook.domain.floors import Floors

DEFINITION: Final = "tortoises.autoscaling.mercari.com"
_ENTRY: Final[Draft] = {"name": names.RECOMMENDER, "responsibleFor": [names.CONSTRAINTS]}


def claim(draft: Draft, held: Floors) -> None:
    """Name us as the recommender of constraints while a window is open, and only then."""
    spec = _section(draft, "spec")
    present: list[Any] = spec.get("recommenders") or []
    others = [each for each in present if not _is_ours(each)]
    wanted = [*others, _ENTRY] if held else others
    if wanted == present:
        return
    if wanted:
        spec["recommenders"] = wanted
    else:
        spec.pop("recommenders", None)


def constrain(draft: Draft, held: Floors) -> None:
    """Record the floors as constraints, or take the record away."""
    if held:
        record = _section(_section(draft, "status"), "recommendations")
        record["constraints"] = constraints_of(held)
        return
    status = draft.get("status")
    recommendations = status.get("recommendations") if isinstance(status, dict) else None
    if isinstance(recommendations, dict):
        recommendations.pop("constraints", None)


def is_stored(definition: CustomResourceDefinition | None, version: str) -> bool:
    """Tell whether a definition keeps the record; Tortoise's own does not."""
    if definition is None:
        return False
    for served in definition.spec.versions:
        if served.name == version:
            schema = (served.schema or {}).get("openAPIV3Schema") or {}
            status = _property(schema, "status", "recommendations")
            return _has(_property(schema, "spec"), "recommenders") and _has(status, "constraints")
    return False


def _has(schema: Raw, name: str) -> bool:
    preserved = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    return preserved or name in (schema.get("properties") or {})


def _property(schema: Raw, *path: str) -> Raw:
    for name in path:
        schema = (schema.get("properties") or {}).get(name) or {}
    return schema


def constraints_of(held: Floors) -> Raw:
    """Spell floors as the record does: a container's `resources` are its minAllocatedResources."""
    constraints: dict[str, Any] = {}
    if held.replicas is not None:
        constraints["minimumMinReplicas"] = held.replicas
    if held.resources:
        constraints["minAllocatedResources"] = [
            {"containerName": container, "minAllocatedResources": dict(amounts)}
            for container, amounts in sorted(held.resources.items())
        ]
    return constraints


def _section(draft: Draft, name: str) -> Draft:
    found = draft.get(name)
    if not isinstance(found, dict):
        found = draft[name] = {}
    return found


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("name") == names.RECOMMENDER
