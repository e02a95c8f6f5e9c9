"""Values of custom resources as expressions see them: typed, and named, by their schema."""

import base64
import binascii
import re
from typing import Any, Final

from celpy import celtypes
from celpy.adapter import json_to_cel

from webhook.api.schema import Schema

#: Of an object's metadata expressions see its name alone, since all else may change by itself.
_METADATA: Final = ("name", "generateName")
_RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    }
)
_ESCAPES: Final = {"__": "underscores", ".": "dot", "-": "dash", "/": "slash"}
_SPECIAL: Final = re.compile(r"__|[./-]")
_DURATION: Final = re.compile(r"([0-9.]+)(h|ms|us|µs|ns|m|s)")
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def escaped(name: str) -> str:
    """Write the name of a field as an expression has to."""
    if name in _RESERVED:
        return f"__{name}__"
    return _SPECIAL.sub(lambda found: f"__{_ESCAPES[found[0]]}__", name)


def of_root(obj: dict[str, Any], schema: Schema) -> Any:
    """Convert a whole object."""
    metadata = obj.get("metadata") or {}
    known = {name: metadata[name] for name in _METADATA if metadata.get(name)}
    fields = {name: value for name, value in obj.items() if name != "metadata"}
    converted = of(fields, schema)
    for name in ("apiVersion", "kind"):
        converted[celtypes.StringType(name)] = json_to_cel(obj.get(name, ""))
    converted[celtypes.StringType("metadata")] = json_to_cel(known)
    return converted


def of(value: Any, schema: Schema) -> Any:
    """Convert a value; what its schema does not declare cannot be named."""
    if value is None:
        return None
    if isinstance(value, dict):
        return _mapping(value, schema)
    if isinstance(value, list) and schema.items is not None:
        return celtypes.ListType([of(item, schema.items) for item in value])
    if isinstance(value, int | float) and schema.types == ("number",):
        return celtypes.DoubleType(value)
    if isinstance(value, str):
        return _text(value, schema.raw.get("format") or "")
    return json_to_cel(value)


def _mapping(value: dict[str, Any], schema: Schema) -> Any:
    if not schema.properties and schema.additional is None:
        return json_to_cel(value)
    result = celtypes.MapType()
    for name, inner in value.items():
        child = schema.properties.get(name)
        if child is not None:
            if inner is not None or child.nullable:
                result[celtypes.StringType(escaped(name))] = of(inner, child)
        elif schema.additional is not None:
            result[celtypes.StringType(name)] = of(inner, schema.additional)
    return result


def _text(value: str, kind: str) -> Any:
    try:
        if kind in ("date", "date-time"):
            return celtypes.TimestampType(f"{value}T00:00:00Z" if kind == "date" else value)
        if kind == "duration":
            return celtypes.DurationType(_duration(value))
        if kind == "byte":
            return celtypes.BytesType(base64.b64decode(value))
    except (ValueError, binascii.Error):
        # The schema has objected to it already.
        return celtypes.StringType(value)
    return celtypes.StringType(value)


def _duration(text: str) -> str:
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))
    return f"{-seconds if text.startswith('-') else seconds}s"
