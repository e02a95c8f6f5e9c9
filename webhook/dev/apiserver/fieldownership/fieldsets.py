"""Sets of field paths in the format FieldsV1, and their algebra.

A set is a dict from path elements (`f:name`, `k:{"name":"x"}`, `v:"x"`) to the sets below them. An
element with an empty set below it is a member itself; with members below it, the key `.` marks it
as a member.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from webhook.kube import gotext, jsontext

FieldSet: TypeAlias = dict[str, Any]
"""A set of field paths."""

SELF: Final = "."
"""The key that marks the element above it as a member."""
_MEMBER: Final[FieldSet] = {}


def node(member: bool, children: FieldSet) -> FieldSet | None:
    """Return the set below an element, None if neither it nor anything below it is a member."""
    if not children:
        return {} if member else None
    return {SELF: {}, **children} if member else children


def is_member(below: FieldSet) -> bool:
    """Whether the element above this set is itself a member."""
    return not below or SELF in below


def from_paths(*paths: tuple[str, ...]) -> FieldSet:
    """Return the set of some paths, which are given as field names."""
    result: FieldSet = {}
    for path in paths:
        made: FieldSet = {}
        for name in reversed(path):
            made = {f"f:{name}": made}
        result = union(result, made)
    return result


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of either set."""
    if not right:
        return left
    result = dict(left)
    for element, below in right.items():
        if element in result:
            result[element] = _union_below(result[element], below)
        else:
            result[element] = below
    return result


def _union_below(left: FieldSet, right: FieldSet) -> FieldSet:
    member = is_member(left) or is_member(right)
    children = union(_children(left), _children(right))
    return node(member, children) or _MEMBER


def _children(below: FieldSet) -> FieldSet:
    if SELF not in below:
        return below
    return {element: deeper for element, deeper in below.items() if element != SELF}


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of the first set only; children of a removed member stay."""
    return _difference(left, right, recursive=False)


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of the first set only; children of a removed member go with it."""
    return _difference(left, right, recursive=True)


def _difference(left: FieldSet, right: FieldSet, *, recursive: bool) -> FieldSet:
    if not left or not right:
        return left
    result = {}
    for element, below in left.items():
        other = right.get(element)
        if other is None:
            result[element] = below
            continue
        removed = is_member(other)
        if removed and recursive:
            continue
        children = _difference(_children(below), _children(other), recursive=recursive)
        kept = node(is_member(below) and not removed, children)
        if kept is not None:
            result[element] = kept
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of both sets."""
    result = {}
    for element, below in left.items():
        other = right.get(element)
        if other is None or element == SELF:
            continue
        member = is_member(below) and is_member(other)
        kept = node(member, intersection(_children(below), _children(other)))
        if kept is not None:
            result[element] = kept
    return result


def has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    """Whether a path, which is given as elements, is a member."""
    below = fields
    for element in path:
        if element not in below:
            return False
        below = below[element]
    return is_member(below)


def paths(fields: FieldSet, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each member, each level before the ones below it."""
    elements = sorted(_children(fields))
    yield from ((*above, element) for element in elements if is_member(fields[element]))
    for element in elements:
        yield from paths(fields[element], (*above, element))


def sort(fields: FieldSet) -> FieldSet:
    """Return a set with its elements sorted, as Kubernetes writes them."""
    return {
        element: sort(below) if (below := fields[element]) else below for element in sorted(fields)
    }


def field(name: str) -> str:
    """Return the path element of a field or of a key in a map."""
    return f"f:{name}"


def key(values: dict[str, Any]) -> str:
    """Return the path element of an item in a list of type map."""
    return "k:" + jsontext.dumps(values, is_sorted=True).decode()


def item(value: Any) -> str:
    """Return the path element of an item in a list of type set."""
    return "v:" + jsontext.dumps(value).decode()


def format_path(path: tuple[str, ...]) -> str:
    """Format a path for messages, as in `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(_format_element(element) for element in path)


def _format_element(element: str) -> str:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        fields = json.loads(rest)
        pairs = (f"{name}={_format_value(fields[name])}" for name in sorted(fields))
        return f"[{','.join(pairs)}]"
    return f"[={_format_value(json.loads(rest))}]" if kind == "v" else f"[{rest}]"


def _format_value(value: Any) -> str:
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, int | float):
        return gotext.number(value)
    return "null" if value is None else gotext.to_json(value)
