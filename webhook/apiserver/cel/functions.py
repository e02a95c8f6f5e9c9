"""Operators and functions as Kubernetes' CEL environment defines them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from celpy import celtypes
from celpy.evaluation import CELEvalError

_NUMBERS: Final = (celtypes.IntType, celtypes.UintType, celtypes.DoubleType)
Function = Callable[..., Any]


def _equal(left: Any, right: Any) -> bool:
    """Compare any two values: numbers by value, lists and maps part by part, all else by type."""
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return float(left) == float(right) if _mixed(left, right) else int(left) == int(right)
    if isinstance(left, celtypes.ListType) and isinstance(right, celtypes.ListType):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, celtypes.TypeType) or isinstance(right, celtypes.TypeType):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _mixed(left: Any, right: Any) -> bool:
    return isinstance(left, celtypes.DoubleType) or isinstance(right, celtypes.DoubleType)


def _strict(function: Function) -> Function:
    """An operation on something that could not be computed cannot be computed."""

    def checked(*arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, CELEvalError):
                return argument
        return function(*arguments)

    checked.__name__ = function.__name__
    return checked


def _same(left: Any, right: Any) -> celtypes.BoolType:
    return celtypes.BoolType(_equal(left, right))


def _different(left: Any, right: Any) -> celtypes.BoolType:
    return celtypes.BoolType(not _equal(left, right))


def _within(value: Any, container: Any) -> celtypes.BoolType:
    if isinstance(container, Mapping | celtypes.ListType):
        return celtypes.BoolType(any(_equal(value, part) for part in container))
    raise TypeError("no such overload")


def _ordered(compare: Callable[[Any, Any], bool]) -> Function:
    def ordered(left: Any, right: Any) -> celtypes.BoolType:
        if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
            mixed = _mixed(left, right)
            pair = (float(left), float(right)) if mixed else (int(left), int(right))
            return celtypes.BoolType(compare(*pair))
        if type(left) is not type(right):
            raise TypeError("no such overload")
        return celtypes.BoolType(compare(left, right))

    return ordered


def _text(function: Callable[..., Any]) -> Function:
    """A method of strings, on strings only."""

    def method(subject: Any, *arguments: Any) -> Any:
        if not isinstance(subject, celtypes.StringType):
            raise TypeError("no such overload")
        return _celled(function(str(subject), *(_plain(one) for one in arguments)))

    method.__name__ = "method"
    return method


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, celtypes.IntType) else value


def _celled(value: Any) -> Any:
    if isinstance(value, bool):
        return celtypes.BoolType(value)
    if isinstance(value, int):
        return celtypes.IntType(value)
    if isinstance(value, list):
        return celtypes.ListType([_celled(part) for part in value])
    return celtypes.StringType(value)


def _replaced(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text[start:end]


def _joined(parts: Any, separator: Any = "") -> celtypes.StringType:
    return celtypes.StringType(str(separator).join(str(part) for part in parts))


def _index_of(subject: Any, wanted: Any, *start: Any) -> celtypes.IntType:
    if isinstance(subject, celtypes.StringType):
        return celtypes.IntType(str(subject).find(str(wanted), *(int(one) for one in start)))
    places = (place for place, part in enumerate(subject) if _equal(part, wanted))
    return celtypes.IntType(next(places, -1))


def _last_index_of(subject: Any, wanted: Any) -> celtypes.IntType:
    if isinstance(subject, celtypes.StringType):
        return celtypes.IntType(str(subject).rfind(str(wanted)))
    places = [place for place, part in enumerate(subject) if _equal(part, wanted)]
    return celtypes.IntType(places[-1] if places else -1)


def _is_sorted(parts: Any) -> celtypes.BoolType:
    return celtypes.BoolType(
        all(not parts[place] > parts[place + 1] for place in range(len(parts) - 1))
    )


def _sum(parts: Any) -> Any:
    total: Any = celtypes.IntType(0)
    for place, part in enumerate(parts):
        total = part if place == 0 else total + part
    return total


def _dyn(value: Any) -> Any:
    return value


_FUNCTIONS: Final[dict[str, Function]] = {
    "_==_": _same,
    "_!=_": _different,
    "_in_": _within,
    "_<_": _ordered(lambda left, right: left < right),
    "_<=_": _ordered(lambda left, right: left <= right),
    "_>_": _ordered(lambda left, right: left > right),
    "_>=_": _ordered(lambda left, right: left >= right),
    "dyn": _dyn,
    "lowerAscii": _text(str.lower),
    "upperAscii": _text(str.upper),
    "trim": _text(str.strip),
    "replace": _text(_replaced),
    "split": _text(lambda text, separator, count=-1: text.split(separator, count)),
    "substring": _text(_substring),
    "charAt": _text(lambda text, place: _substring(text, place, min(place + 1, len(text)))),
    "join": _joined,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": lambda parts: min(parts),
    "max": lambda parts: max(parts),
}

FUNCTIONS: Final = {name: _strict(function) for name, function in _FUNCTIONS.items()}
