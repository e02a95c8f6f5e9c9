"""The types of the built-in kinds as Go declares them: names, numbers, kinds of their fields."""

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import orjson

SCHEMA: Final = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps"
_FILE: Final = Path(__file__).with_name("fields.json")


class Field(NamedTuple):
    """One field of a type."""

    name: str
    kind: str
    type: str
    """The type of a message."""
    container: str
    """Empty, or list, map, extra (a map of lists), inline."""
    keep: bool
    """Whether a zero means something: a pointer in Go, or always written in JSON."""


class Table(NamedTuple):
    """Types by name, each with its fields by number; kinds by `apiVersion/kind`."""

    kinds: dict[str, str]
    types: dict[str, dict[int, Field]]


@cache
def table() -> Table:
    """Read the table once."""
    loaded = orjson.loads(_FILE.read_bytes())
    types = {
        name: {row[0]: Field(*row[1:]) for row in rows} for name, rows in loaded["types"].items()
    }
    return Table(loaded["kinds"], types)
