"""Encode built-in objects as Go's types do: without empty fields, but with required ones."""

from typing import Any, Final

from webhook.dev.apiserver.builtin import schemas
from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.kube.meta import Draft, Raw

_ABSENT: Final = object()


def encode(obj: Raw, component: str) -> Draft:
    """Return a copy of an object in the form in which a Kubernetes API server returns it."""
    return _encode_object(obj, schemas.expand(component))


def zero_value(component: str) -> Draft:
    """Return the zero value of a kind: the fields that are written even if nothing is set."""
    return _encode_object({}, schemas.expand(component))


def _encode_object(value: Raw, schema: Schema) -> Draft:
    properties = schema.get("properties")
    if properties is None:
        inner = schema.get("additionalProperties")
        return {key: _encode_value(part, inner or {}) for key, part in value.items()}
    required = schema.get("required", ())
    result = {}
    for name, part in properties.items():
        written = _encode_field(value.get(name), part, name in required)
        if written is not _ABSENT:
            result[name] = written
    return {**result, **_unknown_fields(value, schema, properties)}


def _unknown_fields(value: Raw, schema: Schema, properties: Schema) -> Draft:
    if not schema.get("x-kubernetes-preserve-unknown-fields"):
        return {}
    return {name: part for name, part in value.items() if name not in properties}


def _encode_field(value: Any, schema: Schema, required: bool) -> Any:
    if value is None:
        if "default" in schema:
            return _encode_value(schema["default"], schema)
        is_null = schema.get("nullable") or (required and schema.get("type") == "array")
        return None if is_null else _ABSENT
    if schema.get("x-omit-zero") and not value:
        return _ABSENT
    if value in ({}, []) and not required and _is_collection(schema):
        return None if schema.get("nullable") else _ABSENT
    return _encode_value(value, schema)


def _is_collection(schema: Schema) -> bool:
    return schema.get("type") == "array" or "additionalProperties" in schema


def _encode_value(value: Any, schema: Schema) -> Any:
    if isinstance(value, dict):
        return _encode_object(value, schema) if _is_typed(schema) else value
    if isinstance(value, list):
        inner = schema.get("items", {})
        return [_encode_value(part, inner) for part in value]
    return value


def _is_typed(schema: Schema) -> bool:
    return "properties" in schema or "additionalProperties" in schema
