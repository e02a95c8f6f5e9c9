"""Generate descriptions.json from the OpenAPI documents of a kube-apiserver.

Run it as `python -m webhook.dev.apiserver.builtin.generate_descriptions FOLDER`. The folder holds
the output of `kubectl get --raw /openapi/v3/...` for each group and version, as files `*.json`.

The models of kubernetes_asyncio have neither the descriptions of types nor the values of enums.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from webhook.dev.apiserver.builtin import schemas
from webhook.dev.apiserver.builtin.schemas import Schema

TARGET: Final = Path(__file__).with_name("descriptions.json")
_KEPT: Final = ("description", "enum")
"""The parts of a field's schema that are copied."""


def document(sources: Path) -> dict[str, Schema]:
    """Return the descriptions and enums of each component that this server serves."""
    documented = dict(_components(sources))
    result = {}
    for name, schema in schemas.components().items():
        component = _counterpart(name, schema, documented)
        if component is not None:
            result[name] = _descriptions(component, schema)
    return result


def _components(sources: Path) -> Iterator[tuple[str, Schema]]:
    for path in sorted(sources.glob("*.json")):
        yield from orjson.loads(path.read_bytes()).get("components", {}).get("schemas", {}).items()


def _counterpart(name: str, schema: Schema, documented: dict[str, Schema]) -> Schema | None:
    """Return the component with the same name; of several, the one that shares most fields."""
    suffix = name.removeprefix("io.k8s").removeprefix(".api")
    served_fields = set(schema.get("properties", ()))
    candidates = [component for other, component in documented.items() if other.endswith(suffix)]
    if not candidates:
        return None
    return max(
        candidates, key=lambda component: len(served_fields & set(component.get("properties", ())))
    )


def _descriptions(component: Schema, schema: Schema) -> Schema:
    fields = component.get("properties", {})
    descriptions: Schema = {}
    if text := component.get("description"):
        descriptions[""] = {"description": text}
    for name in schema.get("properties", ()):
        parts = {key: fields.get(name, {})[key] for key in _KEPT if key in fields.get(name, {})}
        if parts:
            descriptions[name] = parts
    return descriptions


def render(sources: Path) -> bytes:
    """Serialise the document with one type a line, so that a change is a change of one line."""
    rows = [
        orjson.dumps(name) + b":" + orjson.dumps(descriptions)
        for name, descriptions in document(sources).items()
    ]
    return b"{\n" + b",\n".join(rows) + b"\n}\n"


if __name__ == "__main__":
    TARGET.write_bytes(render(Path(sys.argv[1])))
