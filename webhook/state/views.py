"""How the cache of `webhook.cluster` is read, listened to, and updated with our own writes.

The three Protocols are the whole contract between the cache and what is built on it; tests put
fakes in its place.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from webhook.api.kinds import Kind
from webhook.kube.meta import Object, ObjectKey
from webhook.state.live_reads import LiveRead, LiveResults
from webhook.state.snapshot import Snapshot

T = TypeVar("T", bound=Object)

Listener: TypeAlias = Callable[[T | None, T | None], None]
"""Gets an object before and after a change; None before it exists and after it is deleted."""


class CacheReader(Protocol):
    """Reads watched kinds, and what decisions miss in them from the API server."""

    @property
    def synced(self) -> bool:
        """Whether every watched kind has been listed, or is known to have no list for now."""

    def snapshot(self, live_results: LiveResults | None = None) -> Snapshot:
        """Return a view of all watched kinds, valid until the next turn of the event loop."""

    def peek(self, model: type[T], key: ObjectKey) -> T | None:
        """Return an object as the cache holds it now, outside any decision."""

    def watches(self, model: type[Object]) -> bool:
        """Return whether a kind is watched at all."""

    def covers(self, model: type[Object], key: ObjectKey) -> bool:
        """Return whether an object would be seen: of some kinds only a selection is watched."""

    async def wait_seen(self, model: type[Object], version: str) -> None:
        """Wait until the watch of a kind has reached a version; the caller sets the deadline."""

    async def read_live(self, live_reads: Sequence[LiveRead], seconds: float) -> LiveResults:
        """Read from the API server what a decision missed; raises LiveReadError."""


class CacheListener(CacheReader, Protocol):
    """Calls listeners after each change of a kind."""

    def add_listener(self, model: type[T], listener: Listener[T], *, replay: bool = True) -> None:
        """Call a listener for every object of a kind now, unless not replayed, and from now on."""

    def remove_listener(self, model: type[T], listener: Listener[T]) -> None:
        """Stop calling a listener."""


class AssumingCache(CacheReader, Protocol):
    """Shows our own writes before the watch does."""

    def assume(self, obj: Object, raw: bytes | None = None) -> None:
        """Show an object as a write that is about to be sent will leave it."""

    def assume_written(self, kind: Kind, document: bytes) -> None:
        """Show an object as the API server returned it from a write."""

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None:
        """Record the version that the API server gave to an assumed write."""

    def forget(self, model: type[Object], key: ObjectKey) -> None:
        """Show again what the watch has shown: the assumed write failed."""
