"""How a structural schema divides a value into fields that can be owned."""

from functools import cache
from typing import Any, Final, NamedTuple

from webhook.apiserver.builtin import schemas as builtin
from webhook.apiserver.fieldownership import sets

Schema = dict[str, Any]

#: Below fields that no schema describes: objects are divided, lists are not.
DEDUCED: Final[Schema] = {"x-kubernetes-preserve-unknown-fields": True}
_EMPTY: Final[Schema] = {}


class Fields(NamedTuple):
    """An object's known fields and the schema of all others, None if there may be none."""

    known: dict[str, Schema]
    other: Schema | None

    def of(self, name: str) -> Schema | None:
        return self.known.get(name, self.other)


class BadItemError(ValueError):
    """A list item that cannot be identified."""


def is_atomic_map(schema: Schema) -> bool:
    """Whether an object changes hands as a whole."""
    return bool(schema.get("x-kubernetes-map-type") == "atomic")


def is_atomic_list(schema: Schema) -> bool:
    """Whether a list changes hands as a whole."""
    return bool(schema.get("x-kubernetes-list-type", "atomic") == "atomic")


def fields(schema: Schema) -> Fields:
    """Read which fields an object has."""
    known = schema.get("properties", _EMPTY)
    if schema.get("x-kubernetes-embedded-resource"):
        known = {**known, **_identity()}
    other = schema.get("additionalProperties")
    if other is True or (
        other is None and (not known or schema.get("x-kubernetes-preserve-unknown-fields"))
    ):
        other = DEDUCED
    return Fields(known, other or None)


def items(schema: Schema) -> Schema:
    """Read what a list holds."""
    found: Schema = schema.get("items", DEDUCED)
    return found


def element(schema: Schema, value: Any) -> str:
    """Identify an item of a list map or a set."""
    keys = schema.get("x-kubernetes-list-map-keys")
    return _keyed(schema, keys, value) if keys else _own(value)


def _own(value: Any) -> str:
    if isinstance(value, dict):
        raise BadItemError("associative list without keys has an element that's a map type")
    if isinstance(value, list):
        raise BadItemError("not supported: associative list with lists as elements")
    if value is None:
        raise BadItemError("associative list without keys has an element that's an explicit null")
    return sets.item(value)


def _keyed(schema: Schema, keys: list[str], value: Any) -> str:
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
    return sets.key(found)


@cache
def _identity() -> dict[str, Schema]:
    metadata = builtin.expanded("io.k8s.api.v1.ObjectMeta")
    return {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": metadata}


def of_custom_resource(schema: Schema | None) -> Schema:
    """Complete a CustomResourceDefinition's schema by what every object has."""
    if schema is None:
        return {"properties": _identity(), "x-kubernetes-preserve-unknown-fields": True}
    return {**schema, "properties": {**schema.get("properties", {}), **_identity()}}
