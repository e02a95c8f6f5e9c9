"""Object to built-in objects that Kubernetes' own types could not hold, in Go's words."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from webhook.api import gotext
from webhook.apiserver.builtin import schemas
from webhook.apiserver.builtin.schemas import Schema

_QUANTITY: Final = re.compile(r"[+-]?[0-9.]+([eEinumkKMGTP]*[-+]?[0-9]*)")
_QUANTITY_RULE: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_TIME_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_BOUNDS: Final = {"int32": 2**31, "int64": 2**63}
_JSON_NAMES: Final = ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object"))


class Mistake(NamedTuple):
    """A value of the wrong type: what decoding and what converting says of it."""

    decoded: str
    converted: str
    fatal: bool = False
    """Whether decoding ends here; else it goes on, and tells of the first mistake at its end."""


def mistake(obj: Any, component: str) -> Mistake | None:
    """Find the mistake that decoding an object would tell of."""
    first = None
    for found in _mistakes(obj, schemas.expanded(component), ("", "")):
        if found.fatal:
            return found
        first = first or found
    return first


def _mistakes(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[Mistake]:
    """Walk a value; `where` is the Go struct and the path of its field."""
    if value is None:
        return
    if "properties" in schema:
        yield from _struct(value, schema, where)
    elif "additionalProperties" in schema:
        if not isinstance(value, dict):
            yield _wrong(value, schema, where, f"cannot restore map from {_kind(value)}")
            return
        for part in value.values():
            yield from _mistakes(part, schema["additionalProperties"], where)
    elif schema.get("type") == "array":
        if not isinstance(value, list):
            yield _wrong(value, schema, where, f"cannot restore slice from {_kind(value)}")
            return
        for part in value:
            yield from _mistakes(part, schema["items"], where)
    else:
        yield from _scalar(value, schema, where)


def _struct(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[Mistake]:
    if not isinstance(value, dict):
        yield _wrong(value, schema, where, f"cannot restore struct from: {_kind(value)}")
        return
    struct = schema["title"].rpartition(".")[2]
    for name, part in value.items():
        below = schema["properties"].get(name)
        if below is not None:
            path = f"{where[1]}.{name}" if where[1] else name
            yield from _mistakes(part, below, (struct, path))


def _scalar(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[Mistake]:
    form, declared = schema.get("format"), schema.get("type")
    if form == "quantity":
        if not _is_quantity(value):
            yield Mistake(_QUANTITY_RULE, _QUANTITY_RULE, fatal=True)
    elif form == "int-or-string":
        if not isinstance(value, str):
            yield from (found._replace(fatal=True) for found in _integer(value, "int32", where))
    elif form in ("date-time", "micro-time"):
        yield from _time(value, schema, where)
    elif declared == "integer":
        yield from _integer(value, form or "int64", where)
    else:
        yield from _plain(value, schema, where)


def _plain(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[Mistake]:
    declared = schema.get("type")
    if declared == "string" and not isinstance(value, str):
        can_convert = isinstance(value, int) and not isinstance(value, bool)
        text = (
            f"cannot convert {_kind(value)} to string" if can_convert else _unrecognized("string")
        )
        yield _wrong(value, schema, where, text)
    elif declared == "boolean" and not isinstance(value, bool):
        yield _wrong(value, schema, where, _unrecognized("bool"))
    elif declared == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        yield _wrong(value, schema, where, _unrecognized("float64"))
    elif schema.get("format") == "byte":
        yield from _bytes(value)


def _unrecognized(kind: str) -> str:
    return f"unrecognized type: {kind}"


def _is_quantity(value: Any) -> bool:
    if isinstance(value, str):
        return _QUANTITY.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(value: Any, form: str, where: tuple[str, str]) -> Iterator[Mistake]:
    bound = _BOUNDS[form]
    if isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound:
        return
    schema = {"type": "integer", "format": form}
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"json: cannot unmarshal number {gotext.number(value)} into {_place(schema, where)}"
        yield Mistake(text, f"cannot convert {_kind(value)} to {form}")
    else:
        yield _wrong(value, schema, where, _unrecognized(form))


def _time(value: Any, schema: Schema, where: tuple[str, str]) -> Iterator[Mistake]:
    if not isinstance(value, str):
        found = _wrong(value, {"type": "string"}, where, _unrecognized("string"))
        yield found._replace(fatal=True)
        return
    micro = schema["format"] == "micro-time"
    match = _TIME.fullmatch(value)
    if match is not None and not (micro and match[1] is None):
        return
    layout, rest, wanted = _TIME_LAYOUT, value, "2006"
    if micro:
        layout = _MICRO_LAYOUT
        if match is not None:
            rest, wanted = match[2], ".000000"
    text = (
        f"parsing time {gotext.quote(value)} as {gotext.quote(layout)}: "
        f"cannot parse {gotext.quote(rest)} as {gotext.quote(wanted)}"
    )
    yield Mistake(text, text, fatal=True)


def _bytes(value: str) -> Iterator[Mistake]:
    try:
        base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except binascii.Error:
        text = f"illegal base64 data at input byte {_first_illegal(value)}"
        yield Mistake(text, f"error decoding from json: {text}")


def _first_illegal(value: str) -> int:
    legal = re.match(r"[A-Za-z0-9+/\r\n]*", value)
    reached = legal.end() if legal else 0
    return reached if reached < len(value) and value[reached] != "=" else len(value) // 4 * 4


def json_name(value: Any) -> str:
    """Name a value as Go's decoder does."""
    return next((name for kind, name in _JSON_NAMES if isinstance(value, kind)), "number")


def _wrong(value: Any, schema: Schema, where: tuple[str, str], converted: str) -> Mistake:
    return Mistake(
        f"json: cannot unmarshal {json_name(value)} into {_place(schema, where)}", converted
    )


def _place(schema: Schema, where: tuple[str, str]) -> str:
    struct, path = where
    if not path:
        return f"Go value of type {_go_type(schema)}"
    return f"Go struct field {struct}.{path} of type {_go_type(schema)}"


def _kind(value: Any) -> str:
    names = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64"}
    return names.get(type(value), "float64")


_GO_SCALARS: Final = {"string": "string", "boolean": "bool", "number": "float64"}


def _go_type(schema: Schema) -> str:
    if "properties" in schema:
        return str(schema["title"])
    if "additionalProperties" in schema:
        below = schema["additionalProperties"]
        return (
            "v1.ResourceList"
            if below.get("format") == "quantity"
            else f"map[string]{_go_type(below)}"
        )
    if schema.get("type") == "array":
        return f"[]{_go_type(schema['items'])}"
    if schema.get("format") == "byte":
        return "[]uint8"
    if schema.get("type") == "integer":
        return str(schema.get("format", "int64"))
    return _GO_SCALARS.get(schema.get("type", ""), "interface {}")
