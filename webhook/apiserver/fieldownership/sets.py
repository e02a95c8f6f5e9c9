"""Sets of field paths in the FieldsV1 form, and their algebra.

A set is a dict from path elements (`f:name`, `k:{"name":"x"}`, `v:"x"`) to the sets below them. An
empty set below an element means that the element itself is a member; with members below it, the
key `.` says so.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from webhook.api import gotext, jsontext

FieldSet = dict[str, Any]

SELF: Final = "."
_MEMBER: Final[FieldSet] = {}


def node(member: bool, children: FieldSet) -> FieldSet | None:
    """Build what stands below an element, None if neither it nor anything below is a member."""
    if not children:
        return {} if member else None
    return {SELF: {}, **children} if member else children


def is_member(below: FieldSet) -> bool:
    """Whether the element above this set is itself a member."""
    return not below or SELF in below


def of(*paths: tuple[str, ...]) -> FieldSet:
    """Make a set of paths of field names."""
    result: FieldSet = {}
    for path in paths:
        made: FieldSet = {}
        for name in reversed(path):
            made = {f"f:{name}": made}
        result = union(result, made)
    return result


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Everything that is in one of the two."""
    if not right:
        return left
    result = dict(left)
    for element, below in right.items():
        if element in result:
            result[element] = _joined(result[element], below)
        else:
            result[element] = below
    return result


def _joined(left: FieldSet, right: FieldSet) -> FieldSet:
    member = is_member(left) or is_member(right)
    children = union(_children(left), _children(right))
    return node(member, children) or _MEMBER


def _children(below: FieldSet) -> FieldSet:
    if SELF not in below:
        return below
    return {element: deeper for element, deeper in below.items() if element != SELF}


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in the first and not in the second; children of a removed member stay."""
    return _without(left, right, recursive=False)


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in the first and not in the second; a removed member takes its children along."""
    return _without(left, right, recursive=True)


def _without(left: FieldSet, right: FieldSet, *, recursive: bool) -> FieldSet:
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
        children = _without(_children(below), _children(other), recursive=recursive)
        kept = node(is_member(below) and not removed, children)
        if kept is not None:
            result[element] = kept
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in both."""
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
    """Whether a path, given as elements, is a member."""
    below = fields
    for element in path:
        if element not in below:
            return False
        below = below[element]
    return is_member(below)


def paths(fields: FieldSet, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every member, those of one level before what lies below them."""
    elements = sorted(_children(fields))
    yield from ((*above, element) for element in elements if is_member(fields[element]))
    for element in elements:
        yield from paths(fields[element], (*above, element))


def ordered(fields: FieldSet) -> FieldSet:
    """Sort the elements, as Kubernetes writes them."""
    return {
        element: ordered(below) if (below := fields[element]) else below
        for element in sorted(fields)
    }


def field(name: str) -> str:
    """Write the element of a field or of a key in a map."""
    return f"f:{name}"


def key(values: dict[str, Any]) -> str:
    """Write the element of a list item that its keys identify."""
    return "k:" + jsontext.dumps(values, is_sorted=True).decode()


def item(value: Any) -> str:
    """Write the element of a list item that identifies itself."""
    return "v:" + jsontext.dumps(value).decode()


def written(path: tuple[str, ...]) -> str:
    """Write a path as messages do: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(_written(element) for element in path)


def _written(element: str) -> str:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        fields = json.loads(rest)
        return "[" + ",".join(f"{name}={_value(fields[name])}" for name in sorted(fields)) + "]"
    return f"[={_value(json.loads(rest))}]" if kind == "v" else f"[{rest}]"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, int | float):
        return gotext.number(value)
    return "null" if value is None else gotext.to_json(value)
