"""The constraints of a Tortoise: the recommender in its spec and the floors in its status."""

from typing import Any, Final

from webhook.api import names
from webhook.api.core import CustomResourceDefinition
from webhook.domain.scaling.floors import Floors
from webhook.kube.meta import Draft, Raw

CRD_NAME: Final = "tortoises.autoscaling.mercari.com"
_ENTRY: Final[Draft] = {"name": names.RECOMMENDER, "responsibleFor": [names.CONSTRAINTS]}


def set_recommender(draft: Draft, floors: Floors) -> None:
    """Add our recommender of constraints while floors are applied, and remove it otherwise."""
    spec = _section(draft, "spec")
    present: list[Any] = spec.get("recommenders") or []
    others = [each for each in present if not _is_ours(each)]
    wanted = [*others, _ENTRY] if floors else others
    if wanted == present:
        return
    if wanted:
        spec["recommenders"] = wanted
    else:
        spec.pop("recommenders", None)


def set_constraints(draft: Draft, floors: Floors) -> None:
    """Set the floors as constraints in the status, or remove the constraints."""
    if floors:
        parent = _section(_section(draft, "status"), "recommendations")
        parent["constraints"] = constraints_of(floors)
        return
    status = draft.get("status")
    recommendations = status.get("recommendations") if isinstance(status, dict) else None
    if isinstance(recommendations, dict):
        recommendations.pop("constraints", None)


def is_served(definition: CustomResourceDefinition | None, version: str) -> bool:
    """Return whether a CRD serves the fields for constraints; Tortoise's own does not."""
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


def constraints_of(floors: Floors) -> Raw:
    """Convert floors into constraints."""
    constraints: dict[str, Any] = {}
    if floors.replicas is not None:
        constraints["minimumMinReplicas"] = floors.replicas
    if floors.resources:
        constraints["minAllocatedResources"] = [
            {"containerName": container, "minAllocatedResources": dict(amounts)}
            for container, amounts in sorted(floors.resources.items())
        ]
    return constraints


def _section(draft: Draft, name: str) -> Draft:
    found = draft.get(name)
    if not isinstance(found, dict):
        found = draft[name] = {}
    return found


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("name") == names.RECOMMENDER
