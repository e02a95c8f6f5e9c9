"""Syntax errors of JSON with the messages of Go's encoding/json.

Tools match on these messages.
"""

import re
from typing import Final

from webhook.kube import gotext
from webhook.kube.jsontext import MAX_DEPTH

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS: Final = (b"true", b"false", b"null")
_END: Final = "unexpected end of JSON input"


class _SyntaxError(ValueError):
    """The first syntax error that Go's scanner would find."""


def syntax_error(data: bytes) -> str:
    """Return the message of the first syntax error; empty if there is none."""
    try:
        position = _skip(data, _value(data, _skip(data, 0), 0))
        if position < len(data):
            raise _unexpected(data, position, "after top-level value")
    except _SyntaxError as error:
        return str(error)
    return ""


def _skip(data: bytes, position: int) -> int:
    found = _SPACE.match(data, position)
    return found.end() if found else position


def _unexpected(data: bytes, position: int, context: str) -> _SyntaxError:
    if position >= len(data):
        return _SyntaxError(_END)
    char = data[position]
    shown = {0x27: r"'\''", 0x22: "'\"'"}.get(char)
    if shown is None:
        shown = f"'{chr(char)}'" if 0x20 <= char < 0x7F else _escaped(char)
    return _SyntaxError(f"invalid character {shown} {context}")


def _escaped(char: int) -> str:
    names = {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}
    if char >= 0x80:
        return f"'{gotext.quote(chr(char))[1:-1]}'"
    shown = names.get(char) or f"\\x{char:02x}"
    return f"'{shown}'"


def _value(data: bytes, position: int, depth: int) -> int:
    char = data[position : position + 1]
    if char in (b"{", b"["):
        if depth == MAX_DEPTH:
            raise _unexpected(data, position, "exceeded max depth")
        inside = _object if char == b"{" else _array
        return inside(data, _skip(data, position + 1), depth + 1)
    if char == b'"':
        return _string(data, position + 1)
    if char == b"-" or char.isdigit():
        return _number(data, position)
    for literal in _LITERALS:
        if char == literal[:1]:
            return _literal(data, position, literal)
    raise _unexpected(data, position, "looking for beginning of value")


def _object(data: bytes, position: int, depth: int) -> int:
    if data[position : position + 1] == b"}":
        return position + 1
    while True:
        if data[position : position + 1] != b'"':
            raise _unexpected(data, position, "looking for beginning of object key string")
        position = _skip(data, _string(data, position + 1))
        if data[position : position + 1] != b":":
            raise _unexpected(data, position, "after object key")
        position = _skip(data, _value(data, _skip(data, position + 1), depth))
        if data[position : position + 1] == b"}":
            return position + 1
        if data[position : position + 1] != b",":
            raise _unexpected(data, position, "after object key:value pair")
        position = _skip(data, position + 1)


def _array(data: bytes, position: int, depth: int) -> int:
    if data[position : position + 1] == b"]":
        return position + 1
    while True:
        position = _skip(data, _value(data, position, depth))
        if data[position : position + 1] == b"]":
            return position + 1
        if data[position : position + 1] != b",":
            raise _unexpected(data, position, "after array element")
        position = _skip(data, position + 1)


def _string(data: bytes, position: int) -> int:
    while position < len(data):
        char = data[position]
        if char == 0x22:
            return position + 1
        if char < 0x20:
            raise _unexpected(data, position, "in string literal")
        if char == 0x5C:
            position = _escape(data, position + 1)
        else:
            position += 1
    raise _SyntaxError(_END)


def _escape(data: bytes, position: int) -> int:
    char = data[position : position + 1]
    if char == b"u":
        for offset in range(1, 5):
            if data[position + offset : position + offset + 1] not in b"0123456789abcdefABCDEF":
                raise _unexpected(data, position + offset, r"in \u hexadecimal character escape")
        return position + 5
    if not char or char not in b'"\\/bfnrt':
        raise _unexpected(data, position, "in string escape code")
    return position + 1


def _number(data: bytes, position: int) -> int:
    found = _NUMBER.match(data, position)
    if found is None:
        raise _unexpected(data, position + 1, "in numeric literal")
    end = found.end()
    following = data[end : end + 1]
    if following in (b".", b"e", b"E"):
        context = "after decimal point in numeric literal"
        if following != b".":
            context = "in exponent of numeric literal"
        raise _unexpected(data, end + 1, context)
    return end


def _literal(data: bytes, position: int, literal: bytes) -> int:
    for offset in range(1, len(literal)):
        if data[position + offset : position + offset + 1] != literal[offset : offset + 1]:
            expected = chr(literal[offset])
            context = f"in literal {literal.decode()} (expecting '{expected}')"
            raise _unexpected(data, position + offset, context)
    return position + len(literal)
