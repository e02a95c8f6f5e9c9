"""Read access to stored objects, for kinds that depend on others."""

from collections.abc import Iterable
from typing import Protocol

from webhook.kube.meta import Draft


class Reader(Protocol):
    """Reads stored objects by resource, as in `pods` and `deployments.apps`."""

    def get(self, storage: str, namespace: str, name: str) -> Draft | None:
        """Return an object, None if it does not exist."""

    def list(self, storage: str, namespace: str = "") -> Iterable[Draft]:
        """Return the objects of a namespace, or of all namespaces."""
