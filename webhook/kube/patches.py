"""JSON patches (RFC 6902) and merge patches (RFC 7386): compute them, apply them.

JSON patches are applied by the library `jsonpatch`. `diff` is our own, because admission computes
one for every review: it walks both documents once and leaves equal list entries alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from jsonpatch import JsonPatch, JsonPatchException
from jsonpointer import JsonPointerException

from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Draft, Raw

PatchOperation: TypeAlias = dict[str, Any]


class PatchError(ValueError):
    """A patch that is malformed or does not fit the document."""


def escape(token: str) -> str:
    """Escape a key for a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def pointer(*tokens: str | int) -> str:
    """Build a JSON pointer from keys and indexes."""
    return "".join(f"/{escape(str(token))}" for token in tokens)


def diff(raw: Raw, draft: Raw) -> list[PatchOperation]:
    """Return the operations that turn `raw` into `draft`; equal parts are not touched."""
    operations: list[PatchOperation] = []
    _diff_value(raw, draft, "", operations)
    return operations


def apply(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """Return a copy of the document after all operations; raises PatchError."""
    try:
        return JsonPatch([*operations]).apply(document)
    except (JsonPatchException, JsonPointerException) as error:
        raise PatchError(str(error)) from error


def merge(document: Any, patch: Any) -> Any:
    """Return a copy of the document after a merge patch."""
    if not isinstance(patch, Mapping):
        return deep_copy(patch)
    result: Draft = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def merge_diff(old: Raw, new: Raw) -> Draft:
    """Return the smallest merge patch that turns `old` into `new`.

    A merge patch cannot set a field to null, so a null in `new` counts as absent.
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
    """Drop null members, which in a merge patch mean "remove"."""
    if not isinstance(value, Mapping):
        return value
    return {key: _without_nulls(each) for key, each in value.items() if each is not None}


def _same(left: Any, right: Any) -> bool:
    """Compare JSON values; unlike `==`, 1 is not true."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _equal(left: Any, right: Any) -> bool:
    """Compare like `_same`, in C: a document of megabytes has millions of values.

    Values that are equal to `==` and have the same JSON are the same, whatever their types. The
    order of keys may differ; then the values are compared one by one.
    """
    return bool(left == right) and (
        msgspec.json.encode(left) == msgspec.json.encode(right) or _same(left, right)
    )


def _diff_value(old: Any, new: Any, path: str, operations: list[PatchOperation]) -> None:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        # The document itself and its sections are rarely equal, so they are compared by member.
        if path.count("/") < 2 or not _equal(old, new):
            _diff_object(old, new, path, operations)
    elif isinstance(old, list) and isinstance(new, list):
        if not _equal(old, new):
            _diff_list(old, new, path, operations)
    elif not _same(old, new):
        operations.append({"op": "replace", "path": path, "value": new})


def _diff_object(old: Raw, new: Raw, path: str, operations: list[PatchOperation]) -> None:
    for key, value in old.items():
        if key not in new:
            operations.append({"op": "remove", "path": f"{path}/{escape(key)}"})
            continue
        other = new[key]
        if type(value) is not str or type(other) is not str or value != other:
            _diff_value(value, other, f"{path}/{escape(key)}", operations)
    operations.extend(
        {"op": "add", "path": f"{path}/{escape(key)}", "value": value}
        for key, value in new.items()
        if key not in old
    )


def _diff_list(
    old: Sequence[Any], new: Sequence[Any], path: str, operations: list[PatchOperation]
) -> None:
    """Keep equal entries at both ends and change the middle, from left to right.

    Each index is valid at the moment its operation runs, as RFC 6902 requires.
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
