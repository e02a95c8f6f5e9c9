"""Where a MachineDeployment says what it knows of its pool: in fields, or in their twins."""

from collections.abc import Mapping
from typing import Any, Final

from webhook.api.core import CustomResourceDefinition
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Draft, Raw
from webhook.domain.definitions import FIELDS

DEFINITION: Final = "machinedeployments.machine.sapcloud.io"


def served(definition: CustomResourceDefinition | None) -> frozenset[str]:
    """Name the pool's fields that the served kind keeps; machine-controller-manager's has none."""
    version = kind_of_model(MachineDeployment).version
    for each in definition.spec.versions if definition is not None else ():
        if each.name == version:
            spec = _properties(_properties(_schema(each.schema)).get("spec"))
            return frozenset(field for field in FIELDS if field in spec)
    return frozenset()


def fill(draft: Draft, wanted: Mapping[str, int | str], kept: frozenset[str]) -> None:
    """Write what a pool's definition says, each into its field where that is kept."""
    spec, metadata = draft.setdefault("spec", {}), draft.setdefault("metadata", {})
    notes: dict[str, Any] = dict(metadata.get("annotations") or {})
    for field, value in wanted.items():
        if field in kept:
            spec[field] = value
            notes.pop(FIELDS[field], None)
        else:
            spec.pop(field, None)
            notes[FIELDS[field]] = str(value)
    if notes or metadata.get("annotations"):
        metadata["annotations"] = notes


def changed(old: Raw, new: Raw) -> bool:
    """Tell whether two states of a MachineDeployment have different bounds of the pool."""
    return any(_said(old, field) != _said(new, field) for field in ("poolMinimum", "poolMaximum"))


def _said(raw: Raw, field: str) -> str:
    value = (raw.get("spec") or {}).get(field)
    notes = (raw.get("metadata") or {}).get("annotations") or {}
    return str(notes.get(FIELDS[field], "") if value is None else value)


def _schema(schema: Any) -> Any:
    return schema.get("openAPIV3Schema") if isinstance(schema, Mapping) else None


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}
