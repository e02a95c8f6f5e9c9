"""CustomResourceDefinitions, generated from KINDS and the Structs."""

from collections.abc import Container, Iterator
from typing import Final

from webhook.api import names
from webhook.api.columns import Column
from webhook.api.kinds import KINDS, Kind
from webhook.api.meta import Draft
from webhook.api.openapi import schema_of
from webhook.api.schema import fresh

_OF_OTHERS: Final = ("kubernetes", "garden")


def definable(*, beside_gardener: bool) -> Iterator[Kind]:
    """List the kinds that need a definition of ours.

    Beside a Gardener only our own do: its kinds are served by itself, and those of extensions,
    machine-controller-manager and Tortoise are installed by whoever runs them.
    """
    for kind in KINDS:
        if kind.origin == "espalier" or (kind.origin not in _OF_OTHERS and not beside_gardener):
            yield kind


def crd(kind: Kind, *, beside_gardener: bool, claimed: Container[str] = frozenset()) -> Draft:
    """Build the definition of a kind.

    A version that an aggregated API claims would be established and yet never served. So beside a
    Gardener only the kind's own version is defined, and elsewhere none whose APIService is named.
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
    called: Draft = {
        "kind": kind.name,
        "listKind": kind.list_name,
        "plural": kind.plural,
        "singular": kind.singular,
    }
    if kind.short_names:
        called["shortNames"] = list(kind.short_names)
    if kind.categories:
        called["categories"] = list(kind.categories)
    return called


def _version(kind: Kind, name: str, *, stored: bool) -> Draft:
    version: Draft = {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": fresh(schema_of(kind))},
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


def _column(column: Column) -> Draft:
    written: Draft = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        written["priority"] = column.priority
    if column.description:
        written["description"] = column.description
    return written
