"""Stores what a reflector reads in the cluster state, and notifies listeners of changes."""

import asyncio
import logging
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar, cast

import msgspec

from webhook.api.decode import MalformedField
from webhook.api.kinds import Kind
from webhook.cluster.documents import Document, read, read_deleted
from webhook.cluster.errors import DECODE_ERRORS
from webhook.cluster.pacing import Pacer
from webhook.cluster.watch_events import EventType
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.resource_versions import covers
from webhook.state.cluster_state import ClusterState
from webhook.state.store import Store, StoreEntry
from webhook.state.views import Listener

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Object)

_Put: TypeAlias = Callable[[ObjectKey, StoreEntry[T] | None], T | None]


class Informer(Generic[T]):
    """Keeps the cluster state of one kind equal to the API server's.

    Listeners are called after the state has changed, in the order of each object's changes, and
    also for every object that is missing after a relist.
    """

    def __init__(self, kind: Kind, state: ClusterState, pacer: Pacer) -> None:
        self.kind = kind
        self._model = cast("type[T]", kind.model)
        self._state = state
        self._pacer = pacer
        self._staged = state.new_store(self._model)
        self._listeners: list[Listener[T]] = []
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self.version = ""

    @property
    def store(self) -> Store[T]:
        return self._state.store(self._model)

    def add_listener(self, listener: Listener[T], *, replay: bool = True) -> None:
        """Call a listener for every change from now on, and first for every existing object.

        Without `replay` the listener has to read the existing objects itself.
        """
        self._listeners.append(listener)
        if replay:
            for obj in [*self.store.list()]:
                self._notify(listener, None, obj)

    def remove_listener(self, listener: Listener[T]) -> None:
        """Stop calling a listener."""
        self._listeners.remove(listener)

    async def wait_seen(self, version: str) -> None:
        """Wait until the state is at least as new as a version; the caller sets the deadline."""
        if not covers(self.version, version):
            seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((version, seen))
            await seen

    def begin(self) -> None:
        self._staged = self._state.new_store(self._model)

    def item(self, event_type: EventType, document: msgspec.Raw) -> None:
        found = self._read(event_type, document)
        if found is None:
            return
        self._put_or_mark(
            found._replace(entry=self._stored(found) or found.entry), self._staged.set
        )

    async def commit(self, version: str) -> None:
        staged, self._staged = self._staged, self._state.new_store(self._model)
        before = self._state.replace_store(staged, version)
        self._set_version(version)
        await self._notify_differences(before)

    def event(self, event_type: EventType, document: msgspec.Raw) -> str:
        found = self._read(event_type, document)
        if found is None:
            return self.version
        version = found.version
        old, new = self._put_or_mark(
            found, lambda key, entry: self._state.observe(self._model, key, entry, version)
        )
        self._set_version(version)
        self._notify_all(old, new)
        return version

    def bookmark(self, version: str) -> None:
        self._state.observe_version(self._model, version)
        self._set_version(version)

    async def clear(self) -> None:
        before = self._state.replace_store(self._state.new_store(self._model), "")
        self._set_version("")
        await self._notify_differences(before)

    def _read(self, event_type: EventType, document: msgspec.Raw) -> Document | None:
        try:
            found = read(self.kind, document) if event_type != "DELETED" else read_deleted(document)
        except DECODE_ERRORS as error:
            logger.warning("object has no name", extra=self._fields | {"error": str(error)})
            return None
        if found.entry is not None and found.entry.faults:
            fields = {"object": str(found.key), "fault": ": ".join(found.entry.faults[0][:2])}
            logger.warning("object does not decode", extra=self._fields | fields)
        return found

    def _stored(self, found: Document) -> StoreEntry[T] | None:
        """Return the stored entry of the same version, so that a relist allocates no copy."""
        if found.key in self._state.overlay(self._model):
            return None
        held = self.store.entry(found.key)
        new = found.entry.object if found.entry else None
        if held is None or held.object is None or new is None:
            return None
        same = (held.object.uid, held.object.resource_version) == (new.uid, new.resource_version)
        return held if same and new.resource_version else None

    def _put_or_mark(self, found: Document, put: _Put[T]) -> tuple[T | None, T | None]:
        """Store an object; one that an index function cannot process is stored as malformed."""
        entry: StoreEntry[T] | None = found.entry
        try:
            return put(found.key, entry), entry.object if entry else None
        except Exception as error:
            logger.exception("object cannot be indexed", extra=self._fields)
            fault = MalformedField("", f"cannot be indexed: {error}")
        return put(found.key, StoreEntry(None, entry.raw if entry else None, (fault,))), None

    def _set_version(self, version: str) -> None:
        self.version = version
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for wanted, seen in waiting:
                if seen.done():
                    continue
                if covers(version, wanted):
                    seen.set_result(None)
                else:
                    self._waiting.append((wanted, seen))

    async def _notify_differences(self, before: Store[T]) -> None:
        after = self.store
        for old in [*before.list()]:
            if after.get(old.key) is None:
                self._notify_all(old, None)
                await self._pacer.yield_if_due()
        for new in [*after.list()]:
            known = before.get(new.key)
            if known is not new:
                self._notify_all(known, new)
                await self._pacer.yield_if_due()

    def _notify_all(self, old: T | None, new: T | None) -> None:
        for listener in (*self._listeners,):
            self._notify(listener, old, new)

    def _notify(self, listener: Listener[T], old: T | None, new: T | None) -> None:
        try:
            listener(old, new)
        except Exception:
            # A failing listener must not stop the others, or the updates of the state.
            logger.exception("listener failed", extra=self._fields)

    @property
    def _fields(self) -> dict[str, object]:
        return {"kind": self.kind.name, "api_version": self.kind.api_version}
