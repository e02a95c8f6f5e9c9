"""Limits on JSON that no schema checks: depth of nesting and size of integers.

Brackets and digits are counted in the bytes, so that a malicious object costs no more than an
ordinary one.
"""

import re
from array import array
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Raw

from webhook.admission.decision import DECODE_ERRORS, TYPE_INVALID, Finding
from webhook.kube.nesting import decode_shallow

MAX_DEPTH: Final = 200
MAX_DECODED: Final = 900
"""The depth to which JSON is decoded. API servers let ten thousand levels through, more than
Python's recursion allows."""
_LARGEST: Final = 2**63 - 1
_SMALLEST: Final = -(2**63)

_LEVELS: Final = 32
"""How many levels are removed one by one; hardly any object has more."""

_BRACES: Final = bytes.maketrans(b"[]", b"{}")
_NO_BRACKETS: Final = bytes(code for code in range(256) if code not in b"[]{}")
_STEPS: Final = bytes.maketrans(b"{}", b"\x01\xff")
"""Brackets as signed bytes: one level deeper, one level back."""
_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_NINETEEN_DIGITS: Final = b"0" * 19
_PRUNED_LEVELS: Final = 3
_MANAGED_FIELDS: Final = "metadata.managedFields"
_members: Final = msgspec.json.Decoder(dict[str, Raw])
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def is_suspect(data: bytes) -> bool:
    """Return whether JSON may exceed a limit, by a cheap test; hardly any JSON does."""
    return is_deep(data) or has_long_number(data)


def is_deep(data: bytes, limit: int = MAX_DEPTH) -> bool:
    """Return whether JSON is nested deeper than a limit, without decoding it.

    For nearly all input counting brackets suffices. Only if that is inconclusive are strings, which
    may contain brackets, removed first.
    """
    return may_be_deep(data, limit) and may_be_deep(_STRINGS.sub(b"", data), limit)


def may_be_deep(data: bytes, limit: int = MAX_DEPTH) -> bool:
    """Return whether the brackets, in strings or not, could be nested too deep.

    Few objects have enough brackets at all; to remove them is the fastest way to count them.
    Otherwise the innermost pairs are removed level by level, until the rest cannot be too deep. A
    rest that is still there after some levels is followed bracket by bracket.
    """
    if 2 * len(data) - len(data.replace(b"{", b"")) - len(data.replace(b"[", b"")) <= limit:
        return False
    brackets = data.translate(_BRACES, _NO_BRACKETS)
    for level in range(min(_LEVELS, limit) + 1):
        if len(brackets) <= limit - level:
            return False
        inner = brackets.replace(b"{}", b"")
        if len(inner) == len(brackets):
            return True  # brackets in strings, or no JSON
        brackets = inner
    return level + 1 + max(accumulate(array("b", brackets.translate(_STEPS))), default=0) > limit


def has_long_number(data: bytes) -> bool:
    """Return whether there are 19 digits in a row: a number that may exceed 64 bits."""
    return _NINETEEN_DIGITS in data.translate(_ZEROS)


def faults(data: bytes) -> tuple[Finding, ...]:
    """Return the limits that a suspect document exceeds."""
    try:
        return tuple(_walk(msgspec.json.decode(data)))
    except RecursionError:
        return _deep_faults(data)
    except DECODE_ERRORS:
        return (_too_deep("") if is_deep(data) else _too_large("", UNSET),)


def _deep_faults(data: bytes) -> tuple[Finding, ...]:
    try:
        return prune(data).faults or (_too_deep(""),)
    except DECODE_ERRORS:
        return (_too_deep(""),)


class Pruned(NamedTuple):
    """A document without its members that are nested too deep to be decoded."""

    data: bytes
    removed: Mapping[str, bytes]
    """The members that were removed, by field."""

    @property
    def faults(self) -> tuple[Finding, ...]:
        return tuple(_too_deep(field) for field in self.removed)


def prune(data: bytes, placeholder: bytes = b"null") -> Pruned:
    """Replace members of a document that are too deep, at its first levels; raises DecodeError.

    What remains can be decoded: a deletion of such an object is decided by its other fields.
    """
    removed: dict[str, bytes] = {}
    rest = _prune(data, "", removed, Raw(placeholder))
    return Pruned(msgspec.json.encode(rest), removed)


def _prune(data: bytes, path: str, removed: dict[str, bytes], placeholder: Raw) -> Any:
    level = path.count(".") + 1 if path else 0
    if not is_deep(data, MAX_DECODED - level):
        return Raw(data)
    if level == _PRUNED_LEVELS or not data.lstrip().startswith(b"{"):
        if path != _MANAGED_FIELDS:  # the API server writes them, as deep as the object
            removed[path] = data
        return placeholder
    return {
        name: member
        if len(memoryview(member)) <= MAX_DECODED  # too short to be deep
        else _prune(bytes(member), f"{path}.{name}" if path else name, removed, placeholder)
        for name, member in decode_shallow(_members, data).items()
    }


def _walk(document: Any) -> Iterator[Finding]:
    """Check every value, without recursion: malicious input could exhaust the stack."""
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
