"""Reads stored objects, for validation and admission."""

from collections.abc import Iterator

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.storage.entries import key_of
from webhook.kube.meta import Draft


class StoreReader:
    """Implements the `Reader` of the built-in kinds on the store."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def get(self, storage: str, namespace: str, name: str) -> Draft | None:
        """Return the latest state of an object, committed or pending; None if there is none."""
        entry = self._core.store.collection(storage).head(key_of(namespace, name))
        return None if entry is None else entry.decode()

    def list(self, storage: str, namespace: str = "") -> Iterator[Draft]:
        """Yield the objects of a namespace, or of all namespaces."""
        for entry in self._core.store.collection(storage).current(namespace):
            yield entry.decode()
