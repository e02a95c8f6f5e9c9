"""Reads objects from manifest files: YAML or JSON, with several documents or lists in a file."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from webhook.api import kinds
from webhook.api.kinds import Kind
from webhook.kube.meta import Draft, ObjectKey

_SUFFIXES: Final = (".yaml", ".yml", ".json")


class ManifestError(Exception):
    """A path that cannot be read as manifests; the message names it."""


class Manifest(NamedTuple):
    """One object, and the file that holds it."""

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
    """Yield every object of a kind in `KINDS`; objects of other kinds are skipped."""
    for file, _number, document in (found for path in paths for found in _documents(path)):
        for item in filter(_has_kind, _items(document)):
            kind = kinds.find_kind(str(item.get("apiVersion", "")), str(item.get("kind", "")))
            if kind is not None:
                yield Manifest(str(file), kind, item)


def read_objects(path: Path) -> Iterator[Draft]:
    """Yield every object of a file or folder; raises ManifestError if one has no kind."""
    for file, number, document in _documents(path):
        if document is None:
            continue
        items = [*_items(document)]
        if not all(map(_has_kind, items)):
            raise ManifestError(f"{file}: document {number} has no apiVersion and kind")
        yield from items


def _documents(path: Path) -> Iterator[tuple[Path, int, Any]]:
    """Yield each document with its file and its number in the file."""
    for file in _files(path):
        try:
            documents = [*yaml.safe_load_all(file.read_text())]
        except (yaml.YAMLError, UnicodeDecodeError, OSError, RecursionError) as error:
            raise ManifestError(f"{file} cannot be read: {' '.join(str(error).split())}") from error
        for number, document in enumerate(documents, 1):
            yield file, number, document


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise ManifestError(f"{path} does not exist")
    if path.is_file():
        yield path
        return
    yield from sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES)


def _items(document: Any) -> Iterator[Any]:
    """Yield the items of a list, however nested, or the document itself."""
    if not isinstance(document, dict):
        yield document
    elif isinstance(document.get("items"), list) and str(document.get("kind", "")).endswith("List"):
        for item in document["items"]:
            yield from _items(item)
    else:
        yield document


def _has_kind(item: Any) -> bool:
    return isinstance(item, dict) and bool(item.get("kind") and item.get("apiVersion"))
