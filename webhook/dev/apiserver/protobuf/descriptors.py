"""Descriptors of the protobuf types of built-in kinds: numbers, names and types of fields."""

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import orjson

SCHEMA: Final = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps"
_FILE: Final = Path(__file__).with_name("descriptors.json")


class FieldDescriptor(NamedTuple):
    """A field of a type."""

    name: str
    kind: str
    type: str
    """The type of a field whose kind is `message`."""
    container: str
    """Empty, or one of list, map, extra (a map of lists) and inline."""
    keep: bool
    """Whether a zero is kept: the field is a pointer in Go, or is always written in JSON."""


class Descriptors(NamedTuple):
    """The type of each kind, by `apiVersion/kind`, and the fields of each type, by number."""

    kinds: dict[str, str]
    types: dict[str, dict[int, FieldDescriptor]]


@cache
def load_descriptors() -> Descriptors:
    """Load the descriptors once."""
    loaded = orjson.loads(_FILE.read_bytes())
    types = {
        name: {row[0]: FieldDescriptor(*row[1:]) for row in rows}
        for name, rows in loaded["types"].items()
    }
    return Descriptors(loaded["kinds"], types)
