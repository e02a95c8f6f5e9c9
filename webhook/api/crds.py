"""The generator of CustomResourceDefinitions, from KINDS and the Structs."""

import json
from collections.abc import Container, Iterator
from typing import Final

from webhook.api import names
from webhook.api.columns import PrinterColumn
from webhook.api.kinds import KINDS, Kind
from webhook.api.openapi import schema_of
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Draft, Raw

_NEVER_DEFINED: Final = ("kubernetes", "garden")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def definable(*, beside_gardener: bool) -> Iterator[Kind]:
    """Return the kinds that Espalier defines.

    Beside a Gardener these are only its own kinds: Gardener serves its kinds itself, and those of
    extensions, machine-controller-manager and Tortoise come with their installations.
    """
    for kind in KINDS:
        if kind.origin == "espalier" or (kind.origin not in _NEVER_DEFINED and not beside_gardener):
            yield kind


def foreign_manager(definition: Raw) -> str:
    """Return who else manages a CustomResourceDefinition; empty if it is ours.

    Our label alone does not make it ours: it remains if others replace the rest with `kubectl
    apply`. Whoever manages the versions manages our label as well if the definition is ours.
    """
    metadata = definition["metadata"]
    managers = [
        (entry.get("manager") or "unknown", entry.get("fieldsV1") or {})
        for entry in metadata.get("managedFields") or ()
    ]
    of_versions = {name: fields for name, fields in managers if _manages_versions(fields)}
    if (metadata.get("labels") or {}).get(names.MANAGED_BY) != names.FIELD_MANAGER:
        return ", ".join(of_versions) or "others"
    if not _is_applied_by_us(metadata):
        return ", ".join(of_versions) or "kubectl apply"
    return ", ".join(name for name, fields in of_versions.items() if not _manages_label(fields))


def _manages_versions(fields: Raw) -> bool:
    return "f:versions" in fields.get("f:spec", {})


def _manages_label(fields: Raw) -> bool:
    labels = fields.get("f:metadata", {}).get("f:labels", {})
    return f"f:{names.MANAGED_BY}" in labels


def _is_applied_by_us(metadata: Raw) -> bool:
    """Return whether the last `kubectl apply` on the client, if there was one, had our label."""
    applied = (metadata.get("annotations") or {}).get(_LAST_APPLIED)
    if not applied:
        return True
    try:
        labels = json.loads(applied)["metadata"].get("labels") or {}
    except (ValueError, LookupError, TypeError, AttributeError):
        return True
    return bool(labels.get(names.MANAGED_BY) == names.FIELD_MANAGER)


def crd(kind: Kind, *, beside_gardener: bool, claimed: Container[str] = frozenset()) -> Draft:
    """Build the CustomResourceDefinition of a kind.

    A version that an aggregated API server claims would be established but never served. Beside a
    Gardener only the kind's main version is defined, therefore, and elsewhere no further version
    whose APIService is in `claimed`.
    """
    further = () if beside_gardener else kind.also_served
    free = [version for version in further if f"{version}.{kind.group}" not in claimed]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": kind.resource,
            "labels": {names.MANAGED_BY: names.FIELD_MANAGER, names.APP_PART_OF: "espalier"},
        },
        "spec": {
            "group": kind.group,
            "names": _names(kind),
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [
                _version(kind, version, stored=version == kind.version)
                for version in (kind.version, *free)
            ],
        },
    }


def _names(kind: Kind) -> Draft:
    crd_names: Draft = {
        "kind": kind.name,
        "listKind": kind.list_name,
        "plural": kind.plural,
        "singular": kind.singular,
    }
    if kind.short_names:
        crd_names["shortNames"] = list(kind.short_names)
    if kind.categories:
        crd_names["categories"] = list(kind.categories)
    return crd_names


def _version(kind: Kind, name: str, *, stored: bool) -> Draft:
    version: Draft = {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": deep_copy(schema_of(kind))},
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
    }
    if kind.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in kind.selectable]
    subresources: Draft = {"status": {}} if kind.status else {}
    if kind.scale is not None:
        subresources["scale"] = {
            "specReplicasPath": kind.scale.spec_replicas,
            "statusReplicasPath": kind.scale.status_replicas,
        }
        if kind.scale.selector:
            subresources["scale"]["labelSelectorPath"] = kind.scale.selector
    if subresources:
        version["subresources"] = subresources
    return version


def _column(column: PrinterColumn) -> Draft:
    result: Draft = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        result["priority"] = column.priority
    if column.description:
        result["description"] = column.description
    return result
