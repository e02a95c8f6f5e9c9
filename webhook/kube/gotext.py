"""Values in Go's notation, which the messages of Kubernetes are made of."""

import re
from typing import Any, Final

from webhook.kube import jsontext

_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_TYPE_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "bool"),
    (int, "int64"),
    (float, "float64"),
    (str, "string"),
    (list, "[]interface {}"),
    (dict, "map[string]interface {}"),
)
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*\Z")


def quote(text: str) -> str:
    """Format a string with %q."""
    if _PLAIN.match(text):
        return f'"{text}"'
    return '"' + "".join(_quoted(char) for char in text) + '"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char == " " or char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """Format a number with %v: whole floats without a fraction, exponents from 1e21 on."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


class Struct(dict[str, Any]):
    """A Go struct: encoded with its fields in the order of declaration."""


def to_json(value: Any) -> str:
    """Encode like encoding/json: with sorted map keys and escaped HTML characters."""
    first = value[0] if isinstance(value, list) and value else value
    text = jsontext.dumps(value, is_sorted=not isinstance(first, Struct)).decode()
    if "<" in text or ">" in text or "&" in text:
        text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return text


def plain(value: Any) -> str:
    """Format a JSON value with %v."""
    if isinstance(value, dict):
        inner = " ".join(f"{key}:{plain(part)}" for key, part in sorted(value.items()))
        return f"map[{inner}]"
    if isinstance(value, list):
        return "[" + " ".join(plain(part) for part in value) + "]"
    if isinstance(value, str):
        return value
    return "<nil>" if value is None else number(value)


def syntax(value: Any) -> str:
    """Format a JSON value with %#v."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quote(key)}:{syntax(part)}" for key, part in sorted(value.items()))
        return f"{type_name(value)}{{{inner}}}"
    if isinstance(value, list):
        return f"{type_name(value)}{{{', '.join(syntax(part) for part in value)}}}"
    if isinstance(value, str):
        return quote(value)
    return "interface {}(nil)" if value is None else number(value)


def type_name(value: Any) -> str:
    """Format the type of a JSON value with %T."""
    for kind, name in _TYPE_NAMES:
        if isinstance(value, kind):
            return name
    return "<nil>"
