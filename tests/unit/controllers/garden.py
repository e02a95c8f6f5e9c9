"""An API server in memory and replicas whose caches lag behind it, for placements under faults."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tests.clocks import FakeClock
from webhook.api import patches
from webhook.api.core import ConfigMap
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.shoots import Shoot
from webhook.api.versions import covers
from webhook.cluster.cache import ASSUMED_FOR
from webhook.cluster.client import Page
from webhook.cluster.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    NotFoundError,
    UnreachableError,
)
from webhook.cluster.requests import Request, Selection
from webhook.controllers import scheduler
from webhook.domain.options import Options
from webhook.state.memory import Memory
from webhook.state.snapshot import Snapshot
from webhook.state.store import Entry

CONFIG_MAP = kind_of_model(ConfigMap)
LOST = "lost"
"""A write that is carried out, but whose answer never comes."""


class Server:
    """Objects with versions; every change is an event that replicas see when they look."""

    def __init__(self) -> None:
        self.objects: dict[tuple[type[Object], ObjectKey], Draft] = {}
        self.events: list[tuple[type[Object], ObjectKey, Draft | None]] = []

    @property
    def version(self) -> int:
        return len(self.events)

    def put(self, model: type[Object], body: Raw) -> Draft:
        metadata = dict(body["metadata"])
        key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        number = self.version + 1
        metadata.setdefault("uid", f"uid-{number}")
        metadata.setdefault("creationTimestamp", f"2026-01-01T00:00:{number % 60:02}Z")
        obj = {**body, "metadata": {**metadata, "resourceVersion": str(number)}}
        self.objects[model, key] = obj
        self.events.append((model, key, obj))
        return obj

    def drop(self, model: type[Object], key: ObjectKey) -> None:
        del self.objects[model, key]
        self.events.append((model, key, None))

    def find(self, model: type[Object], key: ObjectKey) -> Draft:
        try:
            return self.objects[model, key]
        except KeyError:
            details = {"name": key.name}
            raise NotFoundError(404, "NotFound", f"{key} not found", details) from None

    def change(self, model: type[Object], key: ObjectKey, change: Raw) -> Draft:
        """Apply a merge patch that may insist on a uid and a version."""
        old = self.find(model, key)
        new: Any = patches.merge(old, change)
        for name in ("uid", "resourceVersion"):
            if new["metadata"][name] != old["metadata"][name]:
                raise ConflictError(409, "Conflict", f"{name} differs")
        return self.put(model, new)

    def read(self, model: type[Object]) -> list[Any]:
        return [
            msgspec.json.decode(msgspec.json.encode(obj), type=model)
            for (kind, _key), obj in self.objects.items()
            if kind is model
        ]

    def snapshot(self, options: Options, clock: FakeClock) -> Snapshot:
        """Show everything as it is, for judging what replicas did."""
        objects = [obj for model in scheduler.HELPFUL for obj in self.read(model)]
        return Snapshot.of(objects, options=options, taken_at=clock.now())


class Replica:
    """Client and cache of one process."""

    def __init__(self, server: Server, clock: FakeClock, options: Options) -> None:
        self.server = server
        self.clock = clock
        self.memory = Memory(scheduler.HELPFUL, options=options)
        self.seen = 0
        self.stale: frozenset[type[Object]] = frozenset()
        self.faults: list[ApiError | str] = []
        self.unserved: frozenset[type[Object]] = frozenset()
        self._listeners: dict[type[Object], list[Callable[[Any, Any], None]]] = {}
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    # The client.

    async def patch(
        self,
        kind: Kind,
        key: ObjectKey,
        change: Raw,
        *,
        subresource: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Draft:
        return await self._write(lambda: self.server.change(kind.model, key, change))

    async def send(self, request: Request, timeout: float = 15.0) -> bytes:
        parts = request.path.split("/")
        model: type[Object] = ConfigMap if "configmaps" in parts else Shoot
        namespace = parts[parts.index("namespaces") + 1]
        key = ObjectKey(namespace, parts[-1])
        if request.method == "GET":
            await asyncio.sleep(0)
            return msgspec.json.encode(self.server.find(model, key))
        body = msgspec.json.decode(request.body or b"{}")
        if request.method == "POST":
            return msgspec.json.encode(await self._write(lambda: self._create(model, body)))
        return msgspec.json.encode(await self._write(lambda: self._update(model, key, body)))

    async def page(self, selection: Selection, token: str = "", limit: int = 0) -> Page:
        await asyncio.sleep(0)
        found = [
            msgspec.Raw(msgspec.json.encode(obj))
            for (model, _key), obj in self.server.objects.items()
            if model is selection.kind.model
        ]
        return Page(found, str(self.server.version), "")

    async def get(self, kind: Kind, key: ObjectKey) -> Draft:
        await asyncio.sleep(0)
        return self.server.find(kind.model, key)

    async def delete(self, kind: Kind, key: ObjectKey, *, uid: str = "", version: str = "") -> None:
        await asyncio.sleep(0)
        self.server.drop(kind.model, key)

    def _create(self, model: type[Object], body: Draft) -> Draft:
        key = ObjectKey(body["metadata"].get("namespace", ""), body["metadata"]["name"])
        if (model, key) in self.server.objects:
            raise AlreadyExistsError(409, "AlreadyExists", f"{key} exists")
        return self.server.put(model, body)

    def _update(self, model: type[Object], key: ObjectKey, body: Draft) -> Draft:
        old = self.server.find(model, key)
        if body["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "resourceVersion differs")
        metadata = {**body["metadata"], "uid": old["metadata"]["uid"]}
        return self.server.put(model, {**body, "metadata": metadata})

    async def _write(self, write: Callable[[], Draft]) -> Draft:
        await asyncio.sleep(0)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, ApiError):
            raise fault
        answer = write()
        await asyncio.sleep(0)
        if fault == LOST:
            raise UnreachableError("no answer in time")
        return answer

    # The cache.

    def look(self, events: int | None = None) -> None:
        """See some of the events that were missed, or all."""
        until = (
            self.server.version if events is None else min(self.server.version, self.seen + events)
        )
        while self.seen < until:
            model, key, body = self.server.events[self.seen]
            self.seen += 1
            if not self.watches(model) or (model is ConfigMap and not _is_table(body)):
                continue
            entry: Entry[Any] | None = None
            if body is not None:
                raw = msgspec.json.encode(body)
                entry = Entry(msgspec.json.decode(raw, type=model), raw)
            old = self.memory.observe(model, key, entry, str(self.seen))
            for listener in [*self._listeners.get(model, [])]:
                listener(old, entry.object if entry else None)
        for wanted, seen in self._waiting:
            if covers(str(self.seen), wanted) and not seen.done():
                seen.set_result(None)

    def snapshot(self) -> Snapshot:
        self.memory.expire(self.clock.now())
        snapshot = Snapshot(self.memory, self.clock.now(), stale=self.stale, unserved=self.unserved)
        asyncio.get_running_loop().call_soon(snapshot.expire)
        return snapshot

    def watches(self, model: type[Object]) -> bool:
        return model in self.memory

    def peek(self, model: type[Any], key: ObjectKey) -> Any:
        return self.memory.get(model, key)

    async def wait_seen(self, model: type[Object], version: str) -> None:
        if not covers(str(self.seen), version):
            seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((version, seen))
            await seen

    def add_listener(
        self, model: type[Any], listener: Callable[[Any, Any], None], *, replay: bool = True
    ) -> None:
        self._listeners.setdefault(model, []).append(listener)

    def remove_listener(self, model: type[Any], listener: Callable[[Any, Any], None]) -> None:
        self._listeners[model].remove(listener)

    def assume(self, obj: Object) -> None:
        expires = self.clock.now() + ASSUMED_FOR
        self.memory.assume(type(obj), obj.key, Entry(obj), expires, obj.resource_version)

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None:
        self.memory.confirm(model, key, version)

    def forget(self, model: type[Object], key: ObjectKey) -> None:
        self.memory.forget(model, key)


def _is_table(body: Draft | None) -> bool:
    labels = (body or {}).get("metadata", {}).get("labels") or {}
    return "scheduling.gardener.cloud/purpose" in labels
