"""Admission: the interface of plugins, and the chain that calls them."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from webhook.dev.apiserver.endpoints.calls import Call
from webhook.kube.meta import Draft

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"
CONNECT: Final = "CONNECT"


@dataclass(slots=True)
class Attributes:
    """One operation on one object; `obj` is None for deletes, `old` for creates."""

    call: Call
    operation: str
    obj: Draft | None
    old: Draft | None
    options: Draft
    dry_run: bool = False
    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] = field(default_factory=dict)


class AdmissionPlugin(Protocol):
    """A plugin or a chain of plugins; a rejection is a StatusError."""

    async def mutate(self, attributes: Attributes) -> None:
        """Mutate `attributes.obj` in place, or reject the request."""

    async def validate(self, attributes: Attributes) -> None:
        """Reject the request, or return."""


class Chain:
    """Calls plugins one after the other."""

    def __init__(self, *plugins: AdmissionPlugin) -> None:
        self._plugins = plugins

    async def mutate(self, attributes: Attributes) -> None:
        """Call the mutation of each plugin in turn."""
        for plugin in self._plugins:
            await plugin.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Call the validation of each plugin in turn."""
        for plugin in self._plugins:
            await plugin.validate(attributes)
