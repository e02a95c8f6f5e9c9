"""PATCH: JSON patch, merge patch, strategic merge patch, and server-side apply."""

from collections.abc import Callable
from typing import Any, Final

from webhook.dev.apiserver.builtin.typeerrors import json_type_name
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import bodies
from webhook.dev.apiserver.endpoints.calls import (
    IGNORE,
    STRICT,
    Call,
    WriteOptions,
    field_manager_of,
    write_options,
)
from webhook.dev.apiserver.endpoints.decoding import find_type_mismatch, prune_and_default
from webhook.dev.apiserver.registry import managedfields, objectmeta
from webhook.dev.apiserver.verbs import strategicmerge
from webhook.dev.apiserver.verbs.writes import GuaranteedUpdate, WriteResult, check_name
from webhook.kube import fielderrors, gotext, jsontext, patches, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
_OPERATIONS_LIMIT: Final = 10_000
_READING: Final = "unmarshaling JSON: while decoding JSON"


def accepted_media_types(call: Call) -> tuple[str, ...]:
    """Return the patch types that a resource accepts."""
    if call.resource.is_custom:
        return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


async def patch(core: Core, call: Call) -> WriteResult:
    """Handle a PATCH of an object."""
    kind = bodies.media_type(call.content_type)
    if kind not in accepted_media_types(call):
        if call.resource.is_custom:
            raise status.unsupported_media_type(accepted_media_types(call))
        message = "415: Unsupported Media Type"
        raise status.failure(415, status.UNSUPPORTED_MEDIA_TYPE, message, {})
    applying = kind == APPLY_PATCH
    options = write_options(call, "PatchOptions", applying=applying)
    transform = (
        _apply_transform(core, call, options) if applying else _patch_transform(core, call, options)
    )
    change = GuaranteedUpdate(core, call, options, transform)
    change.allow_create = applying and not call.info.subresource
    return await change.run()


def _patch_transform(core: Core, call: Call, options: WriteOptions) -> Callable[[Draft], Draft]:
    kind = bodies.media_type(call.content_type)
    decoded = decode_patch(call, options)
    data = jsontext.dumps(decoded.value)
    endpoint = managedfields.endpoint_of(core.registry, call.resource, call.info.subresource)
    manager = field_manager_of(options, call.user_agent)

    def transform(live: Draft) -> Draft:
        new = patched_value(call, kind, live, jsontext.loads(data))
        text = gotext.plain(decoded.value) if kind == STRATEGIC_PATCH else gotext.to_json(new)
        if found := find_type_mismatch(new, call.resource):
            why = found.conversion_error if kind == STRATEGIC_PATCH else found.decode_error
            raise _invalid_patch(text, why)
        _decode_patched(call, new, text, list(decoded.duplicates), options)
        managedfields.track_update(endpoint, live, new, manager, core.now())
        return new

    return transform


def decode_patch(call: Call, options: WriteOptions) -> bodies.Decoded:
    """Decode a patch other than apply: a list of operations, or an object."""
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
            f"error decoding patch: json: cannot unmarshal {json_type_name(value)} into Go value "
            "of "
            f"type {shape}"
        )
    return decoded


_GO_MAP: Final = "map[string]interface {}"


def patched_value(call: Call, kind: str, live: Draft, value: Any) -> Draft:
    """Return the patched object, for all patch types but apply."""
    if kind == STRATEGIC_PATCH:
        new = strategicmerge.apply(live, value, managedfields.raw_schema(call.resource))
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


def _invalid_patch(text: str, why: str) -> status.StatusError:
    return status.invalid(Qualified("", ""), "", [fielderrors.invalid("patch", text, why)])


def _decode_patched(
    call: Call, new: Draft, text: str, duplicates: list[str], options: WriteOptions
) -> None:
    """Validate, prune and default the patched object as if a client had sent it."""
    resource = call.resource
    if new.get("apiVersion") != resource.api_version or new.get("kind") != resource.kind:
        raise status.bad_request(
            f"the API version in the data ({new.get('apiVersion')}) does not match the expected "
            f"API version ({resource.api_version})"
        )
    strict_errors = [f'duplicate field "{path}"' for path in duplicates]
    strict_errors += prune_and_default(new, resource)
    if strict_errors and options.field_validation == STRICT:
        raise _invalid_patch(text, f"strict decoding error: {', '.join(strict_errors)}")
    if options.field_validation != IGNORE:
        for strict_error in strict_errors:
            call.warn(strict_error)
    objectmeta.ensure_namespace(new, call.namespace)
    check_name(call, new)


def _apply_transform(core: Core, call: Call, options: WriteOptions) -> Callable[[Draft], Draft]:
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
            f"unmarshal {json_type_name(config)} into Go value of type {_GO_MAP}"
        )
    endpoint = managedfields.endpoint_of(core.registry, call.resource, call.info.subresource)
    data = jsontext.dumps(config)

    def transform(live: Draft) -> Draft:
        new = managedfields.apply(
            endpoint,
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
        new.setdefault("metadata", {}).setdefault("name", call.info.name)
        prune_and_default(new, call.resource)
        objectmeta.ensure_namespace(new, call.namespace)
        check_name(call, new)
        return new

    return transform
