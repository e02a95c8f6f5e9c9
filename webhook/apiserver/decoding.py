"""Turn a request body into an object of the expected kind, in Kubernetes' strictness and words."""

from typing import Any

from webhook.api import gotext, status
from webhook.apiserver import bodies
from webhook.apiserver.calls import IGNORE, STRICT, Call
from webhook.apiserver.resources import Resource

Object = dict[str, Any]


def decode_object(call: Call, strictness: str, resource: Resource | None = None) -> Object:
    """Read the body as an object of `resource`, defaulted and without unknown fields."""
    resource = resource or call.resource
    kind = bodies.check_media_type(call.content_type, is_custom=resource.is_custom)
    try:
        decoded = bodies.decode(call.body, kind, strict=strictness != IGNORE)
    except bodies.MalformedError as error:
        raise _unrecognized(call, resource, str(error)) from error
    obj = decoded.value
    if not isinstance(obj, dict):
        raise _unrecognized(call, resource, _mistyped(obj))
    check_kind(obj, resource)
    objections = [f'duplicate field "{path}"' for path in decoded.duplicates]
    objections += settle(obj, resource)
    object_to(call, resource, objections, strictness)
    return obj


def _mistyped(value: Any) -> str:
    shown = {str: "string", bool: "bool", list: "array", int: "number", float: "number"}
    name = shown.get(type(value))
    if name is None:
        return "Object 'Kind' is missing in 'null'"
    return (
        f"couldn't get version/kind; json parse error: json: cannot unmarshal {name} into Go "
        "value of type struct { APIVersion string "
        '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    )


def _unrecognized(call: Call, resource: Resource, problem: str) -> status.StatusError:
    if not problem.startswith(("couldn't get", "Object", "error converting")):
        problem = f"couldn't get version/kind; json parse error: {problem}"
    summary = call.body[:30].hex()
    if len(call.body) > 30:
        summary += " ..."
    return status.bad_request(
        f"the object provided is unrecognized (must be of type {resource.kind}): {problem} "
        f"({summary})"
    )


def check_kind(obj: Object, resource: Resource) -> None:
    """Fill in what the path already says, and refuse an object of another kind."""
    version = obj.get("apiVersion") or resource.api_version
    kind = obj.get("kind") or resource.kind
    obj["apiVersion"], obj["kind"] = version, kind
    if version != resource.api_version and kind == resource.kind:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    if kind != resource.kind or version != resource.api_version:
        group, _, short = str(version).rpartition("/")
        known = f"{group}/{short}, Kind={kind}"
        raise status.bad_request(
            f"{kind} in version {gotext.quote(short)} cannot be handled as a {resource.kind}: "
            f"converting ({known}) to ({resource.group}/{resource.version}, Kind="
            f"{resource.kind}): unknown conversion"
        )


def settle(obj: Object, resource: Resource) -> list[str]:
    """Default and prune in place; return what strict reading objects to."""
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    schema = resource.schema
    if resource.is_custom:
        schema.apply_defaults(obj)
    return [f'unknown field "{path}"' for path in schema.prune(obj)]


def object_to(call: Call, resource: Resource, objections: list[str], strictness: str) -> None:
    """Refuse, warn of or ignore what strict reading found."""
    if not objections or strictness == IGNORE:
        return
    if strictness == STRICT:
        raise status.bad_request(
            f"{resource.kind} in version {gotext.quote(resource.version)} cannot be handled as a "
            f"{resource.kind}: strict decoding error: {', '.join(objections)}"
        )
    for objection in objections:
        call.warn(objection)
