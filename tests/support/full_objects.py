"""Objects with a value in every field that a kind has, and ways to make one field large."""

import copy
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect

from webhook.api.kinds import Kind

_SCALARS: Final[dict[type[inspect.Type], Any]] = {
    inspect.StrType: "a",
    inspect.IntType: 1,
    inspect.BoolType: True,
}


def make_full(kind: Kind) -> dict[str, Any]:
    """Return an object of a kind with a value in every field, which need not be a valid one."""
    found: dict[str, Any] = _value(inspect.type_info(kind.model))
    found["apiVersion"], found["kind"] = kind.api_version, kind.name
    found["metadata"] |= {"name": "one", "namespace": "garden-dev", "deletionTimestamp": None}
    return found


def _value(info: inspect.Type) -> Any:
    match info:
        case inspect.Metadata():  # a description
            return _value(info.type)
        case inspect.StructType():
            return {field.encode_name: _value(field.type) for field in info.fields}
        case inspect.UnionType():
            kept = [each for each in info.types if not isinstance(each, inspect.NoneType)]
            return _value(kept[-1])
        case inspect.VarTupleType():
            return [_value(info.item_type)]
        case inspect.DictType():
            return {"a": _value(info.value_type)}
        case _:
            return _SCALARS.get(type(info), {})


class LargeObject(NamedTuple):
    """An object of which one field is large."""

    field: str
    obj: dict[str, Any]


def enlarge(obj: dict[str, Any], size: int) -> Iterator[LargeObject]:
    """Yield the object once for each field and shape, with that field of about so many bytes."""
    for path, value in walk(obj):
        if path[0] not in ("apiVersion", "kind") and path[-1] not in ("name", "namespace"):
            for shape, large in _large_values(value, size):
                changed = copy.deepcopy(obj)
                holder = changed
                for key in path[:-1]:
                    holder = holder[key]
                holder[path[-1]] = large
                yield LargeObject(f"{'.'.join(map(str, path))}: {shape}", changed)


def walk(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every value inside of one, with the keys and indexes that lead to it."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from walk(inner, (*path, index))


def _large_values(value: Any, size: int) -> Iterator[tuple[str, Any]]:
    match value:
        case [item, *_]:
            number = size // (len(msgspec.json.encode(item)) + 8)
            yield "the same many times", [item] * number
            yield "many", [_renamed(item, index) for index in range(number)]
        case dict() if value and all(isinstance(each, str) for each in value.values()):
            yield "many keys", {f"k{index}": "v" for index in range(size // 14)}
        case str():
            yield "digits", "9" * size
            yield "a list", "1," * (size // 2)
            yield "parts", "1m" * (size // 2)
        case _:
            return


def _renamed(item: Any, index: int) -> Any:
    if isinstance(item, str):
        return f"{item}{index}"
    if isinstance(item, dict):
        return {
            key: f"{inner}{index}" if isinstance(inner, str) else inner
            for key, inner in item.items()
        }
    return item
