"""The schemas of the built-in kinds, as OpenAPI components and with references resolved."""

from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson

_FILE: Final = Path(__file__).with_name("schemas.json")
REFERENCE: Final = "#/components/schemas/"
"""The prefix of references to components."""

_REFERENCE_KEYS: Final = ("$ref", "allOf", "description")

Schema: TypeAlias = dict[str, Any]
"""An OpenAPI schema as JSON."""


@cache
def components() -> dict[str, Schema]:
    """Return every schema by its component name, with references."""
    loaded: dict[str, Schema] = orjson.loads(_FILE.read_bytes())
    return loaded


@cache
def expand(component: str) -> Schema:
    """Return a schema with its references resolved; the title of each type is its Go name.

    The result shares parts between kinds and is cyclic where a type contains itself
    (JSONSchemaProps). So walk it along a value, and never change or print it.
    """
    return _expand({"$ref": REFERENCE + component}, {})


def _expand(schema: Schema, known: dict[str, Schema]) -> Schema:
    reference = schema.get("$ref") or next(
        (part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None
    )
    if reference is not None:
        # Keys next to a reference apply to this field only.
        own = {key: value for key, value in schema.items() if key not in _REFERENCE_KEYS}
        target = _resolve(reference.removeprefix(REFERENCE), known)
        return {**target, **own} if own else target
    result = {key: value for key, value in schema.items() if key != "description"}
    if "properties" in schema:
        properties = schema["properties"]
        result["properties"] = {key: _expand(value, known) for key, value in properties.items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            result[inner] = _expand(schema[inner], known)
    return result


def _resolve(name: str, known: dict[str, Schema]) -> Schema:
    if name not in known:
        # The entry exists before its content, so that a type that contains itself finds it.
        known[name] = {"title": name.removeprefix("io.k8s.").partition(".")[2]}
        known[name].update(_expand(components()[name], known))
    return known[name]
