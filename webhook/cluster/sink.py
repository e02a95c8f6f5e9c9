"""The receiver of what a reflector reads."""

from typing import Protocol

import msgspec

from webhook.cluster.watch_events import EventType


class Sink(Protocol):
    """Stores the objects of one kind."""

    def begin(self) -> None:
        """Start a new list; the items of an unfinished one are dropped."""

    def item(self, event_type: EventType, document: msgspec.Raw) -> None:
        """Add one object to the list."""

    async def commit(self, version: str) -> None:
        """Replace all objects by the list in one step."""

    def event(self, event_type: EventType, document: msgspec.Raw) -> str:
        """Apply one event and return its version."""

    def bookmark(self, version: str) -> None:
        """Record that all events up to a version have been seen."""

    async def clear(self) -> None:
        """Remove all objects, because the kind is not served."""
