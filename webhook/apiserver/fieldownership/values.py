"""Values as sets of fields: what a value holds, how two differ, and a value without some fields."""

from typing import Any, Final, NamedTuple

from webhook.apiserver.fieldownership import schemas, sets
from webhook.apiserver.fieldownership.schemas import DEDUCED, Schema
from webhook.apiserver.fieldownership.sets import FieldSet

MISSING: Final = object()
_CONTAINERS: Final = (dict, list)


def held(value: Any, schema: Schema) -> FieldSet:
    """Every field that a value holds."""
    return _held(value, schema)[1]


def _held(value: Any, schema: Schema) -> tuple[bool, FieldSet]:
    if isinstance(value, dict):
        return (True, {}) if schemas.is_atomic_map(schema) else (False, _held_fields(value, schema))
    if isinstance(value, list) and not schemas.is_atomic_list(schema):
        return False, _held_items(value, schema)
    return True, {}


def _held_fields(value: dict[str, Any], schema: Schema) -> FieldSet:
    fields = schemas.fields(schema)
    result = {}
    for name, inner in value.items():
        member, below = _held(inner, fields.of(name) or DEDUCED)
        # An object that is nothing but its place in a map, or empty, owns that place.
        member = member or inner is None or inner == {} or name not in fields.known
        found = sets.node(member, below)
        if found is not None:
            result[sets.field(name)] = found
    return result


def _held_items(value: list[Any], schema: Schema) -> FieldSet:
    result: FieldSet = {}
    inner = schemas.items(schema)
    for item in value:
        element = schemas.element(schema, item)
        # Items that share their keys cannot be told apart: all of them are one field.
        below = {} if element in result else _held(item, inner)[1]
        result[element] = sets.node(True, below) or {}
    return result


