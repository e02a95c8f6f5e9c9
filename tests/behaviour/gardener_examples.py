"""The example manifests of Gardener."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml

from webhook.dev.planes.binaries import find_asset
from webhook.dev.planes.components import COMPONENTS

TAKEN_FOR_GRANTED: Final[tuple[dict[str, Any], ...]] = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "garden-trial"}},
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "local", "namespace": "garden"},
        "type": "Opaque",
    },
)
"""Objects that examples refer to and none of them creates."""

ACCEPTED: Final[list[str]] = json.loads(
    (Path(__file__).parent / "recorded" / "accepted_examples.json").read_text()
)
"""The examples that Gardener accepts together with those objects; others are sketches."""

_DEFINITION: Final = "kind: CustomResourceDefinition\n"


def examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return every object in Gardener's example folders except CRDs, with its file."""
    (gardener,) = (part for part in COMPONENTS if part.name == "gardener")
    for asset in gardener.assets:
        folder = find_asset(gardener, asset)
        assert folder is not None
        for path in sorted(folder.rglob("*.yaml")):
            for document in _documents(path.read_text()):
                yield f"{path.relative_to(folder)} {document['kind']}", document


def _documents(text: str) -> Iterator[dict[str, Any]]:
    if _DEFINITION in text:
        return  # tens of thousands of lines that take a minute to read
    try:
        found = list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return  # a template that becomes YAML only when it is rendered
    for document in found:
        if isinstance(document, dict) and {"apiVersion", "kind"} <= document.keys():
            yield json.loads(json.dumps(document, default=_moment))


def _moment(value: date) -> str:
    """Format a time as JSON; YAML decodes times that Gardener's API has as text."""
    return value.isoformat().replace("+00:00", "Z")
