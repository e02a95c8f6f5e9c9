"""OpenAPI v3: what kubectl explain, apply and dry runs look up."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from webhook.apiserver import discovery
from webhook.apiserver.builtin import prose
from webhook.apiserver.builtin.generate import component
from webhook.apiserver.registry import Registry
from webhook.apiserver.resources import Resource

Object = dict[str, Any]
REFERENCE: Final = "#/components/schemas/"
OBJECT_META: Final = component("V1ObjectMeta")
_MANAGED_FIELDS: Final = component("V1ManagedFieldsEntry")
_FIELDS: Final = component("V1FieldsV1")
#: The old form, which kubectl asks for only when the new one lacks a kind: an empty document.
EMPTY_V2: Final = b"\x0a\x032.0"
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


def index(registry: Registry) -> Object:
    """Answer GET /openapi/v3."""
    paths = {}
    for group, versions in discovery.groups(registry).items():
        for version in versions:
            path = _path(group, version)
            digest = hashlib.sha256(_describe(registry, group, version)).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def _path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _describe(registry: Registry, group: str, version: str) -> bytes:
    """Write what a document is made from, which tells whether it changed."""
    described = [
        (resource.plural, resource.raw_schema, sorted(resource.subresources))
        for resource in registry
        if (resource.group, resource.version) == (group, version)
    ]
    return orjson.dumps(described, option=orjson.OPT_SORT_KEYS)


def document(registry: Registry, group: str, version: str) -> bytes | None:
    """Answer GET /openapi/v3/apis/GROUP/VERSION."""
    resources = [one for one in registry if (one.group, one.version) == (group, version)]
    if not resources:
        return None
    components: Object = {}
    paths: Object = {}
    for resource in resources:
        components[component_name(resource)] = _schema(resource)
        paths.update(_paths(resource))
    _close(components)
    return orjson.dumps(
        {
            "openapi": "3.0.0",
            "info": {"title": "Espalier", "version": version},
            "paths": paths,
            "components": {"schemas": components},
        }
    )


def component_name(resource: Resource) -> str:
    """Name the schema of a resource: the group reversed, the version, the kind."""
    if resource.builtin is not None:
        return component(resource.builtin.model)
    reverse = ".".join(reversed(resource.group.split(".")))
    return f"{reverse}.{resource.version}.{resource.kind}"


def _schema(resource: Resource) -> Object:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    if resource.builtin is not None:
        schema = dict(prose.components()[component(resource.builtin.model)])
    else:
        schema = {"type": "object", **resource.raw_schema}
        identity = prose.components()[component("V1ConfigMap")]["properties"]
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


def _known() -> Object:
    """Return the schemas of all types, with the one name that documents show and we do not need."""
    known = dict(prose.components())
    entry = known[_MANAGED_FIELDS]
    owned = {"allOf": [{"$ref": REFERENCE + _FIELDS}], **entry["properties"]["fieldsV1"]}
    owned.pop("type", None)
    known[_MANAGED_FIELDS] = {**entry, "properties": {**entry["properties"], "fieldsV1": owned}}
    known[_FIELDS] = {"type": "object"}
    return known


def _close(components: Object) -> None:
    """Add every schema that the ones in the document refer to."""
    known = _known()
    waiting = list(components.values())
    while waiting:
        for name in _references(waiting.pop()):
            if name not in components and name in known:
                components[name] = known[name]
                waiting.append(known[name])


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(REFERENCE)
        for child in value.values():
            yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)


def _paths(resource: Resource) -> Object:
    base = f"/{_path(resource.group, resource.version)}"
    if resource.namespaced:
        base += "/namespaces/{namespace}"
    base += f"/{resource.plural}"
    collection = _operations(resource, ("list", "create", "deletecollection"))
    named = _operations(resource, ("get", "update", "patch", "delete"))
    return dict(_kept(base, collection, named))


def _kept(base: str, collection: Object, named: Object) -> Iterator[tuple[str, Object]]:
    if collection:
        yield base, collection
    if named:
        yield f"{base}/{{name}}", named


def _operations(resource: Resource, verbs: Iterable[str]) -> Object:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    answer = {"$ref": REFERENCE + component_name(resource)}
    operations: Object = {}
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


def _parameters(verb: str) -> list[Object]:
    names = _WRITE_PARAMETERS if verb in ("create", "update", "patch") else ()
    if verb == "delete":
        names = ("dryRun", "propagationPolicy", "gracePeriodSeconds")
    if verb == "patch":
        names = (*names, "force")
    return [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in names
    ]
