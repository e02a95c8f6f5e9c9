"""Typed values: the field set of a value, comparison of two, and removal of fields."""

from typing import Any, Final, NamedTuple

from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.dev.apiserver.fieldownership import fieldschemas, fieldsets
from webhook.dev.apiserver.fieldownership.fieldschemas import DEDUCED
from webhook.dev.apiserver.fieldownership.fieldsets import FieldSet
from webhook.kube.meta import Draft

MISSING: Final = object()
"""Stands for a value that does not exist, where null is one that does."""
_CONTAINERS: Final = (dict, list)


def to_field_set(value: Any, schema: Schema) -> FieldSet:
    """Return the set of all fields in a value."""
    return _value_fields(value, schema)[1]


def _value_fields(value: Any, schema: Schema) -> tuple[bool, FieldSet]:
    """Return whether a value is a member as a whole, and the fields below it."""
    if isinstance(value, dict):
        if fieldschemas.is_atomic_map(schema):
            return True, {}
        return False, _object_fields(value, schema)
    if isinstance(value, list) and not fieldschemas.is_atomic_list(schema):
        return False, _list_fields(value, schema)
    return True, {}


def _object_fields(value: Draft, schema: Schema) -> FieldSet:
    fields = fieldschemas.fields(schema)
    result = {}
    for name, inner in value.items():
        member, below = _value_fields(inner, fields.of(name) or DEDUCED)
        # A null, an empty object and a key of a map are members themselves.
        member = member or inner is None or inner == {} or name not in fields.known
        found = fieldsets.node(member, below)
        if found is not None:
            result[fieldsets.field(name)] = found
    return result


def _list_fields(value: list[Any], schema: Schema) -> FieldSet:
    result: FieldSet = {}
    inner = fieldschemas.items(schema)
    for item in value:
        element = fieldschemas.path_element(schema, item)
        # Items that share their keys are one field.
        below = {} if element in result else _value_fields(item, inner)[1]
        result[element] = fieldsets.node(True, below) or {}
    return result


