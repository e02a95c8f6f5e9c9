"""Faults in the shape of JSON that no schema catches: nesting too deep, integers too large."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET

from webhook.admission.decision import TYPE_INVALID, UNREADABLE, Finding

MAX_DEPTH: Final = 200
_LARGEST: Final = 2**63 - 1
_SMALLEST: Final = -(2**63)

_BRACES: Final = bytes.maketrans(b"[]", b"{}")
_NO_BRACKETS: Final = bytes(code for code in range(256) if code not in b"[]{}")
_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_NINETEEN_DIGITS: Final = b"0" * 19
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def is_suspect(data: bytes) -> bool:
    """Tell cheaply whether the shape of JSON is worth a closer look; it hardly ever is."""
    return is_deep(data) or has_long_number(data)


def is_deep(data: bytes) -> bool:
    """Tell whether JSON is nested deeper than MAX_DEPTH, without decoding it.

    Nearly all input is told apart by its brackets alone, at the speed of memory; only where those
    leave a doubt are the strings, which may hold brackets too, taken out first.
    """
    return may_be_deep(data) and may_be_deep(_STRINGS.sub(b"", data))


def may_be_deep(data: bytes) -> bool:
    """Tell whether the brackets alone, in strings or not, would allow too deep a nesting.

    Few objects have enough of them to begin with; to take them out is the fastest way to count
    them. Else the innermost pairs are taken away, level by level, until what is left cannot be
    too deep.
    """
    if 2 * len(data) - len(data.replace(b"{", b"")) - len(data.replace(b"[", b"")) <= MAX_DEPTH:
        return False
    brackets = data.translate(_BRACES, _NO_BRACKETS)
    for level in range(MAX_DEPTH + 1):
        if len(brackets) <= 2 * (MAX_DEPTH - level):
            return False
        inner = brackets.replace(b"{}", b"")
        if len(inner) == len(brackets):
            break
        brackets = inner
    return True


def has_long_number(data: bytes) -> bool:
    """Tell whether somewhere nineteen digits stand in a row: a number that may pass 64 bits."""
    return _NINETEEN_DIGITS in data.translate(_ZEROS)


def faults(data: bytes) -> tuple[Finding, ...]:
    """List what is wrong with the shape of a document that looks suspect."""
    try:
        return tuple(_walk(msgspec.json.decode(data)))
    except UNREADABLE:
        return (_too_deep("") if is_deep(data) else _too_large("", UNSET),)


def _walk(document: Any) -> Iterator[Finding]:
    """Look at every value, without recursion: the input may be made to exhaust it."""
    waiting: list[tuple[str, Any, int]] = [("", document, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        if isinstance(value, dict | list):
            if depth == MAX_DEPTH:
                yield _too_deep(path)
                continue
            waiting.extend(_children(path, value, depth + 1))
        elif type(value) is int and not _SMALLEST <= value <= _LARGEST:
            yield _too_large(path, str(value)[:40])


def _children(path: str, value: Any, depth: int) -> Iterator[tuple[str, Any, int]]:
    if isinstance(value, list):
        return ((f"{path}[{index}]", item, depth) for index, item in enumerate(value))
    return ((f"{path}.{key}" if path else key, item, depth) for key, item in value.items())


def _too_deep(path: str) -> Finding:
    shown = path if len(path) <= 200 else f"{path[:200]}…"
    return Finding(shown, f"nested deeper than {MAX_DEPTH} levels, flatten it", TYPE_INVALID)


def _too_large(path: str, value: Any) -> Finding:
    return Finding(path, "integers have at most 64 bits, write a smaller one", TYPE_INVALID, value)
