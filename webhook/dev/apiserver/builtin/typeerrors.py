"""Find values that the Go types of built-in kinds cannot hold, with Go's error messages."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from webhook.dev.apiserver.builtin import schemas
from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.kube import gotext

_QUANTITY: Final = re.compile(r"[+-]?[0-9.]+([eEinumkKMGTP]*[-+]?[0-9]*)")
_QUANTITY_ERROR: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_TIME_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_INTEGER_LIMITS: Final = {"int32": 2**31, "int64": 2**63}
GO_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
    '"json:\\"kind,omitempty\\"" }'
)
"""The Go type into which apiVersion and kind of every object are decoded."""
_GO_SCALARS: Final = {"string": "string", "boolean": "bool", "number": "float64"}
_JSON_TYPE_NAMES: Final = ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object"))


class TypeMismatch(NamedTuple):
    """A value of the wrong type, with the error messages of Go's decoder and of its converter."""

    decode_error: str
    """The error of decoding JSON."""
    conversion_error: str
    """The error of converting an unstructured object, which a strategic merge patch does."""
    fatal: bool = False
    """Whether decoding stops here; otherwise it goes on and reports its first error at the end."""


def find_type_mismatch(obj: Any, component: str) -> TypeMismatch | None:
    """Return the type mismatch that decoding an object reports, None if there is none."""
    first = None
    for found in _walk(obj, schemas.expand(component), ("", "")):
        if found.fatal:
            return found
        first = first or found
    return first


def _walk(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[TypeMismatch]:
    """Walk a value; `where` is the Go struct and the path of the field that holds it."""
    if value is None:
        return
    if "properties" in schema:
        yield from _struct(value, schema, where)
    elif "additionalProperties" in schema:
        if not isinstance(value, dict):
            yield _mismatch(value, schema, where, f"cannot restore map from {_go_kind(value)}")
            return
        for part in value.values():
            yield from _walk(part, schema["additionalProperties"], where)
    elif schema.get("type") == "array":
        if not isinstance(value, list):
            yield _mismatch(value, schema, where, f"cannot restore slice from {_go_kind(value)}")
            return
        for part in value:
            yield from _walk(part, schema["items"], where)
    else:
        yield from _scalar(value, schema, where)


def _struct(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[TypeMismatch]:
    if not isinstance(value, dict):
        yield _mismatch(value, schema, where, f"cannot restore struct from: {_go_kind(value)}")
        return
    struct = schema["title"].rpartition(".")[2]
    for name, part in value.items():
        below = schema["properties"].get(name)
        if below is not None:
            path = f"{where[1]}.{name}" if where[1] else name
            yield from _walk(part, below, (struct, path))


def _scalar(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[TypeMismatch]:
    format_, declared = schema.get("format"), schema.get("type")
    if format_ == "quantity":
        if not _is_quantity(value):
            yield TypeMismatch(_QUANTITY_ERROR, _QUANTITY_ERROR, fatal=True)
    elif format_ == "int-or-string":
        if not isinstance(value, str):
            yield from (found._replace(fatal=True) for found in _integer(value, "int32", where))
    elif format_ in ("date-time", "micro-time"):
        yield from _time(value, schema, where)
    elif declared == "integer":
        yield from _integer(value, format_ or "int64", where)
    else:
        yield from _simple_scalar(value, schema, where)


def _simple_scalar(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[TypeMismatch]:
    declared = schema.get("type")
    if declared == "string" and not isinstance(value, str):
        can_convert = isinstance(value, int) and not isinstance(value, bool)
        text = f"cannot convert {_go_kind(value)} to string"
        if not can_convert:
            text = _unrecognized("string")
        yield _mismatch(value, schema, where, text)
    elif declared == "boolean" and not isinstance(value, bool):
        yield _mismatch(value, schema, where, _unrecognized("bool"))
    elif declared == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        yield _mismatch(value, schema, where, _unrecognized("float64"))
    elif schema.get("format") == "byte":
        yield from _bytes(value)


def _unrecognized(kind: str) -> str:
    return f"unrecognized type: {kind}"


def _is_quantity(value: Any) -> bool:
    if isinstance(value, str):
        return _QUANTITY.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(value: Any, format_: str, where: tuple[str, str]) -> Iterator[TypeMismatch]:
    bound = _INTEGER_LIMITS[format_]
    if isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound:
        return
    schema = {"type": "integer", "format": format_}
    if isinstance(value, int | float) and not isinstance(value, bool):
        number, target = gotext.number(value), _go_target(schema, where)
        text = f"json: cannot unmarshal number {number} into {target}"
        yield TypeMismatch(text, f"cannot convert {_go_kind(value)} to {format_}")
    else:
        yield _mismatch(value, schema, where, _unrecognized(format_))


def _time(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[TypeMismatch]:
    if not isinstance(value, str):
        found = _mismatch(value, {"type": "string"}, where, _unrecognized("string"))
        yield found._replace(fatal=True)
        return
    micro = schema["format"] == "micro-time"
    match = _TIME.fullmatch(value)
    if match is not None and not (micro and match[1] is None):
        return
    layout, rest, expected = _TIME_LAYOUT, value, "2006"
    if micro:
        layout = _MICRO_LAYOUT
        if match is not None:
            rest, expected = match[2], ".000000"
    text = (
        f"parsing time {gotext.quote(value)} as {gotext.quote(layout)}: "
        f"cannot parse {gotext.quote(rest)} as {gotext.quote(expected)}"
    )
    yield TypeMismatch(text, text, fatal=True)


def _bytes(value: str) -> Iterator[TypeMismatch]:
    try:
        base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except binascii.Error:
        text = f"illegal base64 data at input byte {_first_illegal(value)}"
        yield TypeMismatch(text, f"error decoding from json: {text}")


def _first_illegal(value: str) -> int:
    legal = re.match(r"[A-Za-z0-9+/\r\n]*", value)
    position = legal.end() if legal else 0
    return position if position < len(value) and value[position] != "=" else len(value) // 4 * 4


def json_type_name(value: Any) -> str:
    """Return the name that Go's decoder has for the JSON type of a value."""
    return next((name for kind, name in _JSON_TYPE_NAMES if isinstance(value, kind)), "number")


def _mismatch(
    value: Any, schema: Schema, where: tuple[str, str], conversion_error: str
) -> TypeMismatch:
    return TypeMismatch(
        f"json: cannot unmarshal {json_type_name(value)} into {_go_target(schema, where)}",
        conversion_error,
    )


def _go_target(schema: Schema, where: tuple[str, str]) -> str:
    struct, path = where
    if not path:
        return f"Go value of type {_go_type(schema)}"
    return f"Go struct field {struct}.{path} of type {_go_type(schema)}"


def _go_kind(value: Any) -> str:
    names = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64"}
    return names.get(type(value), "float64")


def _go_type(schema: Schema) -> str:
    if "properties" in schema:
        return str(schema["title"])
    if "additionalProperties" in schema:
        below = schema["additionalProperties"]
        if below.get("format") == "quantity":
            return "v1.ResourceList"
        return f"map[string]{_go_type(below)}"
    if schema.get("type") == "array":
        return f"[]{_go_type(schema['items'])}"
    if schema.get("format") == "byte":
        return "[]uint8"
    if schema.get("type") == "integer":
        return str(schema.get("format", "int64"))
    return _GO_SCALARS.get(schema.get("type", ""), "interface {}")
