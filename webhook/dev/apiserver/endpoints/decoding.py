"""Decodes a request body into an object, with Kubernetes' strictness and error messages."""

from functools import cache
from typing import Final

from webhook.dev.apiserver.builtin import encoding, schemas, typeerrors
from webhook.dev.apiserver.builtin.defaults.table import set_defaults
from webhook.dev.apiserver.builtin.kinds import BUILTINS, SUBRESOURCE_BODIES, component_of_model
from webhook.dev.apiserver.endpoints import bodies
from webhook.dev.apiserver.endpoints.calls import IGNORE, STRICT, Call
from webhook.dev.apiserver.registry.registry import from_builtin
from webhook.dev.apiserver.registry.resources import Resource
from webhook.kube import fielderrors, gotext, status
from webhook.kube.meta import Draft
from webhook.kube.schema import Schema
from webhook.kube.status import Qualified, StatusError

_SUMMARY_BYTES: Final = 30
_SCHEME: Final = "pkg/runtime/scheme.go:111"
"""A line of kube-apiserver's own source, which its messages name."""


def decode_object(call: Call, strictness: str) -> Draft:
    """Decode the body as an object of the call's resource, defaulted and pruned."""
    resource = call.resource
    kind = bodies.check_media_type(call.content_type, is_custom=resource.is_custom)
    try:
        decoded = bodies.decode(call.body, kind, strict=strictness != IGNORE)
    except bodies.MalformedError as error:
        raise _unrecognized(call, str(error)) from error
    obj = {} if decoded.value is None and not resource.is_custom else decoded.value
    if not isinstance(obj, dict):
        name = typeerrors.json_type_name(obj)
        problem = f"json: cannot unmarshal {name} into Go value of type {typeerrors.GO_TYPE_META}"
        raise _unrecognized(call, f"couldn't get version/kind; json parse error: {problem}")
    check_kind(obj, resource)
    if found := find_type_mismatch(obj, resource):
        raise _unhandled(resource, obj, found.decode_error)
    strict_errors = [f'duplicate field "{path}"' for path in decoded.duplicates]
    strict_errors += prune_and_default(obj, resource)
    _report_strict_errors(call, obj, strict_errors, strictness)
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
    cut = body[:_SUMMARY_BYTES]
    shown = cut.decode(errors="replace") if body.startswith(b"{") else cut.hex()
    return f"{shown} ..." if len(body) > _SUMMARY_BYTES else shown


def _unhandled(resource: Resource, obj: Draft, problem: str) -> StatusError:
    version = str(obj["apiVersion"]).rpartition("/")[2]
    return status.bad_request(
        f"{obj['kind']} in version {gotext.quote(version)} cannot be handled as a {resource.kind}: "
        f"{problem}"
    )


def check_kind(obj: Draft, resource: Resource) -> None:
    """Default apiVersion and kind from the path; reject an object of another kind."""
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


def _check_custom_kind(obj: Draft, resource: Resource) -> None:
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
    """Return the resource of the body: that of the call, or the kind its subresource takes."""
    part = call.resource.subresources.get(call.info.subresource)
    row = SUBRESOURCE_BODIES.get(part.kind) if part is not None else None
    return call.resource if row is None else from_builtin(row)


def find_type_mismatch(obj: Draft, resource: Resource) -> typeerrors.TypeMismatch | None:
    """Find a value that does not fit its Go type, in a built-in kind or in metadata."""
    if resource.builtin is not None:
        return typeerrors.find_type_mismatch(obj, resource.builtin.component)
    return typeerrors.find_type_mismatch(obj.get("metadata"), _METADATA)


_METADATA: Final = component_of_model("V1ObjectMeta")


@cache
def _metadata_schema() -> Schema:
    return Schema(schemas.expand(_METADATA))


def prune_and_default(obj: Draft, resource: Resource) -> list[str]:
    """Prune and default in place; return the strict decoding errors."""
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = obj["metadata"] = {}
    schema = resource.schema
    if resource.builtin is not None:
        found = [f'unknown field "{path}"' for path in schema.prune(obj, is_resource=False)]
        if resource.stored is None:
            set_defaults(resource.storage, obj)
        written = encoding.encode(obj, resource.builtin.component)
        obj.clear()
        obj.update(written)
        return found
    unknown = _metadata_schema().prune(metadata, is_resource=False)
    for name in [name for name, value in metadata.items() if value is None]:
        del metadata[name]
    schema.apply_defaults(obj)
    paths = sorted(schema.prune(obj)) + [f"metadata.{path}" for path in unknown]
    return [f'unknown field "{path}"' for path in paths]


def _report_strict_errors(
    call: Call, obj: Draft, strict_errors: list[str], strictness: str
) -> None:
    if not strict_errors or strictness == IGNORE:
        return
    if strictness == STRICT:
        raise _unhandled(call.resource, obj, f"strict decoding error: {', '.join(strict_errors)}")
    for strict_error in strict_errors:
        call.warn(strict_error)
