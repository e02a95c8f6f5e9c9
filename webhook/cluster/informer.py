"""Bring what a reflector reads into memory, and tell listeners what has changed."""

import asyncio
import logging
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar, cast

import msgspec

from webhook.api.decode import Fault
from webhook.api.kinds import Kind
from webhook.api.meta import Object, ObjectKey
from webhook.api.versions import covers
from webhook.cluster.documents import Document, gone, read
from webhook.cluster.errors import UNREADABLE
from webhook.cluster.events import Change
from webhook.cluster.pacing import Pacer
from webhook.state.memory import Memory
from webhook.state.store import Entry, Store

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Object)

Listener: TypeAlias = Callable[[T | None, T | None], None]
"""Told what an object was and what it is; None where it was not there, or is no more."""

_Put: TypeAlias = Callable[[ObjectKey, Entry[T] | None], T | None]


class Informer(Generic[T]):
    """Keep one kind in memory as the server has it.

    Listeners are told after memory has changed, in the order of each object's changes, and of
    every object that a relist finds gone.
    """

    def __init__(self, kind: Kind, memory: Memory, pacer: Pacer) -> None:
        self.kind = kind
        self._model = cast("type[T]", kind.model)
        self._memory = memory
        self._pacer = pacer
        self._staged = memory.stage(self._model)
        self._listeners: list[Listener[T]] = []
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self.version = ""

    @property
    def store(self) -> Store[T]:
        return self._memory.store(self._model)

    def add_listener(self, listener: Listener[T], *, replay: bool = True) -> None:
        """Tell a listener of everything that is there, and of every change from now on.

        Without the replay it is the listener's to look at what is there, at its own pace.
        """
        self._listeners.append(listener)
        if replay:
            for obj in [*self.store.list()]:
                self._tell(listener, None, obj)

    def remove_listener(self, listener: Listener[T]) -> None:
        """Tell a listener no more."""
        self._listeners.remove(listener)

    async def wait_seen(self, version: str) -> None:
        """Wait until memory is at least as new as a version; the caller sets the deadline."""
        if not covers(self.version, version):
            seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((version, seen))
            await seen

    def begin(self) -> None:
        self._staged = self._memory.stage(self._model)

    def item(self, change: Change, document: msgspec.Raw) -> None:
        found = self._read(change, document)
        if found is None:
            return
        self._keep(found._replace(entry=self._known(found) or found.entry), self._staged.set)

    async def commit(self, version: str) -> None:
        staged, self._staged = self._staged, self._memory.stage(self._model)
        before = self._memory.adopt(staged, version)
        self._see(version)
        await self._tell_differences(before)

    def event(self, change: Change, document: msgspec.Raw) -> str:
        found = self._read(change, document)
        if found is None:
            return self.version
        version = found.version
        old, new = self._keep(
            found, lambda key, entry: self._memory.observe(self._model, key, entry, version)
        )
        self._see(version)
        self._announce(old, new)
        return version

    def bookmark(self, version: str) -> None:
        self._memory.observe_version(self._model, version)
        self._see(version)

    async def clear(self) -> None:
        before = self._memory.adopt(self._memory.stage(self._model), "")
        self._see("")
        await self._tell_differences(before)

    def _read(self, change: Change, document: msgspec.Raw) -> Document | None:
        try:
            found = read(self.kind, document) if change != "DELETED" else gone(document)
        except UNREADABLE as error:
            logger.warning("object without a name", extra=self._fields | {"error": str(error)})
            return None
        if found.entry is not None and found.entry.faults:
            fields = {"object": str(found.key), "fault": ": ".join(found.entry.faults[0][:2])}
            logger.warning("object does not decode", extra=self._fields | fields)
        return found

    def _known(self, found: Document) -> Entry[T] | None:
        """Give what is held already of the same version, so that a relist costs no memory."""
        if found.key in self._memory.overlay(self._model):
            return None
        held = self.store.entry(found.key)
        new = found.entry.object if found.entry else None
        if held is None or held.object is None or new is None:
            return None
        same = (held.object.uid, held.object.resource_version) == (new.uid, new.resource_version)
        return held if same and new.resource_version else None

    def _keep(self, found: Document, put: _Put[T]) -> tuple[T | None, T | None]:
        """Put an object into memory; one that a table's function stumbles over is left out."""
        entry: Entry[T] | None = found.entry
        try:
            return put(found.key, entry), entry.object if entry else None
        except Exception as error:
            logger.exception("object cannot be indexed", extra=self._fields)
            fault = Fault("", f"cannot be indexed: {error}")
        return put(found.key, Entry(None, entry.raw if entry else None, (fault,))), None

    def _see(self, version: str) -> None:
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

    async def _tell_differences(self, before: Store[T]) -> None:
        after = self.store
        for old in [*before.list()]:
            if after.get(old.key) is None:
                self._announce(old, None)
                await self._pacer.breathe()
        for new in [*after.list()]:
            known = before.get(new.key)
            if known is not new:
                self._announce(known, new)
                await self._pacer.breathe()

    def _announce(self, old: T | None, new: T | None) -> None:
        for listener in (*self._listeners,):
            self._tell(listener, old, new)

    def _tell(self, listener: Listener[T], old: T | None, new: T | None) -> None:
        try:
            listener(old, new)
        except Exception:
            # One that cannot cope must not keep the others, or memory, from going on.
            logger.exception("listener failed", extra=self._fields)

    @property
    def _fields(self) -> dict[str, object]:
        return {"kind": self.kind.name, "api_version": self.kind.api_version}
