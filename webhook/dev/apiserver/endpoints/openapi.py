"""OpenAPI v3 documents, which kubectl explain, apply and dry runs use."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from webhook.dev.apiserver.builtin import descriptions
from webhook.dev.apiserver.builtin.kinds import component_of_model
from webhook.dev.apiserver.endpoints import discovery
from webhook.dev.apiserver.registry.registry import Registry
from webhook.dev.apiserver.registry.resources import Resource
from webhook.kube.meta import Draft

REFERENCE: Final = "#/components/schemas/"
OBJECT_META: Final = component_of_model("V1ObjectMeta")
_MANAGED_FIELDS: Final = component_of_model("V1ManagedFieldsEntry")
_FIELDS: Final = component_of_model("V1FieldsV1")
EMPTY_V2: Final = b"\x0a\x032.0"
"""An empty OpenAPI v2 document, which kubectl requests if v3 lacks a kind."""
V2_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_METADATA: Final = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")
_ACTIONS: Final = {
    "get": "get",
    "list": "list",
    "create": "post",
    "update": "put",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "deletecollection",
}


def index(registry: Registry) -> Draft:
    """Return the response to GET /openapi/v3."""
    paths = {}
    for group, versions in discovery.groups(registry).items():
        for version in versions:
            path = _path(group, version)
            digest = hashlib.sha256(_inputs(registry, group, version)).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def _path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _inputs(registry: Registry, group: str, version: str) -> bytes:
    """Return the inputs of a document, whose hash changes with the document."""
    inputs = [
        (resource.plural, resource.raw_schema, sorted(resource.subresources))
        for resource in registry
        if (resource.group, resource.version) == (group, version)
    ]
    return orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS)


def document(registry: Registry, group: str, version: str) -> bytes | None:
    """Return the response to GET /openapi/v3/apis/GROUP/VERSION; None without resources."""
    resources = [one for one in registry if (one.group, one.version) == (group, version)]
    if not resources:
        return None
    components: Draft = {}
    paths: Draft = {}
    for resource in resources:
        components[component_name(resource)] = _schema(resource)
        paths.update(_paths(resource))
    _add_referenced(components)
    return orjson.dumps(
        {
            "openapi": "3.0.0",
            "info": {"title": "Espalier", "version": version},
            "paths": paths,
            "components": {"schemas": components},
        }
    )


def component_name(resource: Resource) -> str:
    """Return the name of a resource's schema: reversed group, version and kind."""
    if resource.builtin is not None:
        return resource.builtin.component
    reverse = ".".join(reversed(resource.group.split(".")))
    return f"{reverse}.{resource.version}.{resource.kind}"


def _schema(resource: Resource) -> Draft:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    if resource.builtin is not None:
        schema = dict(descriptions.components()[resource.builtin.component])
    else:
        schema = {"type": "object", **resource.raw_schema}
        identity = descriptions.components()[component_of_model("V1ConfigMap")]["properties"]
        schema["properties"] = {
            "apiVersion": identity["apiVersion"],
            "kind": identity["kind"],
            **schema.get("properties", {}),
            "metadata": {
                "description": _METADATA,
                "allOf": [{"$ref": REFERENCE + OBJECT_META}],
            },
        }
    return {**schema, "x-kubernetes-group-version-kind": [kind]}


def _builtin_schemas() -> Draft:
    """Return the schemas of all built-in types, with FieldsV1, which only documents have."""
    known = dict(descriptions.components())
    entry = known[_MANAGED_FIELDS]
    owned = {"allOf": [{"$ref": REFERENCE + _FIELDS}], **entry["properties"]["fieldsV1"]}
    owned.pop("type", None)
    known[_MANAGED_FIELDS] = {**entry, "properties": {**entry["properties"], "fieldsV1": owned}}
    known[_FIELDS] = {"type": "object"}
    return known


def _add_referenced(components: Draft) -> None:
    """Add all schemas that are referenced, directly or indirectly."""
    known = _builtin_schemas()
    pending = list(components.values())
    while pending:
        for name in _references(pending.pop()):
            if name not in components and name in known:
                components[name] = known[name]
                pending.append(known[name])


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(REFERENCE)
        for child in value.values():
            yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)


def _paths(resource: Resource) -> Draft:
    base = f"/{_path(resource.group, resource.version)}"
    if resource.namespaced:
        base += "/namespaces/{namespace}"
    base += f"/{resource.plural}"
    collection = _operations(resource, ("list", "create", "deletecollection"))
    named = _operations(resource, ("get", "update", "patch", "delete"))
    return dict(_non_empty(base, collection, named))


def _non_empty(base: str, collection: Draft, named: Draft) -> Iterator[tuple[str, Draft]]:
    if collection:
        yield base, collection
    if named:
        yield f"{base}/{{name}}", named


def _operations(resource: Resource, verbs: Iterable[str]) -> Draft:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    answer = {"$ref": REFERENCE + component_name(resource)}
    operations: Draft = {}
    for verb in verbs:
        if verb not in resource.verbs:
            continue
        method = {"list": "get", "deletecollection": "delete"}.get(verb, _ACTIONS[verb])
        operations[method] = {
            "operationId": f"{verb}{resource.version}{resource.kind}",
            "parameters": _parameters(verb),
            "responses": {
                "200": {"description": "OK", "content": {"application/json": {"schema": answer}}}
            },
            "x-kubernetes-action": _ACTIONS[verb],
            "x-kubernetes-group-version-kind": kind,
        }
    return operations


def _parameters(verb: str) -> list[Draft]:
    names = _WRITE_PARAMETERS if verb in ("create", "update", "patch") else ()
    if verb == "delete":
        names = ("dryRun", "propagationPolicy", "gracePeriodSeconds")
    if verb == "patch":
        names = (*names, "force")
    return [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in names
    ]
