"""The served resources: built-in kinds and those of CustomResourceDefinitions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from webhook.dev.apiserver.builtin import schemas
from webhook.dev.apiserver.builtin.kinds import (
    BUILTINS,
    STANDARD_VERBS,
    Builtin,
    GroupVersion,
    Subresource,
)
from webhook.dev.apiserver.registry.resources import SCALE, STATUS, Column, Resource, ScalePaths
from webhook.dev.apiserver.registry.versionpriority import priority
from webhook.kube.meta import Raw
from webhook.kube.schema import Schema

_PART: Final = ("get", "patch", "update")
_SCALE_BODY: Final = Subresource(SCALE, _PART, "Scale", GroupVersion("autoscaling", "v1"))
_AGE: Final = Column(
    "Age",
    "date",
    "CreationTimestamp is a timestamp representing the server time when this object was created. "
    "It is not guaranteed to be set in happens-before order across separate operations. Clients "
    "may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the "
    "system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    json_path=".metadata.creationTimestamp",
)


class Registry:
    """Resources by group, version and plural, in the order of discovery."""

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str, str], Resource] = {}
        self._of_storage: dict[str, Resource] = {}
        self._of_definition: dict[str, tuple[Resource, ...]] = {}
        self.generation = 0
        """Incremented with each change; documents made from the registry are cached by it."""
        for row in BUILTINS:
            resource = from_builtin(row)
            stored = self._of_storage.get(resource.storage)
            self._add(resource if stored is None else replace(resource, stored=stored))

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())

    def get(self, group: str, version: str, plural: str) -> Resource | None:
        """Return a resource; None if it is not served."""
        return self._resources.get((group, version, plural))

    def serves(self, group: str, version: str) -> bool:
        """Return whether any resource of a group and version is served."""
        return any(key[:2] == (group, version) for key in self._resources)

    def of_kind(self, group: str, kind: str, version: str = "") -> Resource | None:
        """Return a resource by its kind, in any version unless one is given."""
        for resource in self._resources.values():
            if (resource.group, resource.kind) == (group, kind) and version in (
                "",
                resource.version,
            ):
                return resource
        return None

    def of_storage(self, storage: str) -> Resource | None:
        """Return the resource of a collection, in any version."""
        return self._of_storage.get(storage)

    def storages(self) -> dict[str, Resource]:
        """Return one resource for each collection of stored objects."""
        return self._of_storage

    def put_definition(self, crd: Raw) -> None:
        """Serve the resources of a definition instead of its previous ones."""
        name = crd["metadata"]["name"]
        self._remove(name)
        resources = tuple(from_definition(crd))
        self._of_definition[name] = resources
        for resource in resources:
            self._add(resource)
        self.generation += 1

    def drop_definition(self, name: str) -> None:
        """Stop serving the resources of a definition."""
        self._remove(name)
        self.generation += 1

    def _remove(self, name: str) -> None:
        for resource in self._of_definition.pop(name, ()):
            del self._resources[resource.group, resource.version, resource.plural]
            self._of_storage.pop(resource.storage, None)

    def _add(self, resource: Resource) -> None:
        self._resources[resource.group, resource.version, resource.plural] = resource
        if not resource.is_virtual:
            self._of_storage.setdefault(resource.storage, resource)


def from_builtin(row: Builtin) -> Resource:
    """Return the resource of a built-in kind."""
    return Resource(
        group=row.group,
        version=row.version,
        kind=row.kind,
        plural=row.plural,
        singular=row.singular,
        namespaced=row.namespaced,
        verbs=row.verbs,
        list_kind=f"{row.kind}List",
        short_names=row.short_names,
        categories=row.categories,
        subresources={part.name: part for part in row.subresources},
        storage_version=row.version,
        generation=row.generation,
        builtin=row,
        load_schema=partial(_builtin_schema, row.component),
    )


def _builtin_schema(component: str) -> Schema:
    return Schema(schemas.expand(component))


def from_definition(crd: Raw) -> Iterable[Resource]:
    """Yield the resources of the served versions of a definition."""
    stored = stored_version(crd)
    for version in crd["spec"]["versions"]:
        if version["name"] == stored.version:
            if version.get("served"):
                yield stored
        elif version.get("served"):
            resource = _from_version(crd, version, stored.version)
            differs = resource.raw_schema != stored.raw_schema
            yield replace(resource, stored=stored) if differs else resource


def stored_version(crd: Raw) -> Resource:
    """Return the resource of the stored version, served or not."""
    version = next(one for one in crd["spec"]["versions"] if one.get("storage"))
    return _from_version(crd, version, version["name"])


def _from_version(crd: Raw, version: Raw, stored: str) -> Resource:
    spec = crd["spec"]
    names = spec["names"]
    parts = version.get("subresources") or {}
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        verbs=STANDARD_VERBS,
        list_kind=names.get("listKind") or f"{names['kind']}List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=dict(_subresources(parts)),
        storage_version=stored,
        columns=tuple(_columns(version)),
        selectable=tuple(field["jsonPath"] for field in version.get("selectableFields") or ()),
        scale=_scale(parts.get(SCALE)),
        raw_schema=(version.get("schema") or {}).get("openAPIV3Schema") or {},
        definition=crd["metadata"]["name"],
        warning=_deprecation(spec, names, version),
    )


def _subresources(parts: Raw) -> Iterator[tuple[str, Subresource]]:
    if parts.get(STATUS) is not None:
        yield STATUS, Subresource(STATUS, _PART)
    if parts.get(SCALE) is not None:
        yield SCALE, _SCALE_BODY


def _columns(version: Raw) -> Iterator[Column]:
    declared = version.get("additionalPrinterColumns") or ()
    if not declared:
        yield _AGE
    for column in declared:
        yield Column(
            column["name"],
            column["type"],
            # Kubernetes' default for columns without a description.
            column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
            column.get("format", ""),
            column.get("priority", 0),
            column["jsonPath"],
        )


def _scale(paths: Mapping[str, str] | None) -> ScalePaths | None:
    if paths is None:
        return None
    return ScalePaths(
        paths["specReplicasPath"],
        paths["statusReplicasPath"],
        paths.get("labelSelectorPath") or "",
    )


def _deprecation(spec: Raw, names: Raw, version: Raw) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind = spec["group"], names["kind"]
    rank = priority(version["name"])
    better = [
        one["name"]
        for one in spec["versions"]
        if one.get("served") and not one.get("deprecated") and priority(one["name"]) < rank
    ]
    remedy = f"; use {group}/{min(better, key=priority)} {kind}" if better else ""
    return f"{group}/{version['name']} {kind} is deprecated{remedy}"
