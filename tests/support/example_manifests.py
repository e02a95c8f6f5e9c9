"""The example manifests of the design documents, completed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "data" / "documents"


def example_manifests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each manifest with the name of its document."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for manifest in yaml.safe_load_all(path.read_text()):
            yield path.stem, manifest