class Comparison(NamedTuple):
    """The fields that are removed, modified and added from a first value to a second."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    def changed(self) -> FieldSet:
        """Return the fields that are modified or added."""
        return fieldsets.union(self.modified, self.added)

    def without(self, fields: FieldSet) -> "Comparison":
        """Leave out fields with everything below them."""
        return Comparison(*(fieldsets.recursive_difference(part, fields) for part in self))


class _Nodes(NamedTuple):
    """The three sets of a comparison below one element, None where there are no fields."""

    removed: FieldSet | None = None
    modified: FieldSet | None = None
    added: FieldSet | None = None


_EQUAL: Final = _Nodes()


def compare(left: Any, right: Any, schema: Schema) -> Comparison:
    """Return the fields in which two objects differ."""
    if not left:
        return Comparison({}, {}, _added_fields(right, schema))
    found = _compare_objects(left, right, schema)
    return Comparison(found.removed or {}, found.modified or {}, found.added or {})


def _compare(left: Any, right: Any, schema: Schema) -> _Nodes:
    if left is not MISSING and right is not MISSING and _equal(left, right):
        return _EQUAL
    if left is MISSING:
        return _Nodes(added=_added(right, schema))
    if _is_granular(left, right, dict) and not fieldschemas.is_atomic_map(schema):
        below = _compare_objects(_or_empty(left, {}), _or_empty(right, {}), schema)
    elif _is_granular(left, right, list) and not fieldschemas.is_atomic_list(schema):
        below = _compare_lists(_or_empty(left, []), _or_empty(right, []), schema)
    elif right is MISSING:
        return _Nodes(removed={})
    else:
        return _compare_unlike(left, right, schema)
    removed = fieldsets.node(right is MISSING, below.removed or {})
    return _Nodes(removed, below.modified, below.added)


def _added(value: Any, schema: Schema) -> FieldSet:
    """Return the fields that a new value adds; creates consist of nothing else."""
    if isinstance(value, dict) and value and not fieldschemas.is_atomic_map(schema):
        return {fieldsets.SELF: {}, **_added_fields(value, schema)}
    if isinstance(value, list) and value and not fieldschemas.is_atomic_list(schema):
        inner = fieldschemas.items(schema)
        groups = _items_by_element(value, schema)
        items = {
            element: _added(group[0], inner) if len(group) == 1 else {}
            for element, group in groups.items()
        }
        return {fieldsets.SELF: {}, **items}
    return {}


def _added_fields(value: Draft, schema: Schema) -> FieldSet:
    fields = fieldschemas.fields(schema)
    return {
        fieldsets.field(name): _added(inner, fields.of(name) or DEDUCED)
        if isinstance(inner, _CONTAINERS)
        else {}
        for name, inner in value.items()
    }


def _equal(left: Any, right: Any) -> bool:
    # In Python, unlike in JSON, True equals 1.
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _is_granular(left: Any, right: Any, kind: type) -> bool:
    """Whether both sides can be compared part by part; absence and null fit any kind."""
    fits = all(side is MISSING or side is None or isinstance(side, kind) for side in (left, right))
    return fits and any(isinstance(side, kind) and side for side in (left, right))


def _or_empty(side: Any, empty: Any) -> Any:
    return empty if side is MISSING or side is None else side


def _compare_unlike(left: Any, right: Any, schema: Schema) -> _Nodes:
    """Compare values of different kinds: one modified field, and the parts of either side."""
    removed = added = None
    if isinstance(left, dict) != isinstance(right, dict) and not fieldschemas.is_atomic_map(schema):
        if isinstance(left, dict) and left:
            removed = _compare_objects(left, {}, schema).removed
        elif isinstance(right, dict) and right:
            added = _compare_objects({}, right, schema).added
    return _Nodes(removed, {}, added)


def _compare_objects(left: Draft, right: Draft, schema: Schema) -> _Nodes:
    fields = fieldschemas.fields(schema)
    found: tuple[FieldSet, FieldSet, FieldSet] = ({}, {}, {})
    for name in left.keys() | right.keys():
        inner = fields.of(name) or DEDUCED
        _collect(
            found,
            fieldsets.field(name),
            _compare(left.get(name, MISSING), right.get(name, MISSING), inner),
        )
    return _to_nodes(found)


def _compare_lists(left: list[Any], right: list[Any], schema: Schema) -> _Nodes:
    found: tuple[FieldSet, FieldSet, FieldSet] = ({}, {}, {})
    old_items, new_items = _items_by_element(left, schema), _items_by_element(right, schema)
    inner = fieldschemas.items(schema)
    for element in old_items.keys() | new_items.keys():
        old, new = old_items.get(element, []), new_items.get(element, [])
        _collect(found, element, _compare_items(old, new, inner))
    return _to_nodes(found)


def _compare_items(old: list[Any], new: list[Any], schema: Schema) -> _Nodes:
    """Compare the items with one key: one to one, or as a whole if there are several."""
    if len(old) <= 1 and len(new) <= 1:
        return _compare(old[0] if old else MISSING, new[0] if new else MISSING, schema)
    if len(old) > 1 and len(new) > 1:
        return _EQUAL if _equal(old, new) else _Nodes(modified={})
    if len(old) > 1:
        added = _compare(MISSING, new[0], schema).added if new else None
        return _Nodes(removed={}, added=added)
    left = _compare(old[0], MISSING, schema).removed if old else None
    return _Nodes(removed=left, added={})


def _items_by_element(values: list[Any], schema: Schema) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for value in values:
        groups.setdefault(fieldschemas.path_element(schema, value), []).append(value)
    return groups


def _collect(found: tuple[FieldSet, ...], element: str, nodes: _Nodes) -> None:
    for into, below in zip(found, nodes, strict=True):
        if below is not None:
            into[element] = below


def _to_nodes(found: tuple[FieldSet, FieldSet, FieldSet]) -> _Nodes:
    return _Nodes(*(part or None for part in found))


def ensure_named_fields(fields: FieldSet, schema: Schema) -> FieldSet:
    """Add the declared fields on the path to each member: with `spec.a` also `spec`."""
    known = fieldschemas.fields(schema)
    result = {}
    for element, below in fields.items():
        inner, is_known = _descend(element, schema, known)
        children = ensure_named_fields(
            {key: value for key, value in below.items() if key != fieldsets.SELF}, inner
        )
        result[element] = fieldsets.node(fieldsets.is_member(below) or is_known, children) or {}
    return result


def _descend(element: str, schema: Schema, known: fieldschemas.Fields) -> tuple[Schema, bool]:
    kind, _, name = element.partition(":")
    if kind == "f":
        return known.of(name) or DEDUCED, name in known.known
    return fieldschemas.items(schema), False


def remove_fields(value: Any, fields: FieldSet, schema: Schema) -> Any:
    """Return a copy of a value without some fields."""
    if isinstance(value, dict) and not fieldschemas.is_atomic_map(schema):
        known = fieldschemas.fields(schema)
        pairs = {fieldsets.field(name): (name, inner) for name, inner in value.items()}
        result = {}
        for element, (name, inner) in pairs.items():
            kept = _without_fields(inner, fields.get(element), known.of(name) or DEDUCED)
            if kept is not MISSING:
                result[name] = kept
        return result
    if isinstance(value, list) and not fieldschemas.is_atomic_list(schema):
        inner_schema = fieldschemas.items(schema)
        parts = (
            _without_fields(item, fields.get(fieldschemas.path_element(schema, item)), inner_schema)
            for item in value
        )
        return [part for part in parts if part is not MISSING]
    return value


def _without_fields(value: Any, below: FieldSet | None, schema: Schema) -> Any:
    if below is None:
        return value
    if fieldsets.is_member(below):
        return MISSING
    rest = remove_fields(value, below, schema)
    # A container that becomes empty stays as null, since it may have an owner itself.
    return None if rest in ({}, []) and value not in ({}, []) else rest
