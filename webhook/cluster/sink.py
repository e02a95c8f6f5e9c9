"""Where a reflector puts what it reads."""

from typing import Protocol

import msgspec

from webhook.cluster.events import Change


class Sink(Protocol):
    """Whoever keeps what the reflector brings."""

    def begin(self) -> None:
        """Make room for a list; what an unfinished one has brought is dropped."""

    def item(self, change: Change, document: msgspec.Raw) -> None:
        """Take one object of the list."""

    async def commit(self, version: str) -> None:
        """Replace everything by the list in one step."""

    def event(self, change: Change, document: msgspec.Raw) -> str:
        """Take one change and give its version."""

    def bookmark(self, version: str) -> None:
        """Note that everything up to a version has been seen."""

    async def clear(self) -> None:
        """Drop everything: the kind is not served."""
