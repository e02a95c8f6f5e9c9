"""The schemas of the built-in kinds as people read them: with prose, values and named types."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from webhook.apiserver.builtin import schemas

_FILE: Final = Path(__file__).with_name("prose.json")
_REFERENCE: Final = "#/components/schemas/"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_NAMED: Final = {"quantity": QUANTITY, "int-or-string": INT_OR_STRING}

Schema = dict[str, Any]


@cache
def components() -> dict[str, Schema]:
    """Every schema by its component name, as OpenAPI documents carry them."""
    prose = orjson.loads(_FILE.read_bytes())
    told = {
        name: _told(schema, prose.get(name, {})) for name, schema in schemas.components().items()
    }
    told[QUANTITY] = {"oneOf": [{"type": "string"}, {"type": "number"}]}
    told[INT_OR_STRING] = {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    }
    return told


def _told(schema: Schema, prose: Schema) -> Schema:
    result = {**prose.get("", {}), **schema}
    if "properties" in schema:
        result["properties"] = {
            name: {**_named(field), **prose.get(name, {})}
            for name, field in schema["properties"].items()
        }
    return result


def _named(field: Schema) -> Schema:
    """Refer to types that have a name and no fields."""
    if name := _NAMED.get(field.get("format", "")):
        rest = {key: value for key, value in field.items() if key in ("description", "default")}
        return {**rest, "allOf": [{"$ref": _REFERENCE + name}]}
    inner = field.get("additionalProperties")
    if isinstance(inner, dict) and (name := _NAMED.get(inner.get("format", ""))):
        return {**field, "additionalProperties": {"$ref": _REFERENCE + name}}
    return field