class Difference(NamedTuple):
    """What a second value lacks, has otherwise and has beyond the first."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    def changed(self) -> FieldSet:
        return sets.union(self.modified, self.added)

    def without(self, fields: FieldSet) -> "Difference":
        """Leave out fields with all that is below them."""
        return Difference(*(sets.recursive_difference(part, fields) for part in self))


class _Nodes(NamedTuple):
    """The three nodes of a difference below one element; None where there is nothing."""

    removed: FieldSet | None = None
    modified: FieldSet | None = None
    added: FieldSet | None = None


_SAME: Final = _Nodes()


def compare(left: Any, right: Any, schema: Schema) -> Difference:
    """Find the fields in which two objects differ."""
    if not left:
        return Difference({}, {}, _arrived_fields(right, schema))
    found = _compared_fields(left, right, schema)
    return Difference(found.removed or {}, found.modified or {}, found.added or {})


def _compared(left: Any, right: Any, schema: Schema) -> _Nodes:
    if left is not MISSING and right is not MISSING and _same(left, right):
        return _SAME
    if left is MISSING:
        return _Nodes(added=_arrived(right, schema))
    if _is_divided(left, right, dict) and not schemas.is_atomic_map(schema):
        below = _compared_fields(_or_empty(left, {}), _or_empty(right, {}), schema)
    elif _is_divided(left, right, list) and not schemas.is_atomic_list(schema):
        below = _compared_items(_or_empty(left, []), _or_empty(right, []), schema)
    elif right is MISSING:
        return _Nodes(removed={})
    else:
        return _differing(left, right, schema)
    removed = sets.node(right is MISSING, below.removed or {})
    return _Nodes(removed, below.modified, below.added)


def _arrived(value: Any, schema: Schema) -> FieldSet:
    """What is added by a value that stands where nothing stood; creates are nothing else."""
    if isinstance(value, dict) and value and not schemas.is_atomic_map(schema):
        return {sets.SELF: {}, **_arrived_fields(value, schema)}
    if isinstance(value, list) and value and not schemas.is_atomic_list(schema):
        inner = schemas.items(schema)
        groups = _grouped(value, schema)
        items = {
            element: _arrived(group[0], inner) if len(group) == 1 else {}
            for element, group in groups.items()
        }
        return {sets.SELF: {}, **items}
    return {}


def _arrived_fields(value: dict[str, Any], schema: Schema) -> FieldSet:
    fields = schemas.fields(schema)
    return {
        sets.field(name): _arrived(inner, fields.of(name) or DEDUCED)
        if isinstance(inner, _CONTAINERS)
        else {}
        for name, inner in value.items()
    }


def _same(left: Any, right: Any) -> bool:
    # Python takes True for 1; JSON does not.
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _is_divided(left: Any, right: Any, kind: type) -> bool:
    """Whether a side has parts of a kind; nothing and null go with any kind."""
    fits = all(side is MISSING or side is None or isinstance(side, kind) for side in (left, right))
    return fits and any(isinstance(side, kind) and side for side in (left, right))


def _or_empty(side: Any, empty: Any) -> Any:
    return empty if side is MISSING or side is None else side


def _differing(left: Any, right: Any, schema: Schema) -> _Nodes:
    """Two that cannot be compared part by part: one field, and the parts of either side."""
    removed = added = None
    if isinstance(left, dict) != isinstance(right, dict) and not schemas.is_atomic_map(schema):
        if isinstance(left, dict) and left:
            removed = _compared_fields(left, {}, schema).removed
        elif isinstance(right, dict) and right:
            added = _compared_fields({}, right, schema).added
    return _Nodes(removed, {}, added)


def _compared_fields(left: dict[str, Any], right: dict[str, Any], schema: Schema) -> _Nodes:
    fields = schemas.fields(schema)
    found: tuple[FieldSet, FieldSet, FieldSet] = ({}, {}, {})
    for name in left.keys() | right.keys():
        inner = fields.of(name) or DEDUCED
        _collect(
            found,
            sets.field(name),
            _compared(left.get(name, MISSING), right.get(name, MISSING), inner),
        )
    return _nodes(found)


def _compared_items(left: list[Any], right: list[Any], schema: Schema) -> _Nodes:
    found: tuple[FieldSet, FieldSet, FieldSet] = ({}, {}, {})
    olds, news = _grouped(left, schema), _grouped(right, schema)
    inner = schemas.items(schema)
    for element in olds.keys() | news.keys():
        old, new = olds.get(element, []), news.get(element, [])
        _collect(found, element, _compared_group(old, new, inner))
    return _nodes(found)


def _compared_group(old: list[Any], new: list[Any], schema: Schema) -> _Nodes:
    """Compare the items of one identity: one to one, or as a whole where there are several."""
    if len(old) <= 1 and len(new) <= 1:
        return _compared(old[0] if old else MISSING, new[0] if new else MISSING, schema)
    if len(old) > 1 and len(new) > 1:
        return _SAME if _same(old, new) else _Nodes(modified={})
    if len(old) > 1:
        arrived = _compared(MISSING, new[0], schema).added if new else None
        return _Nodes(removed={}, added=arrived)
    left = _compared(old[0], MISSING, schema).removed if old else None
    return _Nodes(removed=left, added={})


def _grouped(values: list[Any], schema: Schema) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for value in values:
        groups.setdefault(schemas.element(schema, value), []).append(value)
    return groups


def _collect(found: tuple[FieldSet, ...], element: str, nodes: _Nodes) -> None:
    for into, below in zip(found, nodes, strict=True):
        if below is not None:
            into[element] = below


def _nodes(found: tuple[FieldSet, FieldSet, FieldSet]) -> _Nodes:
    return _Nodes(*(part or None for part in found))


def named(fields: FieldSet, schema: Schema) -> FieldSet:
    """Add the known fields on the way to each member: who owns `spec.a` has a share in `spec`."""
    known = schemas.fields(schema)
    result = {}
    for element, below in fields.items():
        inner, is_known = _descend(element, schema, known)
        children = named({key: value for key, value in below.items() if key != sets.SELF}, inner)
        result[element] = sets.node(sets.is_member(below) or is_known, children) or {}
    return result


def _descend(element: str, schema: Schema, known: schemas.Fields) -> tuple[Schema, bool]:
    kind, _, name = element.partition(":")
    if kind == "f":
        return known.of(name) or DEDUCED, name in known.known
    return schemas.items(schema), False


def removed(value: Any, fields: FieldSet, schema: Schema) -> Any:
    """Copy a value without the given fields."""
    if isinstance(value, dict) and not schemas.is_atomic_map(schema):
        known = schemas.fields(schema)
        pairs = {sets.field(name): (name, inner) for name, inner in value.items()}
        result = {}
        for element, (name, inner) in pairs.items():
            kept = _kept(inner, fields.get(element), known.of(name) or DEDUCED)
            if kept is not MISSING:
                result[name] = kept
        return result
    if isinstance(value, list) and not schemas.is_atomic_list(schema):
        inner_schema = schemas.items(schema)
        parts = (
            _kept(item, fields.get(schemas.element(schema, item)), inner_schema) for item in value
        )
        return [part for part in parts if part is not MISSING]
    return value


def _kept(value: Any, below: FieldSet | None, schema: Schema) -> Any:
    if below is None:
        return value
    if sets.is_member(below):
        return MISSING
    rest = removed(value, below, schema)
    # Emptied is not removed: whoever owns the container itself keeps it.
    return None if rest in ({}, []) and value not in ({}, []) else rest
