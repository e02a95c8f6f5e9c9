"""Read other stored objects while one is judged or prepared."""

from collections.abc import Iterator
from typing import Any

from webhook.apiserver.core import Core
from webhook.apiserver.entries import key_of

Object = dict[str, Any]


class Lookup:
    """The stored objects by collection, as the built-in kinds ask for them."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def get(self, storage: str, namespace: str, name: str) -> Object | None:
        """Return an object, written or on its way to the disk; None if there is none."""
        entry = self._core.store.collection(storage).head(key_of(namespace, name))
        return None if entry is None else entry.decode()

    def list(self, storage: str, namespace: str = "") -> Iterator[Object]:
        """Yield the objects of a namespace, or of all."""
        for entry in self._core.store.collection(storage).current(namespace):
            yield entry.decode()
