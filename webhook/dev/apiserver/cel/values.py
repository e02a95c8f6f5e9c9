"""Conversion of custom resources to CEL values, with types and names by their schema."""

import base64
import binascii
import re
from typing import Any, Final

from celpy import celtypes
from celpy.adapter import json_to_cel

from webhook.kube import durations
from webhook.kube.meta import Draft, Raw
from webhook.kube.schema import Schema

_METADATA: Final = ("name", "generateName")
"""The fields of metadata that expressions can read, as in Kubernetes."""
_RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    }
)
_ESCAPES: Final = {"__": "underscores", ".": "dot", "-": "dash", "/": "slash"}
_SPECIAL: Final = re.compile(r"__|[./-]")


def escape_name(name: str) -> str:
    """Escape the name of a field as expressions have to write it."""
    if name in _RESERVED:
        return f"__{name}__"
    return _SPECIAL.sub(lambda found: f"__{_ESCAPES[found[0]]}__", name)


def object_to_cel(obj: Raw, schema: Schema) -> Any:
    """Convert an object with its apiVersion, kind and name."""
    metadata = obj.get("metadata") or {}
    identity = {name: metadata[name] for name in _METADATA if metadata.get(name)}
    fields = {name: value for name, value in obj.items() if name != "metadata"}
    converted = to_cel(fields, schema)
    for name in ("apiVersion", "kind"):
        converted[celtypes.StringType(name)] = json_to_cel(obj.get(name, ""))
    converted[celtypes.StringType("metadata")] = json_to_cel(identity)
    return converted


def to_cel(value: Any, schema: Schema) -> Any:
    """Convert a value; fields that its schema does not declare are left out."""
    if value is None:
        return None
    if isinstance(value, dict):
        return _mapping(value, schema)
    if isinstance(value, list) and schema.items is not None:
        return celtypes.ListType([to_cel(item, schema.items) for item in value])
    if isinstance(value, int | float) and schema.types == ("number",):
        return celtypes.DoubleType(value)
    if isinstance(value, str):
        return _string(value, schema.raw.get("format") or "")
    return json_to_cel(value)


def _mapping(value: Draft, schema: Schema) -> Any:
    if not schema.properties and schema.additional is None:
        return json_to_cel(value)
    result = celtypes.MapType()
    for name, inner in value.items():
        child = schema.properties.get(name)
        if child is not None:
            if inner is not None or child.nullable:
                result[celtypes.StringType(escape_name(name))] = to_cel(inner, child)
        elif schema.additional is not None:
            result[celtypes.StringType(name)] = to_cel(inner, schema.additional)
    return result


def _string(value: str, format_: str) -> Any:
    try:
        if format_ in ("date", "date-time"):
            return celtypes.TimestampType(f"{value}T00:00:00Z" if format_ == "date" else value)
        if format_ == "duration":
            return celtypes.DurationType(_duration(value))
        if format_ == "byte":
            return celtypes.BytesType(base64.b64decode(value))
    except (ValueError, binascii.Error):
        # Schema validation has reported it already.
        return celtypes.StringType(value)
    return celtypes.StringType(value)


def _duration(text: str) -> str:
    # The format also allows other text than Go's, such as "1h 30m" or "90min".
    seconds = durations.sum_parts(text)
    return f"{-seconds if text.startswith('-') else seconds}s"
