"""Write built-in objects as Kubernetes' own types do: no empties, but all that must be there."""

from typing import Any, Final

from webhook.apiserver.builtin import schemas
from webhook.apiserver.builtin.schemas import Schema

_ABSENT: Final = object()


def encoded(obj: dict[str, Any], component: str) -> dict[str, Any]:
    """Copy an object in the form in which a Kubernetes API server would answer it."""
    return _object(obj, schemas.expanded(component))


def zero(component: str) -> dict[str, Any]:
    """The empty object of a kind: what is written though nothing is known."""
    return _object({}, schemas.expanded(component))


def _object(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    properties = schema.get("properties")
    if properties is None:
        inner = schema.get("additionalProperties")
        return {key: _value(part, inner or {}) for key, part in value.items()}
    required = schema.get("required", ())
    result = {}
    for name, part in properties.items():
        written = _field(value.get(name), part, name in required)
        if written is not _ABSENT:
            result[name] = written
    return {**result, **_unknown(value, schema, properties)}


def _unknown(value: dict[str, Any], schema: Schema, properties: Schema) -> dict[str, Any]:
    if not schema.get("x-kubernetes-preserve-unknown-fields"):
        return {}
    return {name: part for name, part in value.items() if name not in properties}


def _field(value: Any, schema: Schema, required: bool) -> Any:
    if value is None:
        if "default" in schema:
            return _value(schema["default"], schema)
        is_null = schema.get("nullable") or (required and schema.get("type") == "array")
        return None if is_null else _ABSENT
    if schema.get("x-omit-zero") and not value:
        return _ABSENT
    if value in ({}, []) and not required and _is_collection(schema):
        return None if schema.get("nullable") else _ABSENT
    return _value(value, schema)


def _is_collection(schema: Schema) -> bool:
    return schema.get("type") == "array" or "additionalProperties" in schema


def _value(value: Any, schema: Schema) -> Any:
    if isinstance(value, dict):
        return _object(value, schema) if _is_typed(schema) else value
    if isinstance(value, list):
        inner = schema.get("items", {})
        return [_value(part, inner) for part in value]
    return value


def _is_typed(schema: Schema) -> bool:
    return "properties" in schema or "additionalProperties" in schema
