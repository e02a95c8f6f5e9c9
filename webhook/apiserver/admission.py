"""What stands between a request and the store: the plugins that may change or refuse an object."""

from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from webhook.apiserver.calls import Call

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"
CONNECT: Final = "CONNECT"

Object = dict[str, Any]


@dataclass(slots=True)
class Attributes:
    """One operation on one object; `obj` is None for deletions, `old` for creations."""

    call: Call
    operation: str
    obj: Object | None
    old: Object | None
    options: Object
    dry_run: bool = False
    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] = field(default_factory=dict)


class Admission(Protocol):
    """A plugin, or a chain of them; a refusal is a StatusError."""

    async def mutate(self, attributes: Attributes) -> None:
        """Change `attributes.obj` in place, or refuse."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse, or let pass."""


class Chain:
    """Plugins one after the other."""

    def __init__(self, *plugins: Admission) -> None:
        self._plugins = plugins

    async def mutate(self, attributes: Attributes) -> None:
        """Let each plugin change the object in turn."""
        for plugin in self._plugins:
            await plugin.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Ask each plugin in turn."""
        for plugin in self._plugins:
            await plugin.validate(attributes)
