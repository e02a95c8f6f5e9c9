"""How a structural schema divides a value into fields that can have owners."""

from functools import cache
from typing import Any, Final, NamedTuple

from webhook.dev.apiserver.builtin import schemas
from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.dev.apiserver.fieldownership import fieldsets

DEDUCED: Final[Schema] = {"x-kubernetes-preserve-unknown-fields": True}
"""The schema of fields that no schema declares: objects are granular, lists are atomic."""
_EMPTY: Final[Schema] = {}


class Fields(NamedTuple):
    """The declared fields of an object and the schema of others, None if others are not allowed."""

    known: dict[str, Schema]
    other: Schema | None

    def of(self, name: str) -> Schema | None:
        """Return the schema of a field."""
        return self.known.get(name, self.other)


class BadItemError(ValueError):
    """A list item without a valid key."""


def is_atomic_map(schema: Schema) -> bool:
    """Whether an object is owned as a whole."""
    return bool(schema.get("x-kubernetes-map-type") == "atomic")


def is_atomic_list(schema: Schema) -> bool:
    """Whether a list is owned as a whole."""
    return bool(schema.get("x-kubernetes-list-type", "atomic") == "atomic")


def fields(schema: Schema) -> Fields:
    """Return the fields that a schema allows in an object."""
    known = schema.get("properties", _EMPTY)
    if schema.get("x-kubernetes-embedded-resource"):
        known = {**known, **_object_fields()}
    other = schema.get("additionalProperties")
    if other is True or (
        other is None and (not known or schema.get("x-kubernetes-preserve-unknown-fields"))
    ):
        other = DEDUCED
    return Fields(known, other or None)


def items(schema: Schema) -> Schema:
    """Return the schema of the items of a list."""
    found: Schema = schema.get("items", DEDUCED)
    return found


def path_element(schema: Schema, value: Any) -> str:
    """Return the path element that identifies an item of a list of type map or set."""
    keys = schema.get("x-kubernetes-list-map-keys")
    return _map_element(schema, keys, value) if keys else _set_element(value)


def _set_element(value: Any) -> str:
    if isinstance(value, dict):
        raise BadItemError("associative list without keys has an element that's a map type")
    if isinstance(value, list):
        raise BadItemError("not supported: associative list with lists as elements")
    if value is None:
        raise BadItemError("associative list without keys has an element that's an explicit null")
    return fieldsets.item(value)


def _map_element(schema: Schema, keys: list[str], value: Any) -> str:
    if value is None:
        raise BadItemError("associative list with keys may not have a null element")
    if not isinstance(value, dict):
        raise BadItemError("associative list with keys may not have non-map elements")
    known = items(schema).get("properties", _EMPTY)
    found = {}
    for name in keys:
        if name in value:
            found[name] = value[name]
        elif "default" in known.get(name, _EMPTY):
            found[name] = known[name]["default"]
    if not found:
        shown = "[" + " ".join(f'"{name}"' for name in keys) + "]"
        raise BadItemError(
            f"associative list with keys has an element that omits all key fields {shown} "
            "(and doesn't have default values for any key fields)"
        )
    return fieldsets.key(found)


@cache
def _object_fields() -> dict[str, Schema]:
    metadata = schemas.expand("io.k8s.api.v1.ObjectMeta")
    return {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": metadata}


def for_custom_resource(schema: Schema | None) -> Schema:
    """Add apiVersion, kind and metadata to the schema of a custom resource."""
    if schema is None:
        return {"properties": _object_fields(), "x-kubernetes-preserve-unknown-fields": True}
    return {**schema, "properties": {**schema.get("properties", {}), **_object_fields()}}
