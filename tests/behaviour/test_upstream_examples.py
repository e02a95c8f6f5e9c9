"""Manifests that Gardener ships as examples fit the definitions that stand in for its kinds."""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from tests.planes import require_parts
from webhook.api.crds import crd
from webhook.api.decode import convert
from webhook.api.kinds import Kind, find_kind
from webhook.api.schema import Schema
from webhook.planes.binaries import find_asset
from webhook.planes.parts import PARTS


def examples() -> Iterator[tuple[str, Kind, dict[str, Any]]]:
    (gardener,) = (part for part in PARTS if part.name == "gardener")
    for asset in gardener.assets:
        folder = find_asset(gardener, asset)
        assert folder is not None
        for path in sorted(folder.rglob("*.yaml")):
            for document in documents(path.read_text()):
                kind = find_kind(document["apiVersion"], document["kind"])
                if kind is not None and kind.origin != "kubernetes":
                    yield f"{path.relative_to(folder)} {kind.name}", kind, document


def documents(text: str) -> Iterator[dict[str, Any]]:
    try:
        found = list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return  # a template that becomes YAML only when it is rendered
    for document in found:
        if isinstance(document, dict) and {"apiVersion", "kind"} <= document.keys():
            yield json.loads(json.dumps(document, default=str))


def test_every_example_is_valid_and_is_kept_whole():
    require_parts("gardener")
    seen = 0
    for name, kind, document in examples():
        (version, *_) = crd(kind, beside_gardener=False)["spec"]["versions"]
        schema = Schema(version["schema"]["openAPIV3Schema"])
        schema.apply_defaults(document)
        assert schema.validate(document) == [], name
        assert schema.validate_lists(document) == [], name
        assert schema.prune(document) == [], name
        convert(kind.model, document)
        seen += 1
    assert seen > 20
