"""JSON patches (RFC 6902) and merge patches (RFC 7386): make them, apply them."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from webhook.api.meta import Draft, Raw

Operation: TypeAlias = dict[str, Any]


class PatchError(ValueError):
    """A patch that does not fit the document it is applied to."""


def escape(token: str) -> str:
    """Write a key as one step of a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def pointer(*tokens: str | int) -> str:
    """Join keys and indexes to a JSON pointer."""
    return "".join(f"/{escape(str(token))}" for token in tokens)


def diff(raw: Raw, draft: Raw) -> list[Operation]:
    """List the operations that turn `raw` into `draft`; what is equal is not touched."""
    operations: list[Operation] = []
    _diff_value(raw, draft, "", operations)
    return operations


def apply(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """Return the document after all operations; the given one is left as it is."""
    result = copy.deepcopy(document)
    for operation in operations:
        result = _apply_one(result, operation)
    return result


def merge(document: Any, patch: Any) -> Any:
    """Return the document after a merge patch; the given one is left as it is."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result: Draft = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def merge_diff(old: Raw, new: Raw) -> Draft:
    """Return the smallest merge patch that turns `old` into `new`.

    A merge patch cannot set null, so a null in `new` counts as absent.
    """
    patch: Draft = {key: None for key in old if new.get(key) is None and old[key] is not None}
    for key, value in new.items():
        if value is None:
            continue
        before = old.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if inner := merge_diff(before, value):
                patch[key] = inner
        elif not _same(before, value):
            patch[key] = _without_nulls(value)
    return patch


def _without_nulls(value: Any) -> Any:
    """Drop null members, which a merge patch would read as "remove"."""
    if not isinstance(value, Mapping):
        return value
    return {key: _without_nulls(each) for key, each in value.items() if each is not None}


def _same(left: Any, right: Any) -> bool:
    """Compare as JSON does: Python alone would take 1 for true."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _diff_value(old: Any, new: Any, path: str, operations: list[Operation]) -> None:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        _diff_object(old, new, path, operations)
    elif isinstance(old, list) and isinstance(new, list):
        _diff_list(old, new, path, operations)
    elif not _same(old, new):
        operations.append({"op": "replace", "path": path, "value": new})


def _diff_object(old: Raw, new: Raw, path: str, operations: list[Operation]) -> None:
    for key, value in old.items():
        if key in new:
            _diff_value(value, new[key], f"{path}/{escape(key)}", operations)
        else:
            operations.append({"op": "remove", "path": f"{path}/{escape(key)}"})
    operations.extend(
        {"op": "add", "path": f"{path}/{escape(key)}", "value": value}
        for key, value in new.items()
        if key not in old
    )


def _diff_list(
    old: Sequence[Any], new: Sequence[Any], path: str, operations: list[Operation]
) -> None:
    """Leave what is equal at both ends alone; change the middle from left to right.

    Every index is the one at the moment its operation runs, which is what RFC 6902 asks for.
    """
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and _same(old[start], new[start]):
        start += 1
    end = 0
    while end < shorter - start and _same(old[-1 - end], new[-1 - end]):
        end += 1
    old_end, new_end = len(old) - end, len(new) - end
    both = min(old_end, new_end)
    for index in range(start, both):
        _diff_value(old[index], new[index], f"{path}/{index}", operations)
    operations.extend(
        {"op": "remove", "path": f"{path}/{index}"} for index in reversed(range(both, old_end))
    )
    operations.extend(
        {"op": "add", "path": f"{path}/{index}", "value": new[index]}
        for index in range(both, new_end)
    )


def _apply_one(document: Any, operation: Mapping[str, Any]) -> Any:
    name, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str):
        raise PatchError("an operation needs a path")
    match name:
        case "add":
            return _add(document, path, copy.deepcopy(_value_of(operation)))
        case "remove":
            return _remove(document, path)
        case "replace":
            find(document, path)
            return _put(document, path, copy.deepcopy(_value_of(operation)))
        case "test":
            if not _same(find(document, path), _value_of(operation)):
                raise PatchError(f"the value at {path!r} is not the one tested for")
            return document
        case "copy":
            return _add(document, path, copy.deepcopy(find(document, _from_of(operation))))
        case "move":
            return _move(document, _from_of(operation), path)
        case _:
            raise PatchError(f"unknown operation {name!r}")


def find(document: Any, path: str) -> Any:
    """Return the value that a JSON pointer leads to."""
    value = document
    for token in _tokens(path):
        value = _step(value, token, path)
    return value


def _move(document: Any, source: str, path: str) -> Any:
    if path.startswith(f"{source}/"):
        raise PatchError(f"{source!r} cannot be moved into itself")
    value = find(document, source)
    return document if source == path else _add(_remove(document, source), path, value)


def _value_of(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchError(f"operation {operation.get('op')!r} needs a value")
    return operation["value"]


def _from_of(operation: Mapping[str, Any]) -> str:
    source = operation.get("from")
    if not isinstance(source, str):
        raise PatchError(f"operation {operation.get('op')!r} needs a from")
    return source


def _tokens(path: str) -> list[str]:
    if path == "":
        return []
    if not path.startswith("/"):
        raise PatchError(f"{path!r} is no JSON pointer, it must begin with a slash")
    return [token.replace("~1", "/").replace("~0", "~") for token in path[1:].split("/")]


def _index(token: str, limit: int, path: str) -> int:
    if not token.isascii() or not token.isdigit() or (len(token) > 1 and token[0] == "0"):
        raise PatchError(f"{token!r} in {path!r} is no index of a list")
    if len(token) > 10 or int(token) >= limit:
        raise PatchError(f"index {token} in {path!r} is beyond the end of the list")
    return int(token)


def _step(value: Any, token: str, path: str) -> Any:
    if isinstance(value, list):
        return value[_index(token, len(value), path)]
    if isinstance(value, dict):
        if token not in value:
            raise PatchError(f"there is nothing at {path!r}")
        return value[token]
    raise PatchError(f"{path!r} leads through a plain value")


def _parent(document: Any, path: str) -> tuple[Any, str]:
    *parents, last = _tokens(path)
    value = document
    for token in parents:
        value = _step(value, token, path)
    if not isinstance(value, list | dict):
        raise PatchError(f"{path!r} leads through a plain value")
    return value, last


def _put(document: Any, path: str, value: Any) -> Any:
    if path == "":
        return value
    parent, last = _parent(document, path)
    if isinstance(parent, list):
        parent[_index(last, len(parent), path)] = value
    else:
        parent[last] = value
    return document


def _add(document: Any, path: str, value: Any) -> Any:
    if path == "":
        return value
    parent, last = _parent(document, path)
    if isinstance(parent, list):
        index = len(parent) if last == "-" else _index(last, len(parent) + 1, path)
        parent.insert(index, value)
    else:
        parent[last] = value
    return document


def _remove(document: Any, path: str) -> Any:
    find(document, path)
    if path == "":
        return None
    parent, last = _parent(document, path)
    del parent[int(last) if isinstance(parent, list) else last]
    return document
