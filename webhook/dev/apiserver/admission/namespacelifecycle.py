"""The NamespaceLifecycle admission plugin."""

from typing import Final

from webhook.dev.apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes
from webhook.dev.apiserver.core import Core
from webhook.kube import status
from webhook.kube.status import Qualified, StatusError

IMMORTAL: Final = ("default", "kube-public", "kube-system")
"""Namespaces that cannot be deleted."""
_NAMESPACES: Final = Qualified("", "namespaces")


class NamespaceLifecycle:
    """Rejects objects in missing namespaces, and new objects in terminating ones."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def mutate(self, attributes: Attributes) -> None:
        """Reject a request before other plugins see it."""
        resource, operation = attributes.call.resource, attributes.operation
        if operation == DELETE and resource.storage == "namespaces":
            if attributes.name in IMMORTAL and not attributes.call.info.subresource:
                why = "this namespace may not be deleted"
                raise status.forbidden(_NAMESPACES, attributes.name, why)
            return
        name = attributes.call.namespace
        if not name or operation not in (CREATE, UPDATE) or resource.is_virtual:
            return
        entry = self._core.store.collection("namespaces").head(name)
        if entry is None:
            raise status.not_found(_NAMESPACES, name)
        if (
            operation == CREATE
            and (entry.decode().get("status") or {}).get("phase") == "Terminating"
        ):
            raise _terminating(attributes, name)

    async def validate(self, attributes: Attributes) -> None:
        """Validate nothing."""


def _terminating(attributes: Attributes, name: str) -> StatusError:
    why = f"unable to create new content in namespace {name} because it is being terminated"
    error = status.forbidden(attributes.call.resource.qualified, attributes.name, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    error.status["details"]["causes"] = [cause]
    return error
