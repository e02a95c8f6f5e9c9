"""Validation of structural schemas, on which defaulting and pruning rely."""

from collections.abc import Mapping
from typing import Final

from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Raw
from webhook.kube.schemapatterns import compile_pattern

_ROOT: Final = "at the root"
_ITEM: Final = "for specified array items"
_FIELD: Final = "for specified object fields"
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_FORBIDDEN: Final = {
    "type": "empty",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    "additionalProperties": "undefined",
    "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
}
"""Keywords that parts of anyOf, allOf, oneOf and not must not set, and their required values."""


def validate_structural(schema: Raw, path: str) -> list[FieldError]:
    """Return the errors of a schema, in Kubernetes' order."""
    return sorted(_invariants(schema, _ROOT, path), key=str)


def _invariants(schema: Raw, level: str, path: str) -> Errors:
    if schema.get("type") == "array" and not isinstance(schema.get("items"), Mapping):
        yield fielderrors.required(f"{path}.items", "must be specified")
    if isinstance(schema.get("items"), Mapping):
        yield from _invariants(schema["items"], _ITEM, f"{path}.items")
    for name, child in (schema.get("properties") or {}).items():
        yield from _invariants(child, _FIELD, f"{path}.properties[{name}]")
    yield from _additional(schema, level, path)
    yield from _extensions(schema, path)
    yield from _composition(schema, path)
    yield from _type(schema, level, path)
    if level == _ROOT or schema.get("x-kubernetes-embedded-resource"):
        yield from _metadata(schema, level, path)


def _additional(schema: Raw, level: str, path: str) -> Errors:
    additional = schema.get("additionalProperties")
    where = f"{path}.additionalProperties"
    if additional is None:
        return
    if level == _ROOT:
        yield fielderrors.forbidden(where, "must not be used at the root")
    if isinstance(additional, Mapping):
        yield from _invariants(additional, _FIELD, where)


def _extensions(schema: Raw, path: str) -> Errors:
    if not schema.get("x-kubernetes-int-or-string"):
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(name):
            detail = "must be false if x-kubernetes-int-or-string is true"
            yield fielderrors.invalid(f"{path}.{name}", True, detail)


def _composition(schema: Raw, path: str) -> Errors:
    for name in ("anyOf", "allOf", "oneOf"):
        parts = schema.get(name) or ()
        if name == "anyOf" and parts == _INT_OR_STRING:
            continue
        for index, part in enumerate(parts):
            where = f"{path}.{name}[{index}]"
            if name == "allOf" and index == 0 and part.get("anyOf") == _INT_OR_STRING:
                part = {key: value for key, value in part.items() if key != "anyOf"}
            yield from _nested(part, where)
    if isinstance(schema.get("not"), Mapping):
        yield from _nested(schema["not"], f"{path}.not")
    pattern = compile_pattern(schema.get("pattern") or "")
    if pattern is not None and pattern.search is None:
        detail = f"must be a valid regular expression, but isn't: {pattern.problem}"
        yield fielderrors.invalid(f"{path}.pattern", pattern.text, detail)


def _nested(part: Raw, path: str) -> Errors:
    yield from _composition(part, path)
    if isinstance(part.get("items"), Mapping):
        yield from _nested(part["items"], f"{path}.items")
    for name, child in (part.get("properties") or {}).items():
        yield from _nested(child, f"{path}.properties[{name}]")
    for name, required in _FORBIDDEN.items():
        if part.get(name):
            yield fielderrors.forbidden(f"{path}.{name}", f"must be {required} to be structural")
    if "metadata" in (part.get("properties") or {}):
        detail = "must not be specified in a nested context"
        yield fielderrors.forbidden(f"{path}.properties[metadata]", detail)


def _type(schema: Raw, level: str, path: str) -> Errors:
    kind = schema.get("type") or ""
    where = f"{path}.type"
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        if kind:
            yield fielderrors.invalid(where, kind, detail)
        else:
            yield fielderrors.required(where, detail)
    elif not kind and not (
        schema.get("x-kubernetes-int-or-string")
        or schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        yield fielderrors.required(where, f"must not be empty {level}")
    if level == _ROOT and kind not in ("", "object"):
        yield fielderrors.invalid(where, kind, "must be object at the root")


def _metadata(schema: Raw, level: str, path: str) -> Errors:
    properties = schema.get("properties") or {}
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        declared = properties.get(name, {}).get("type") or ""
        if name in properties and declared != wanted:
            where = f"{path}.properties[{name}].type"
            yield fielderrors.invalid(where, declared, f"must be {wanted}")
    known = {"type", "description", "properties"}
    metadata = properties.get("metadata") or {}
    named = set(metadata.get("properties") or ())
    if level == _ROOT and (set(metadata) - known or named - {"name", "generateName"}):
        detail = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        yield fielderrors.forbidden(f"{path}.properties[metadata]", detail)
