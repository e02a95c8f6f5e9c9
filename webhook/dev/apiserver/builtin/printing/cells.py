"""Columns, and cells that many kinds share."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from webhook.dev.apiserver import durations
from webhook.kube.meta import Raw

Cell: TypeAlias = Callable[[Raw, datetime], Any]
"""Prints the cell of an object at a time."""

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"


class PrinterColumn(NamedTuple):
    """A column: its name, the function that prints its cells, and whether only `-o wide` has it."""

    name: str
    cell: Cell
    type: str = "string"
    wide: bool = False
    format: str = ""


def cell(print_cell: Callable[[Raw], Any]) -> Cell:
    """Make a cell of a function that does not depend on the time."""

    def print_at(obj: Raw, now: datetime) -> Any:
        del now
        return print_cell(obj)

    return print_at


@cell
def name(obj: Raw) -> str:
    """Return the object's name."""
    return str(obj["metadata"].get("name", ""))


def age(obj: Raw, now: datetime) -> str:
    """Return the time since the object was created."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def since(timestamp: str | None, now: datetime) -> str:
    """Return the time since a timestamp."""
    return durations.age(timestamp, now) if timestamp else UNKNOWN


@cell
def created(obj: Raw) -> Any:
    """Return the time at which the object was created."""
    return obj["metadata"].get("creationTimestamp")


def field(*path: str, default: Any = "") -> Cell:
    """Return a cell that prints a field."""

    @cell
    def print_cell(obj: Raw) -> Any:
        return find(obj, *path, default=default)

    return print_cell


def count(*path: str) -> Cell:
    """Return a cell that prints the number of entries in a list or a map."""

    @cell
    def print_cell(obj: Raw) -> int:
        return len(find(obj, *path, default=()))

    return print_cell


def find(obj: Raw, *path: str, default: Any = None) -> Any:
    """Return the field at a path, or the default if a step of the path is absent or null."""
    value: Any = obj
    for step in path:
        if not isinstance(value, Mapping) or value.get(step) is None:
            return default
        value = value[step]
    return value


def format_labels(labels: Mapping[str, str] | None) -> str:
    """Format labels as `key=value` pairs."""
    pairs = sorted((labels or {}).items())
    return ",".join(f"{key}={value}" for key, value in pairs) or NONE


def format_selector(selector: Raw | None) -> str:
    """Format a label selector in the syntax of `kubectl get -l`."""
    terms = [
        f"{key}={value}"
        for key, value in sorted(find(selector or {}, "matchLabels", default={}).items())
    ]
    for expression in find(selector or {}, "matchExpressions", default=()):
        key, operator = expression["key"], expression["operator"]
        values = ",".join(sorted(expression.get("values") or ()))
        formats = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        terms.append(formats.get(operator, f"!{key}"))
    return ",".join(terms) or NONE


def join(values: Iterable[Any]) -> str:
    """Join values with commas."""
    return ",".join(str(value) for value in values)


NAME: Final = PrinterColumn("Name", name, format="name")
AGE: Final = PrinterColumn("Age", age)
CREATED: Final = PrinterColumn("Created At", created, type="date")
