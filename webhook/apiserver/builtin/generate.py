"""Write schemas.json anew from kubernetes_asyncio's models and SHAPES; prose is `describe`'s.

Run it as `python -m webhook.apiserver.builtin.generate`.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import orjson

from webhook.apiserver.builtin import shapes
from webhook.apiserver.builtin.kinds import BODY_MODELS, BUILTINS

TARGET: Final = Path(__file__).with_name("schemas.json")
REFERENCE: Final = "#/components/schemas/"

_MODEL = re.compile(r"(?P<owner>[A-Z][a-z]+)??V(?P<version>\d+)(?P<name>[A-Z].*)")
_CONTAINER = re.compile(r"(?P<outer>list|dict)[\[(](?:str, )?(?P<inner>.+)[\])]")
_SCALARS: Final = {
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "float": {"type": "number", "format": "double"},
}
_ZEROS: Final = {"string": "", "integer": 0, "boolean": False}


def component(model: str) -> str:
    """Name the schema of a model so that what follows the last dot is the kind."""
    match = _MODEL.fullmatch(model)
    if match is None:
        raise LookupError(f"model {model} is not named like an API type")
    owner = (match["owner"] or "api").lower()
    return f"io.k8s.{owner}.v{match['version']}.{match['name']}"


def document() -> dict[str, Any]:
    """Describe every served kind and each type below it."""
    models = import_module("kubernetes_asyncio.client.models")
    found: dict[str, Any] = {}
    waiting = [row.model for row in BUILTINS] + list(BODY_MODELS.values())
    while waiting:
        model = waiting.pop()
        if component(model) not in found:
            found[component(model)] = _describe(getattr(models, model), waiting)
    return {name: found[name] for name in sorted(found)}


def _describe(model: Any, waiting: list[str]) -> dict[str, Any]:
    type_name = component(model.__name__).rpartition(".")[2]
    properties = {}
    required = []
    for attribute, declared in model.openapi_types.items():
        key = model.attribute_map[attribute]
        field = f"{type_name}.{key}"
        prop = getattr(model, attribute)
        is_required = "must not be `None`" in inspect.getsource(prop.fset)
        schema = _schema(declared, field, waiting)
        properties[key] = {
            **schema,
            **_writing(field, schema, is_required),
            **shapes.SHAPES.get(field, {}),
        }
        if is_required:
            required.append(key)
    described: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        described["required"] = required
    if type_name in shapes.ATOMIC_TYPES:
        described["x-kubernetes-map-type"] = "atomic"
    return described


def _writing(field: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    """Say what is written where a field is not known: a default, null, or nothing."""
    if field in shapes.WRITTEN:
        return {"default": shapes.WRITTEN[field]}
    if field in shapes.NULL_TIMES or field in shapes.NULLABLE:
        return {"nullable": True}
    if field in shapes.OMITTED_ZEROS:
        return {"x-omit-zero": True}
    if "allOf" in schema:
        name = field.rpartition(".")[2]
        if required or name in ("metadata", "spec", "status") or field in shapes.EMBEDDED:
            return {"default": {}}
    elif required and field not in shapes.OPTIONAL and schema.get("type") in _ZEROS:
        return {"default": _ZEROS[schema["type"]]}
    return {}


def _schema(declared: str, field: str, waiting: list[str]) -> dict[str, Any]:
    container = _CONTAINER.fullmatch(declared)
    if container is not None:
        inner = _schema(container["inner"], field, waiting)
        if container["outer"] == "list":
            return {"type": "array", "items": inner, "x-kubernetes-list-type": "atomic"}
        return {"type": "object", "additionalProperties": inner}
    if declared == "object":
        return _free(field)
    if declared[0].isupper():
        waiting.append(declared)
        return {"allOf": [{"$ref": REFERENCE + component(declared)}]}
    return _scalar(declared, field)


def _scalar(declared: str, field: str) -> dict[str, Any]:
    if declared == "int":
        return {"type": "integer", "format": "int64" if field in shapes.INT64 else "int32"}
    if declared == "datetime":
        form = "micro-time" if field in shapes.MICRO_TIMES else "date-time"
        return {"type": "string", "format": form}
    if field in shapes.BYTES:
        return {"type": "string", "format": "byte"}
    if field in shapes.QUANTITIES:
        return {"format": "quantity", "oneOf": [{"type": "string"}, {"type": "number"}]}
    return dict(_SCALARS[declared])


def _free(field: str) -> dict[str, Any]:
    if field in shapes.INT_OR_STRING:
        either = [{"type": "integer"}, {"type": "string"}]
        return {"format": "int-or-string", "oneOf": either, "x-kubernetes-int-or-string": True}
    free: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", **free} if field in shapes.FREE_OBJECTS else free


def render() -> bytes:
    """Serialise the document, one schema a line, so that a change shows as a line."""
    rows = [orjson.dumps(name) + b":" + orjson.dumps(schema) for name, schema in document().items()]
    return b"{\n" + b",\n".join(rows) + b"\n}\n"


if __name__ == "__main__":
    TARGET.write_bytes(render())
