"""Strategic merge patch: a merge patch that knows by which keys lists are merged."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from webhook.api import gotext, status

Object = dict[str, Any]
Schema = dict[str, Any]

_PATCH: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_DELETE: Final = "delete"
_REPLACE: Final = "replace"
_MERGE: Final = "merge"

_BAD_RETAIN_KEYS: Final = "invalid patch format of retainKeys"
_LISTS_OF_LISTS: Final = "lists of lists are not supported"


class _Strategy(NamedTuple):
    """How a field is merged: by which strategy, which key, and the schema of what is below."""

    name: str
    key: str
    schema: Schema


def patched(original: Object, patch: Object, schema: Schema) -> Object:
    """Apply a patch; both objects are used up.

    Raises StatusError for a patch that makes no sense.
    """
    return _merge(original, patch, schema)


def _failed(message: str) -> status.StatusError:
    return status.failure(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)


def _merge(original: Object, patch: Object, schema: Schema) -> Object:
    if _PATCH in patch:
        return _directed(patch)
    _retain_keys(original, patch)
    for key in [key for key in patch if key.startswith(_ORDER)]:
        _merge_ordered(original, patch, key, schema)
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            _delete_from(original, key.removeprefix(_DELETE_FROM), value)
        elif value is None:
            original.pop(key, None)
        else:
            _merge_field(original, key, value, schema)
    return original


def _directed(patch: Object) -> Object:
    directive = patch[_PATCH]
    if directive == _REPLACE:
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive == _DELETE:
        return {}
    raise _failed(f"unknown patch type: {directive} in map: {gotext.plain(patch)}")


def _retain_keys(original: Object, patch: Object) -> None:
    if _RETAIN_KEYS not in patch:
        return
    kept = patch.pop(_RETAIN_KEYS)
    if not isinstance(kept, list):
        raise status.bad_request(_BAD_RETAIN_KEYS)
    for key, value in patch.items():
        if value is not None and not key.startswith((_ORDER, _DELETE_FROM)) and key not in kept:
            raise status.bad_request(_BAD_RETAIN_KEYS)
    for key in [key for key in original if key not in kept]:
        del original[key]


def _delete_from(original: Object, key: str, gone: Any) -> None:
    if isinstance(gone, list) and isinstance(original.get(key), list):
        original[key] = [item for item in original[key] if item not in gone]


def _merge_field(original: Object, key: str, value: Any, schema: Schema) -> None:
    current = original.get(key)
    strategy = _strategy(schema, key)
    if isinstance(current, dict) and isinstance(value, dict):
        merged = value if strategy.name == _REPLACE else _merge(current, value, strategy.schema)
        original[key] = merged
    elif isinstance(current, list) and isinstance(value, list):
        original[key] = _merge_lists(current, value, strategy)
    else:
        clean = _cleaned(value)
        if clean is _DIRECTIVE:
            original.pop(key, None)
        else:
            original[key] = clean


def _strategy(schema: Schema, key: str) -> _Strategy:
    field = schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {}
    if not isinstance(field, dict):
        field = {}
    names = str(field.get("x-kubernetes-patch-strategy", "")).split(",")
    name = next((name for name in names if name in (_MERGE, _REPLACE)), "")
    below = field.get("items", {}) if field.get("type") == "array" else field
    return _Strategy(name, field.get("x-kubernetes-patch-merge-key", ""), below)


_DIRECTIVE: Final = object()


def _cleaned(value: Any) -> Any:
    """Copy what a patch adds, without nulls and without parts that only direct the merge."""
    if isinstance(value, dict):
        if _PATCH in value:
            return _DIRECTIVE
        pairs = ((key, _cleaned(part)) for key, part in value.items() if part is not None)
        return {
            key: part
            for key, part in pairs
            if part is not _DIRECTIVE and not key.startswith((_ORDER, _DELETE_FROM, _RETAIN_KEYS))
        }
    if isinstance(value, list):
        return [part for part in map(_cleaned, value) if part is not _DIRECTIVE]
    return value


def _merge_lists(current: list[Any], patch: list[Any], strategy: _Strategy) -> list[Any]:
    if strategy.name != _MERGE:
        return patch
    if not current and not patch:
        return current
    if any(isinstance(item, list) for item in (*current, *patch)):
        raise status.failure(HTTPStatus.UNPROCESSABLE_ENTITY, "", _LISTS_OF_LISTS)
    if not any(isinstance(item, dict) for item in (*current, *patch)):
        merged = list(dict.fromkeys([*current, *patch]))
        return _in_order(merged, patch, current, lambda item: item)
    if not all(isinstance(item, dict) for item in (*current, *patch)):
        shown = gotext.plain([current, patch])
        raise _failed(f"list element types are not identical: {shown}")
    if not strategy.key:
        raise _failed("cannot merge lists without merge key")
    current, patch = _directed_items(current, patch, strategy.key)
    merged = _merge_items(list(current), patch, strategy)
    return _in_order(merged, patch, current, _by(strategy.key))


def _by(key: str) -> Callable[[Any], Any]:
    def identity(item: Any) -> Any:
        if not isinstance(item, dict):
            given = gotext.type_name(item)
            raise _failed(f"expected a map[string]interface {{}}, but received a {given}")
        if key not in item:
            raise _failed(f"map: {gotext.plain(item)} does not contain declared merge key: {key}")
        return item[key]

    return identity


def _directed_items(current: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carry out what items of the patch direct: delete one, or replace the whole list."""
    identity = _by(key)
    rest, replace = [], False
    for item in patch:
        directive = item.get(_PATCH) if isinstance(item, dict) else None
        if directive is None:
            rest.append(item)
        elif directive == _DELETE:
            gone = identity(item)
            current = [other for other in current if other.get(key) != gone]
        elif directive == _REPLACE:
            replace = True
        elif directive == _MERGE:
            raise _failed("merging lists cannot yet be specified in the patch")
        else:
            raise _failed(f"unknown patch type: {directive} in map: {gotext.plain(item)}")
    return (rest, []) if replace else (current, rest)


