"""PATCH: JSON patch, merge patch, strategic merge patch, and server-side apply."""

from collections.abc import Callable
from typing import Any, Final

from webhook.api import fielderrors, gotext, jsontext, patches, status
from webhook.api.status import Qualified
from webhook.apiserver import bodies, meta, ownership, strategic
from webhook.apiserver.builtin.decoding import json_name
from webhook.apiserver.calls import IGNORE, STRICT, Call, WriteOptions, manager_of, write_options
from webhook.apiserver.core import Core
from webhook.apiserver.decoding import mistake, settle
from webhook.apiserver.writing import Change, Written, check_name

Object = dict[str, Any]

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
_OPERATIONS_LIMIT: Final = 10_000
_READING: Final = "unmarshaling JSON: while decoding JSON"


def accepted(call: Call) -> tuple[str, ...]:
    """Return the patch types that a resource takes."""
    if call.resource.is_custom:
        return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


async def patch(core: Core, call: Call) -> Written:
    """Answer a PATCH to an object."""
    kind = bodies.media_type(call.content_type)
    if kind not in accepted(call):
        if call.resource.is_custom:
            raise status.unsupported_media_type(accepted(call))
        message = "415: Unsupported Media Type"
        raise status.failure(415, status.UNSUPPORTED_MEDIA_TYPE, message, {})
    applying = kind == APPLY_PATCH
    options = write_options(call, "PatchOptions", applying=applying)
    transform = _applying(core, call, options) if applying else _patching(core, call, options)
    change = Change(core, call, options, transform)
    change.allow_create = applying and not call.target.subresource
    return await change.run()


def _patching(core: Core, call: Call, options: WriteOptions) -> Callable[[Object], Object]:
    kind = bodies.media_type(call.content_type)
    decoded = decode_patch(call, options)
    data = jsontext.dumps(decoded.value)
    where = ownership.endpoint(core.registry, call.resource, call.target.subresource)
    manager = manager_of(options, call.user_agent)

    def transform(live: Object) -> Object:
        new = patched_value(call, kind, live, jsontext.loads(data))
        shown = gotext.plain(decoded.value) if kind == STRATEGIC_PATCH else gotext.to_json(new)
        if found := mistake(new, call.resource):
            why = found.converted if kind == STRATEGIC_PATCH else found.decoded
            raise _refused(shown, why)
        _settle(call, new, shown, list(decoded.duplicates), options)
        ownership.updated(where, live, new, manager, core.now())
        return new

    return transform


def decode_patch(call: Call, options: WriteOptions) -> bodies.Decoded:
    """Read a patch that is not applied: a list of operations, or an object."""
    kind = bodies.media_type(call.content_type)
    try:
        decoded = bodies.decode(call.body, strict=options.field_validation != IGNORE)
    except bodies.MalformedError as error:
        prefix = "" if kind == STRATEGIC_PATCH else "error decoding patch: "
        raise status.bad_request(f"{prefix}{error}") from error
    value = decoded.value
    if kind == JSON_PATCH and isinstance(value, list) and len(value) > _OPERATIONS_LIMIT:
        raise status.too_large(
            "The allowed maximum operations in a JSON patch is "
            f"{_OPERATIONS_LIMIT}, got {len(value)}"
        )
    wanted, shape = (list, "[]handlers.jsonPatchOp") if kind == JSON_PATCH else (dict, _GO_MAP)
    if not isinstance(value, wanted):
        raise status.bad_request(
            f"error decoding patch: json: cannot unmarshal {json_name(value)} into Go value of "
            f"type {shape}"
        )
    return decoded


_GO_MAP: Final = "map[string]interface {}"


def patched_value(call: Call, kind: str, live: Object, value: Any) -> Object:
    """Apply a patch of any type but apply."""
    if kind == STRATEGIC_PATCH:
        new = strategic.patched(live, value, ownership.raw_schema(call.resource))
    elif kind == MERGE_PATCH:
        new = patches.merge(live, value)
    else:
        try:
            new = patches.apply(live, value)
        except patches.PatchError as error:
            raise _unprocessable() from error
    if not isinstance(new, dict):
        raise _unprocessable()
    return new


def _unprocessable() -> status.StatusError:
    message = "the server rejected our request due to an error in our request"
    return status.failure(422, status.INVALID, message, {})


def _refused(shown: str, why: str) -> status.StatusError:
    return status.invalid(Qualified("", ""), "", [fielderrors.invalid("patch", shown, why)])


def _settle(
    call: Call, new: Object, shown: str, duplicates: list[str], options: WriteOptions
) -> None:
    """Read the patched object as if it had been sent."""
    resource = call.resource
    if new.get("apiVersion") != resource.api_version or new.get("kind") != resource.kind:
        raise status.bad_request(
            f"the API version in the data ({new.get('apiVersion')}) does not match the expected "
            f"API version ({resource.api_version})"
        )
    objections = [f'duplicate field "{path}"' for path in duplicates]
    objections += settle(new, resource)
    if objections and options.field_validation == STRICT:
        raise _refused(shown, f"strict decoding error: {', '.join(objections)}")
    if options.field_validation != IGNORE:
        for objection in objections:
            call.warn(objection)
    meta.settle_namespace(new, call.namespace)
    check_name(call, new)


def _applying(core: Core, call: Call, options: WriteOptions) -> Callable[[Object], Object]:
    try:
        decoded = bodies.decode_yaml(call.body)
    except bodies.MalformedError as error:
        step = "converting YAML to JSON" if str(error).startswith("yaml:") else _READING
        problem = f"error {step}: {error}"
        raise status.bad_request(f"error decoding YAML: {problem}") from error
    config = decoded.value
    if not isinstance(config, dict):
        raise status.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {json_name(config)} into Go value of type {_GO_MAP}"
        )
    where = ownership.endpoint(core.registry, call.resource, call.target.subresource)
    data = jsontext.dumps(config)

    def transform(live: Object) -> Object:
        new = ownership.applied(
            where,
            live,
            jsontext.loads(data),
            options.field_manager,
            force=options.force,
            now=core.now(),
        )
        if decoded.duplicates and options.field_validation == STRICT:
            listed = "\n".join(f"  {text}" for text in decoded.duplicates)
            raise status.bad_request(
                f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal "
                f"errors:\n{listed}"
            )
        new.setdefault("metadata", {}).setdefault("name", call.target.name)
        settle(new, call.resource)
        meta.settle_namespace(new, call.namespace)
        check_name(call, new)
        return new

    return transform
