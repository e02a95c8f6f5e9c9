"""Cells that many kinds share."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from webhook.apiserver import durations

Object = dict[str, Any]
Cell = Callable[[Object, datetime], Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"


class Heading(NamedTuple):
    """A column: how it is called, what it holds, and whether only wide output shows it."""

    name: str
    cell: Cell
    type: str = "string"
    wide: bool = False
    format: str = ""


def name(obj: Object, now: datetime) -> str:
    """The object's name."""
    del now
    return str(obj["metadata"].get("name", ""))


def age(obj: Object, now: datetime) -> str:
    """How long ago the object was created."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def since(timestamp: str | None, now: datetime) -> str:
    """How long ago something happened."""
    return durations.age(timestamp, now) if timestamp else UNKNOWN


def created(obj: Object, now: datetime) -> Any:
    """When the object was created."""
    del now
    return obj["metadata"].get("creationTimestamp")


def field(*path: str, default: Any = "") -> Cell:
    """A field as it is."""

    def cell(obj: Object, now: datetime) -> Any:
        del now
        return find(obj, *path, default=default)

    return cell


def count(*path: str) -> Cell:
    """How many entries a list or a map has."""

    def cell(obj: Object, now: datetime) -> int:
        del now
        return len(find(obj, *path, default=()))

    return cell


def find(obj: Mapping[str, Any], *path: str, default: Any = None) -> Any:
    """Walk to a field; the default stands for what is absent or null on the way."""
    value: Any = obj
    for step in path:
        if not isinstance(value, Mapping) or value.get(step) is None:
            return default
        value = value[step]
    return value


def labels(found: Mapping[str, str] | None) -> str:
    """Write labels as `key=value` pairs."""
    pairs = sorted((found or {}).items())
    return ",".join(f"{key}={value}" for key, value in pairs) or NONE


def selector(found: Mapping[str, Any] | None) -> str:
    """Write a label selector as people do."""
    terms = [
        f"{key}={value}"
        for key, value in sorted(find(found or {}, "matchLabels", default={}).items())
    ]
    for expression in find(found or {}, "matchExpressions", default=()):
        key, operator = expression["key"], expression["operator"]
        values = ",".join(sorted(expression.get("values") or ()))
        shown = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        terms.append(shown.get(operator, f"!{key}"))
    return ",".join(terms) or NONE


def joined(values: Iterable[Any]) -> str:
    """Join with commas."""
    return ",".join(str(value) for value in values)


NAME: Final = Heading("Name", name, format="name")
AGE: Final = Heading("Age", age)
CREATED: Final = Heading("Created At", created, type="date")
