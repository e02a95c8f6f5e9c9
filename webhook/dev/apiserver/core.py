"""The dependencies that all verbs share."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from webhook.dev.apiserver.admission.chain import AdmissionPlugin
from webhook.dev.apiserver.registry.registry import Registry
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.collection import Collection
from webhook.dev.apiserver.storage.store import Store


@dataclass(slots=True)
class Core:
    """Storage, registry, admission and clock of the server."""

    store: Store
    registry: Registry
    admission: AdmissionPlugin
    now: Callable[[], datetime]

    def collection(self, resource: Resource) -> Collection:
        """Return the stored objects of a resource."""
        return self.store.collection(resource.storage)
