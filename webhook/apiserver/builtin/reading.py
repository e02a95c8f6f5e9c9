"""How the built-in kinds look at other stored objects."""

from collections.abc import Iterable
from typing import Any, Protocol

Object = dict[str, Any]


class Reader(Protocol):
    """Read access to what is stored, by the name of the collection (`pods`, `deployments.apps`)."""

    def get(self, storage: str, namespace: str, name: str) -> Object | None:
        """Return an object, None if there is none."""

    def list(self, storage: str, namespace: str = "") -> Iterable[Object]:
        """Return the objects of a namespace, or of all."""
