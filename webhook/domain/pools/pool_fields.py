"""Writes a pool definition into a MachineDeployment, as fields or as annotations."""

from collections.abc import Mapping
from typing import Any, Final

from webhook.api.core import CustomResourceDefinition
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.domain.pools.pool_definition import FIELDS
from webhook.kube.meta import Draft

CRD_NAME: Final = "machinedeployments.machine.sapcloud.io"


def served_fields(definition: CustomResourceDefinition | None) -> frozenset[str]:
    """Return the pool fields that a CRD serves; machine-controller-manager's own serves none."""
    version = kind_of_model(MachineDeployment).version
    for each in definition.spec.versions if definition is not None else ():
        if each.name == version:
            spec = _properties(_properties(_schema(each.schema)).get("spec"))
            return frozenset(field for field in FIELDS if field in spec)
    return frozenset()


def set_fields(draft: Draft, wanted: Mapping[str, int | str], served: frozenset[str]) -> None:
    """Set the wanted values, each in its field if that is served, else in its annotation."""
    spec, metadata = draft.setdefault("spec", {}), draft.setdefault("metadata", {})
    annotations: dict[str, Any] = dict(metadata.get("annotations") or {})
    for field, value in wanted.items():
        if field in served:
            spec[field] = value
            annotations.pop(FIELDS[field], None)
        else:
            spec.pop(field, None)
            annotations[FIELDS[field]] = str(value)
    if annotations or metadata.get("annotations"):
        metadata["annotations"] = annotations


def _schema(schema: Any) -> Any:
    return schema.get("openAPIV3Schema") if isinstance(schema, Mapping) else None


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}
