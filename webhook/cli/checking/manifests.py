"""Read manifests from files: YAML or JSON, several in one, lists of them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from webhook.api import kinds
from webhook.api.kinds import Kind
from webhook.api.meta import Draft, ObjectKey

_SUFFIXES: Final = (".yaml", ".yml", ".json")


class ManifestError(Exception):
    """A file that cannot be read as manifests; the message names it."""


class Manifest(NamedTuple):
    """One object, and where it was found."""

    path: str
    kind: Kind
    raw: Draft

    @property
    def key(self) -> ObjectKey:
        metadata = self.raw.get("metadata")
        found = metadata if isinstance(metadata, dict) else {}
        namespace = found.get("namespace") if self.kind.namespaced else ""
        return ObjectKey(str(namespace or ""), str(found.get("name") or ""))


def load(paths: Iterable[Path]) -> Iterator[Manifest]:
    """Yield every object of a kind that we know; of others nothing is judged."""
    for path in paths:
        if not path.exists():
            raise ManifestError(f"{path} does not exist")
        for file in _files(path):
            yield from _read(file)


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    yield from sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES)


def _read(file: Path) -> Iterator[Manifest]:
    try:
        documents = [*yaml.safe_load_all(file.read_text())]
    except (yaml.YAMLError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise ManifestError(f"{file} cannot be read: {' '.join(str(error).split())}") from error
    for document in documents:
        yield from _objects(str(file), document)


def _objects(path: str, document: Any) -> Iterator[Manifest]:
    if not isinstance(document, dict):
        return
    if isinstance(document.get("items"), list) and str(document.get("kind", "")).endswith("List"):
        for item in document["items"]:
            yield from _objects(path, item)
        return
    kind = kinds.find_kind(str(document.get("apiVersion", "")), str(document.get("kind", "")))
    if kind is not None:
        yield Manifest(path, kind, document)
