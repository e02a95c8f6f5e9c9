"""Strategic merge patch: a merge patch that merges lists by key."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.kube import gotext, status
from webhook.kube.meta import Draft

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
    """The merge strategy and merge key of a field, and the schema of its value."""

    name: str
    key: str
    schema: Schema


def apply(original: Draft, patch: Draft, schema: Schema) -> Draft:
    """Return the patched object; both arguments are modified.

    Raises StatusError for an invalid patch.
    """
    if _PATCH in patch:
        return _apply_directive(patch)
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


def _error(message: str) -> status.StatusError:
    return status.failure(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)


def _apply_directive(patch: Draft) -> Draft:
    directive = patch[_PATCH]
    if directive == _REPLACE:
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive == _DELETE:
        return {}
    raise _error(f"unknown patch type: {directive} in map: {gotext.plain(patch)}")


def _retain_keys(original: Draft, patch: Draft) -> None:
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


def _delete_from(original: Draft, key: str, deleted: Any) -> None:
    if isinstance(deleted, list) and isinstance(original.get(key), list):
        original[key] = [item for item in original[key] if item not in deleted]


def _merge_field(original: Draft, key: str, value: Any, schema: Schema) -> None:
    current = original.get(key)
    strategy = _strategy(schema, key)
    if isinstance(current, dict) and isinstance(value, dict):
        merged = value if strategy.name == _REPLACE else apply(current, value, strategy.schema)
        original[key] = merged
    elif isinstance(current, list) and isinstance(value, list):
        original[key] = _merge_lists(current, value, strategy)
    else:
        clean = _without_directives(value)
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


def _without_directives(value: Any) -> Any:
    """Copy an added value without nulls and directives."""
    if isinstance(value, dict):
        if _PATCH in value:
            return _DIRECTIVE
        pairs = (
            (key, _without_directives(part)) for key, part in value.items() if part is not None
        )
        return {
            key: part
            for key, part in pairs
            if part is not _DIRECTIVE and not key.startswith((_ORDER, _DELETE_FROM, _RETAIN_KEYS))
        }
    if isinstance(value, list):
        return [part for part in map(_without_directives, value) if part is not _DIRECTIVE]
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
        return _ordered(merged, patch, current, lambda item: item)
    if not all(isinstance(item, dict) for item in (*current, *patch)):
        shown = gotext.plain([current, patch])
        raise _error(f"list element types are not identical: {shown}")
    if not strategy.key:
        raise _error("cannot merge lists without merge key")
    current, patch = _apply_item_directives(current, patch, strategy.key)
    merged = _merge_items(list(current), patch, strategy)
    return _ordered(merged, patch, current, _merge_key(strategy.key))


def _merge_key(key: str) -> Callable[[Any], Any]:
    def identity(item: Any) -> Any:
        if not isinstance(item, dict):
            given = gotext.type_name(item)
            raise _error(f"expected a map[string]interface {{}}, but received a {given}")
        if key not in item:
            raise _error(f"map: {gotext.plain(item)} does not contain declared merge key: {key}")
        return item[key]

    return identity


def _apply_item_directives(
    current: list[Any], patch: list[Any], key: str
) -> tuple[list[Any], list[Any]]:
    """Apply the directives of list items: delete one, or replace the whole list."""
    identity = _merge_key(key)
    rest, replace = [], False
    for item in patch:
        directive = item.get(_PATCH) if isinstance(item, dict) else None
        if directive is None:
            rest.append(item)
        elif directive == _DELETE:
            deleted = identity(item)
            current = [other for other in current if other.get(key) != deleted]
        elif directive == _REPLACE:
            replace = True
        elif directive == _MERGE:
            raise _error("merging lists cannot yet be specified in the patch")
        else:
            raise _error(f"unknown patch type: {directive} in map: {gotext.plain(item)}")
    return (rest, []) if replace else (current, rest)


def _merge_items(merged: list[Any], patch: list[Any], strategy: _Strategy) -> list[Any]:
    identity = _merge_key(strategy.key)
    for item in patch:
        wanted = identity(item)
        for index, other in enumerate(merged):
            if other.get(strategy.key) == wanted:
                merged[index] = apply(other, item, strategy.schema)
                break
        else:
            merged.append(_without_directives(item))
    return merged


def _ordered(
    items: list[Any], wanted: list[Any], before: list[Any], identity: Callable[[Any], Any]
) -> list[Any]:
    """Order the items of the patch as the patch does; other items keep their position."""
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


def _merge_ordered(original: Draft, patch: Draft, directive: str, schema: Schema) -> None:
    """Merge the list of a $setElementOrder directive and sort it by the directive."""
    order = patch.pop(directive)
    key = directive.removeprefix(_ORDER)
    current, change = original.get(key), patch.get(key)
    for part in (order, current, change):
        if not isinstance(part, list | None):
            given = gotext.type_name(part)
            raise _error(f"expected a []interface {{}}, but received a {given}")
    if current is None and change is None:
        return
    strategy = _strategy(schema, key)
    identity = _merge_key(strategy.key) if strategy.key else lambda item: item
    _check_order(change or [], order, identity)
    before = list(current or [])
    if current is None:
        merged = _without_directives(change)
    else:
        merged = current if change is None else _merge_lists(current, change, strategy)
    original[key] = _ordered(merged, order, before, identity)
    patch.pop(key, None)


def _check_order(change: list[Any], order: list[Any], identity: Callable[[Any], Any]) -> None:
    """Raise an error if the patch contradicts its $setElementOrder directive."""
    if not change or not order:
        return
    places = iter([identity(item) for item in order])
    for item in change:
        if isinstance(item, dict) and _PATCH in item:
            continue
        wanted = identity(item)
        if not any(place == wanted for place in places):
            raise _error(
                f"The order in patch list:\n{gotext.plain(change)}\n doesn't match "
                f"$setElementOrder list:\n{gotext.plain(order)}\n"
            )
