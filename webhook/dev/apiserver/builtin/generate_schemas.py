"""Generate schemas.json from kubernetes_asyncio's models and the field markers.

Run it as `python -m webhook.dev.apiserver.builtin.generate_schemas`.

The server reads the file, because importing the models takes seconds.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import orjson

from webhook.dev.apiserver.builtin import markers, schemas
from webhook.dev.apiserver.builtin.kinds import BODY_MODELS, BUILTINS, component_of_model
from webhook.dev.apiserver.builtin.schemas import Schema

TARGET: Final = Path(__file__).with_name("schemas.json")

_CONTAINER: Final = re.compile(r"(?P<outer>list|dict)[\[(](?:str, )?(?P<inner>.+)[\])]")
_SCALARS: Final = {
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "float": {"type": "number", "format": "double"},
}
_ZEROS: Final = {"string": "", "integer": 0, "boolean": False}


def document() -> dict[str, Schema]:
    """Return the schema of every served kind and of each type below it."""
    models = import_module("kubernetes_asyncio.client.models")
    types: dict[str, Schema] = {}
    pending = [row.model for row in BUILTINS] + list(BODY_MODELS.values())
    while pending:
        model = pending.pop()
        if component_of_model(model) not in types:
            types[component_of_model(model)] = _type_schema(getattr(models, model), pending)
    return {name: types[name] for name in sorted(types)}


def _type_schema(model: Any, pending: list[str]) -> Schema:
    type_name = component_of_model(model.__name__).rpartition(".")[2]
    properties = {}
    required = []
    for attribute, declared in model.openapi_types.items():
        key = model.attribute_map[attribute]
        field = f"{type_name}.{key}"
        prop = getattr(model, attribute)
        is_required = "must not be `None`" in inspect.getsource(prop.fset)
        schema = _field_schema(declared, field, pending)
        properties[key] = {
            **schema,
            **_absent_value(field, schema, is_required),
            **markers.FIELD_MARKERS.get(field, {}),
        }
        if is_required:
            required.append(key)
    described: Schema = {"type": "object", "properties": properties}
    if required:
        described["required"] = required
    if type_name in markers.ATOMIC_TYPES:
        described["x-kubernetes-map-type"] = "atomic"
    return described


def _absent_value(field: str, schema: Schema, required: bool) -> Schema:
    """Return what is written for an absent field: a default, null or nothing."""
    if field in markers.WRITTEN_ZEROS:
        return {"default": markers.WRITTEN_ZEROS[field]}
    if field in markers.NULL_TIMES or field in markers.NULLABLE:
        return {"nullable": True}
    if field in markers.OMITTED_ZEROS:
        return {"x-omit-zero": True}
    if "allOf" in schema:
        name = field.rpartition(".")[2]
        if (
            required
            or name in ("metadata", "spec", "status")
            or field in markers.WRITTEN_EMPTY_OBJECTS
        ):
            return {"default": {}}
    elif required and field not in markers.OMITTED_REQUIRED and schema.get("type") in _ZEROS:
        return {"default": _ZEROS[schema["type"]]}
    return {}


def _field_schema(declared: str, field: str, pending: list[str]) -> Schema:
    container = _CONTAINER.fullmatch(declared)
    if container is not None:
        inner = _field_schema(container["inner"], field, pending)
        if container["outer"] == "list":
            return {"type": "array", "items": inner, "x-kubernetes-list-type": "atomic"}
        return {"type": "object", "additionalProperties": inner}
    if declared == "object":
        return _free_form_schema(field)
    if declared[0].isupper():
        pending.append(declared)
        return {"allOf": [{"$ref": schemas.REFERENCE + component_of_model(declared)}]}
    return _scalar_schema(declared, field)


def _scalar_schema(declared: str, field: str) -> Schema:
    if declared == "int":
        return {"type": "integer", "format": "int64" if field in markers.INT64 else "int32"}
    if declared == "datetime":
        form = "micro-time" if field in markers.MICRO_TIMES else "date-time"
        return {"type": "string", "format": form}
    if field in markers.BYTES:
        return {"type": "string", "format": "byte"}
    if field in markers.QUANTITIES:
        return {"format": "quantity", "oneOf": [{"type": "string"}, {"type": "number"}]}
    return dict(_SCALARS[declared])


def _free_form_schema(field: str) -> Schema:
    if field in markers.INT_OR_STRING:
        either = [{"type": "integer"}, {"type": "string"}]
        return {"format": "int-or-string", "oneOf": either, "x-kubernetes-int-or-string": True}
    free: Schema = {"x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", **free} if field in markers.FREE_OBJECTS else free


def render() -> bytes:
    """Serialise the document with one type a line, so that a change is a change of one line."""
    rows = [orjson.dumps(name) + b":" + orjson.dumps(schema) for name, schema in document().items()]
    return b"{\n" + b",\n".join(rows) + b"\n}\n"


if __name__ == "__main__":
    TARGET.write_bytes(render())