def _merge_items(merged: list[Any], patch: list[Any], strategy: _Strategy) -> list[Any]:
    identity = _by(strategy.key)
    for item in patch:
        wanted = identity(item)
        for index, other in enumerate(merged):
            if other.get(strategy.key) == wanted:
                merged[index] = _merge(other, item, strategy.schema)
                break
        else:
            merged.append(_cleaned(item))
    return merged


def _in_order(
    items: list[Any], wanted: list[Any], before: list[Any], identity: Callable[[Any], Any]
) -> list[Any]:
    """Items that the patch names take its order; all others stay where they were among them."""
    order = [identity(item) for item in wanted]
    was = [identity(item) for item in before]
    named = sorted(
        (item for item in items if identity(item) in order),
        key=lambda item: order.index(identity(item)),
    )
    others = [item for item in items if identity(item) not in order]
    result = []
    while named and others:
        other, name = identity(others[0]), identity(named[0])
        first = other in was and name in was and was.index(other) < was.index(name)
        result.append((others if first else named).pop(0))
    return result + named + others


def _merge_ordered(original: Object, patch: Object, directive: str, schema: Schema) -> None:
    """Merge the list that a $setElementOrder directive names, and put it in that order."""
    order = patch.pop(directive)
    key = directive.removeprefix(_ORDER)
    current, change = original.get(key), patch.get(key)
    for part in (order, current, change):
        if not isinstance(part, list | None):
            given = gotext.type_name(part)
            raise _failed(f"expected a []interface {{}}, but received a {given}")
    if current is None and change is None:
        return
    strategy = _strategy(schema, key)
    identity = _by(strategy.key) if strategy.key else lambda item: item
    _check_order(change or [], order, identity)
    before = list(current or [])
    if current is None:
        merged = _cleaned(change)
    else:
        merged = current if change is None else _merge_lists(current, change, strategy)
    original[key] = _in_order(merged, order, before, identity)
    patch.pop(key, None)


def _check_order(change: list[Any], order: list[Any], identity: Callable[[Any], Any]) -> None:
    """The patch may not contradict the order it asks for."""
    if not change or not order:
        return
    places = iter([identity(item) for item in order])
    for item in change:
        if isinstance(item, dict) and _PATCH in item:
            continue
        wanted = identity(item)
        if not any(place == wanted for place in places):
            raise _failed(
                f"The order in patch list:\n{gotext.plain(change)}\n doesn't match "
                f"$setElementOrder list:\n{gotext.plain(order)}\n"
            )
