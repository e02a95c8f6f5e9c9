"""What every verb works with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from webhook.apiserver.admission import Admission
from webhook.apiserver.collection import Collection
from webhook.apiserver.registry import Registry
from webhook.apiserver.resources import Resource
from webhook.apiserver.storage import Store


@dataclass(slots=True)
class Core:
    """The parts of the server that outlive a request."""

    store: Store
    registry: Registry
    admission: Admission
    now: Callable[[], datetime]

    def collection(self, resource: Resource) -> Collection:
        """Return the stored objects of a resource."""
        return self.store.collection(resource.storage)
