"""The OpenAPI components of the built-in kinds, with descriptions, enums and named types."""

from functools import cache
from pathlib import Path
from typing import Final

import orjson

from webhook.dev.apiserver.builtin import schemas
from webhook.dev.apiserver.builtin.schemas import Schema

_FILE: Final = Path(__file__).with_name("descriptions.json")
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_NAMED_FORMATS: Final = {"quantity": QUANTITY, "int-or-string": INT_OR_STRING}


@cache
def components() -> dict[str, Schema]:
    """Return every schema by its component name, as OpenAPI documents hold them."""
    descriptions = orjson.loads(_FILE.read_bytes())
    described = {
        name: _describe(schema, descriptions.get(name, {}))
        for name, schema in schemas.components().items()
    }
    described[QUANTITY] = {"oneOf": [{"type": "string"}, {"type": "number"}]}
    described[INT_OR_STRING] = {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    }
    return described


def _describe(schema: Schema, descriptions: Schema) -> Schema:
    result = {**descriptions.get("", {}), **schema}
    if "properties" in schema:
        result["properties"] = {
            name: {**_with_references(field), **descriptions.get(name, {})}
            for name, field in schema["properties"].items()
        }
    return result


def _with_references(field: Schema) -> Schema:
    """Replace the schema of a quantity or an int-or-string by a reference to its named type."""
    if name := _NAMED_FORMATS.get(field.get("format", "")):
        rest = {key: value for key, value in field.items() if key in ("description", "default")}
        return {**rest, "allOf": [{"$ref": schemas.REFERENCE + name}]}
    inner = field.get("additionalProperties")
    if isinstance(inner, dict) and (name := _NAMED_FORMATS.get(inner.get("format", ""))):
        return {**field, "additionalProperties": {"$ref": schemas.REFERENCE + name}}
    return field
