"""Write prose.json anew from a kube-apiserver's OpenAPI documents.

Run it as `python -m webhook.apiserver.builtin.describe FOLDER`; the folder holds what
`kubectl get --raw /openapi/v3/...` answers for each group and version, as files `*.json`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from webhook.apiserver.builtin import schemas

TARGET: Final = Path(__file__).with_name("prose.json")

Schema = dict[str, Any]


def document(sources: Path) -> dict[str, Schema]:
    """Find the prose of each component that we serve, and the values that its fields may have."""
    known = dict(_components(sources))
    result = {}
    for name, schema in schemas.components().items():
        found = _counterpart(name, schema, known)
        if found is not None:
            result[name] = _prose(found, schema)
    return result


def _components(sources: Path) -> Iterator[tuple[str, Schema]]:
    for path in sorted(sources.glob("*.json")):
        yield from orjson.loads(path.read_bytes()).get("components", {}).get("schemas", {}).items()


def _counterpart(name: str, schema: Schema, known: dict[str, Schema]) -> Schema | None:
    """Find a type under Kubernetes' name; of several with one name, the most similar."""
    suffix = name.removeprefix("io.k8s").removeprefix(".api")
    ours = set(schema.get("properties", ()))
    candidates = [found for other, found in known.items() if other.endswith(suffix)]
    if not candidates:
        return None
    return max(candidates, key=lambda found: len(ours & set(found.get("properties", ()))))


def _prose(found: Schema, schema: Schema) -> Schema:
    fields = found.get("properties", {})
    told: Schema = {}
    if text := found.get("description"):
        told[""] = {"description": text}
    for name in schema.get("properties", ()):
        kept = {key: fields.get(name, {})[key] for key in _KEPT if key in fields.get(name, {})}
        if kept:
            told[name] = kept
    return told


_KEPT: Final = ("description", "enum")


def render(sources: Path) -> bytes:
    """Serialise it, one type a line, so that a change shows as a line."""
    rows = [
        orjson.dumps(name) + b":" + orjson.dumps(told) for name, told in document(sources).items()
    ]
    return b"{\n" + b",\n".join(rows) + b"\n}\n"


if __name__ == "__main__":
    TARGET.write_bytes(render(Path(sys.argv[1])))
