"""Turn a request body into an object of the expected kind, in Kubernetes' strictness and words."""

from functools import cache
from typing import Any, Final

from webhook.api import fielderrors, gotext, status
from webhook.api.schema import Schema
from webhook.api.status import Qualified, StatusError
from webhook.apiserver import bodies
from webhook.apiserver.builtin import decoding as builtin_decoding
from webhook.apiserver.builtin import encoding, schemas
from webhook.apiserver.builtin.defaults import table as defaults
from webhook.apiserver.builtin.generate import component
from webhook.apiserver.builtin.kinds import BODIES, BUILTINS
from webhook.apiserver.calls import IGNORE, STRICT, Call
from webhook.apiserver.registry import from_builtin
from webhook.apiserver.resources import Resource

Object = dict[str, Any]
_SUMMARY: Final = 30
_STRUCT: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
    '"json:\\"kind,omitempty\\"" }'
)
_SCHEME: Final = "pkg/runtime/scheme.go:111"


def decode_object(call: Call, strictness: str) -> Object:
    """Read the body as an object of the call's resource, defaulted and without unknown fields."""
    resource = call.resource
    kind = bodies.check_media_type(call.content_type, is_custom=resource.is_custom)
    try:
        decoded = bodies.decode(call.body, kind, strict=strictness != IGNORE)
    except bodies.MalformedError as error:
        raise _unrecognized(call, str(error)) from error
    obj = {} if decoded.value is None and not resource.is_custom else decoded.value
    if not isinstance(obj, dict):
        name = builtin_decoding.json_name(obj)
        problem = f"json: cannot unmarshal {name} into Go value of type {_STRUCT}"
        raise _unrecognized(call, f"couldn't get version/kind; json parse error: {problem}")
    check_kind(obj, resource)
    if found := mistake(obj, resource):
        raise _unhandled(resource, obj, found.decoded)
    objections = [f'duplicate field "{path}"' for path in decoded.duplicates]
    objections += settle(obj, resource)
    _object_to(call, obj, objections, strictness)
    return obj


def _unrecognized(call: Call, problem: str) -> StatusError:
    if not problem.startswith(("couldn't get", "yaml:")):
        problem = f"couldn't get version/kind; json parse error: {problem}"
    return status.bad_request(
        f"the object provided is unrecognized (must be of type {call.resource.kind}): {problem} "
        f"({_summary(call.body)})"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    cut = body[:_SUMMARY]
    shown = cut.decode(errors="replace") if body.startswith(b"{") else cut.hex()
    return f"{shown} ..." if len(body) > _SUMMARY else shown


def _unhandled(resource: Resource, obj: Object, problem: str) -> StatusError:
    version = str(obj["apiVersion"]).rpartition("/")[2]
    return status.bad_request(
        f"{obj['kind']} in version {gotext.quote(version)} cannot be handled as a {resource.kind}: "
        f"{problem}"
    )


def check_kind(obj: Object, resource: Resource) -> None:
    """Fill in what the path already says, and refuse an object of another kind."""
    if resource.is_custom:
        _check_custom_kind(obj, resource)
        return
    version = obj.get("apiVersion") or resource.api_version
    kind = obj.get("kind") or resource.kind
    obj["apiVersion"], obj["kind"] = version, kind
    if (version, kind) == (resource.api_version, resource.kind):
        return
    if any((str(row.group_version), row.kind) == (version, kind) for row in BUILTINS):
        short = str(version).rpartition("/")[2]
        internal = resource.group.partition(".")[0] or "core"
        problem = f"converting ({short}.{kind}) to ({internal}.{resource.kind}): unknown conversion"
    else:
        problem = f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"'
    raise _unhandled(resource, obj, problem)


def _check_custom_kind(obj: Object, resource: Resource) -> None:
    version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    if not kind:
        text = gotext.to_json(obj)
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"Object 'Kind' is missing in '{text}' ({_summary(text.encode())})"
        )
    if version != resource.api_version:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    if kind != resource.kind:
        error = fielderrors.invalid("kind", kind, f"must be {resource.kind}")
        name = (obj.get("metadata") or {}).get("name") or ""
        raise status.invalid(Qualified(resource.group, kind), name, [error])


def body_resource(call: Call) -> Resource:
    """Return what the body of a request is: the resource itself, or what its subresource takes."""
    part = call.resource.subresources.get(call.target.subresource)
    row = BODIES.get(part.kind) if part is not None else None
    return call.resource if row is None else from_builtin(row)


def mistake(obj: Object, resource: Resource) -> builtin_decoding.Mistake | None:
    """Find a value that a Go type could not hold: of a built-in kind, or of any metadata."""
    if resource.builtin is not None:
        return builtin_decoding.mistake(obj, component(resource.builtin.model))
    return builtin_decoding.mistake(obj.get("metadata"), _METADATA)


_METADATA: Final = component("V1ObjectMeta")


@cache
def _metadata_schema() -> Schema:
    return Schema(schemas.expanded(_METADATA))


def settle(obj: Object, resource: Resource) -> list[str]:
    """Default and prune in place; return what strict reading objects to."""
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = obj["metadata"] = {}
    schema = resource.schema
    if resource.builtin is not None:
        found = [f'unknown field "{path}"' for path in schema.prune(obj, is_resource=False)]
        if resource.stored is None:
            defaults.fill(resource.storage, obj)
        written = encoding.encoded(obj, component(resource.builtin.model))
        obj.clear()
        obj.update(written)
        return found
    unknown = _metadata_schema().prune(metadata, is_resource=False)
    for name in [name for name, value in metadata.items() if value is None]:
        del metadata[name]
    schema.apply_defaults(obj)
    paths = sorted(schema.prune(obj)) + [f"metadata.{path}" for path in unknown]
    return [f'unknown field "{path}"' for path in paths]


def _object_to(call: Call, obj: Object, objections: list[str], strictness: str) -> None:
    if not objections or strictness == IGNORE:
        return
    if strictness == STRICT:
        raise _unhandled(call.resource, obj, f"strict decoding error: {', '.join(objections)}")
    for objection in objections:
        call.warn(objection)
