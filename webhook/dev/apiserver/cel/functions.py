"""Operators and functions with the semantics of Kubernetes' CEL environment."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from celpy import celtypes
from celpy.evaluation import CELEvalError

_NUMBERS: Final = (celtypes.IntType, celtypes.UintType, celtypes.DoubleType)
Function: TypeAlias = Callable[..., Any]
"""The implementation of an operator, a function or a method."""


def _equal(left: Any, right: Any) -> bool:
    """Compare two values: numbers by value, lists and maps by element, others within a type."""
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return float(left) == float(right) if _has_double(left, right) else int(left) == int(right)
    if isinstance(left, celtypes.ListType) and isinstance(right, celtypes.ListType):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, celtypes.TypeType) or isinstance(right, celtypes.TypeType):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _has_double(left: Any, right: Any) -> bool:
    return isinstance(left, celtypes.DoubleType) or isinstance(right, celtypes.DoubleType)


def _strict(function: Function) -> Function:
    """Make a function return the first argument that is an error."""

    def checked(*arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, CELEvalError):
                return argument
        return function(*arguments)

    checked.__name__ = function.__name__
    return checked


def _equals(left: Any, right: Any) -> celtypes.BoolType:
    return celtypes.BoolType(_equal(left, right))


def _not_equals(left: Any, right: Any) -> celtypes.BoolType:
    return celtypes.BoolType(not _equal(left, right))


def _contains(value: Any, container: Any) -> celtypes.BoolType:
    if isinstance(container, Mapping | celtypes.ListType):
        return celtypes.BoolType(any(_equal(value, part) for part in container))
    raise TypeError("no such overload")


def _comparison(compare: Callable[[Any, Any], bool]) -> Function:
    """Make an operator that orders numbers, or two values of one type."""

    def operator(left: Any, right: Any) -> celtypes.BoolType:
        if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
            mixed = _has_double(left, right)
            pair = (float(left), float(right)) if mixed else (int(left), int(right))
            return celtypes.BoolType(compare(*pair))
        if type(left) is not type(right):
            raise TypeError("no such overload")
        return celtypes.BoolType(compare(left, right))

    return operator


def _string_method(function: Callable[..., Any]) -> Function:
    """Make a method of strings, which rejects other subjects."""

    def method(subject: Any, *arguments: Any) -> Any:
        if not isinstance(subject, celtypes.StringType):
            raise TypeError("no such overload")
        return _to_cel(function(str(subject), *map(_from_cel, arguments)))

    method.__name__ = "method"
    return method


def _from_cel(value: Any) -> Any:
    return int(value) if isinstance(value, celtypes.IntType) else value


def _to_cel(value: Any) -> Any:
    if isinstance(value, bool):
        return celtypes.BoolType(value)
    if isinstance(value, int):
        return celtypes.IntType(value)
    if isinstance(value, list):
        return celtypes.ListType([_to_cel(part) for part in value])
    return celtypes.StringType(value)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text[start:end]


def _join(parts: Any, separator: Any = "") -> celtypes.StringType:
    return celtypes.StringType(str(separator).join(str(part) for part in parts))


def _index_of(subject: Any, wanted: Any, *start: Any) -> celtypes.IntType:
    if isinstance(subject, celtypes.StringType):
        return celtypes.IntType(str(subject).find(str(wanted), *map(int, start)))
    positions = (position for position, part in enumerate(subject) if _equal(part, wanted))
    return celtypes.IntType(next(positions, -1))


def _last_index_of(subject: Any, wanted: Any) -> celtypes.IntType:
    if isinstance(subject, celtypes.StringType):
        return celtypes.IntType(str(subject).rfind(str(wanted)))
    positions = [position for position, part in enumerate(subject) if _equal(part, wanted)]
    return celtypes.IntType(positions[-1] if positions else -1)


def _is_sorted(parts: Any) -> celtypes.BoolType:
    return celtypes.BoolType(
        all(not parts[position] > parts[position + 1] for position in range(len(parts) - 1))
    )


def _sum(parts: Any) -> Any:
    total: Any = celtypes.IntType(0)
    for position, part in enumerate(parts):
        total = part if position == 0 else total + part
    return total


def _dyn(value: Any) -> Any:
    return value


_FUNCTIONS: Final[dict[str, Function]] = {
    "_==_": _equals,
    "_!=_": _not_equals,
    "_in_": _contains,
    "_<_": _comparison(lambda left, right: left < right),
    "_<=_": _comparison(lambda left, right: left <= right),
    "_>_": _comparison(lambda left, right: left > right),
    "_>=_": _comparison(lambda left, right: left >= right),
    "dyn": _dyn,
    "lowerAscii": _string_method(str.lower),
    "upperAscii": _string_method(str.upper),
    "trim": _string_method(str.strip),
    "replace": _string_method(_replace),
    "split": _string_method(lambda text, separator, count=-1: text.split(separator, count)),
    "substring": _string_method(_substring),
    "charAt": _string_method(
        lambda text, position: _substring(text, position, min(position + 1, len(text)))
    ),
    "join": _join,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": lambda parts: min(parts),
    "max": lambda parts: max(parts),
}

FUNCTIONS: Final = {name: _strict(function) for name, function in _FUNCTIONS.items()}
"""The operators, functions and methods of all expressions, by their names in CEL."""
