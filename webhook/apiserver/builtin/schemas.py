"""The schemas of the built-in kinds: as OpenAPI components, and expanded for walking values."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

_FILE: Final = Path(__file__).with_name("schemas.json")
_REFERENCE: Final = "#/components/schemas/"

_NOT_OWN: Final = ("$ref", "allOf", "description")

Schema = dict[str, Any]


@cache
def components() -> dict[str, Schema]:
    """Every schema by its component name, with references, as OpenAPI documents carry them."""
    loaded: dict[str, Schema] = orjson.loads(_FILE.read_bytes())
    return loaded


@cache
def expanded(component: str) -> Schema:
    """A schema with its references followed; the title of each type is its Go name.

    The result shares parts between kinds and is cyclic where a type contains itself
    (JSONSchemaProps), so it must be walked beside a value and never be changed or printed.
    """
    return _expand({"$ref": _REFERENCE + component}, {})


def _expand(schema: Schema, known: dict[str, Schema]) -> Schema:
    reference = schema.get("$ref") or next(
        (part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None
    )
    if reference is not None:
        # The prose is for readers; all else that stands beside a reference is about this field.
        own = {key: value for key, value in schema.items() if key not in _NOT_OWN}
        target = _referenced(reference.removeprefix(_REFERENCE), known)
        return {**target, **own} if own else target
    result = {key: value for key, value in schema.items() if key != "description"}
    if "properties" in schema:
        properties = schema["properties"]
        result["properties"] = {key: _expand(value, known) for key, value in properties.items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            result[inner] = _expand(schema[inner], known)
    return result


def _referenced(name: str, known: dict[str, Schema]) -> Schema:
    if name not in known:
        # Entered before it is filled, so that a type which contains itself meets itself here.
        known[name] = {"title": name.removeprefix("io.k8s.").partition(".")[2]}
        known[name].update(_expand(components()[name], known))
    return known[name]
