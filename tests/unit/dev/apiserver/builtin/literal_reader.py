"""A Reader over literal objects."""

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]


class LiteralReader:
    """Reads objects that are given by resource; `__` in a keyword stands for a dot."""

    def __init__(self, **collections: list[Object]) -> None:
        self._collections = {name.replace("__", "."): found for name, found in collections.items()}

    def get(self, storage: str, namespace: str, name: str) -> Object | None:
        for obj in self.list(storage, namespace):
            if obj["metadata"]["name"] == name:
                return obj
        return None

    def list(self, storage: str, namespace: str = "") -> Iterable[Object]:
        for obj in self._collections.get(storage, ()):
            if not namespace or obj["metadata"].get("namespace", "") == namespace:
                yield obj
