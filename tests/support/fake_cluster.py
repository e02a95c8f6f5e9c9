"""A process over the fake API server: its client, and its cache with the lag a test wants."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.fake_api_server import FakeApiServer
from webhook.api.kinds import KINDS, Kind
from webhook.api.pool_records import POOL_RECORD
from webhook.cluster.cache import ASSUMED_FOR
from webhook.cluster.documents import read
from webhook.cluster.errors import ApiError, NotFoundError, UnreachableError
from webhook.cluster.lists import ListReader, Page
from webhook.cluster.requests import ApiRequest, Propagation, Selection
from webhook.domain.options import Options
from webhook.kube.meta import Draft, Object, ObjectKey, Raw
from webhook.kube.resource_versions import covers
from webhook.state.cluster_state import ClusterState
from webhook.state.live_reads import LiveGet, LiveRead, LiveResults
from webhook.state.snapshot import Snapshot
from webhook.state.store import StoreEntry

T = TypeVar("T", bound=Object)

LOST = "lost"
"""A fault: the write is carried out, but its response never arrives."""


class Call(NamedTuple):
    """A write that a client sent; the verb has the subresource, as in `patch status`."""

    verb: str
    kind: str
    key: str


class FakeCluster(ListReader):
    """The client and the cache of one process.

    A live cache sees every event at once; another one when the test calls `deliver`.
    """

    def __init__(
        self,
        clock: FakeClock,
        *models: type[Object],
        server: FakeApiServer | None = None,
        live: bool = True,
        options: Options | None = None,
    ) -> None:
        self.clock = clock
        self.server = server or FakeApiServer(clock)
        self.memory = ClusterState(models, options=options or Options())
        self.stale: frozenset[type[Object]] = frozenset()
        self.unserved: frozenset[type[Object]] = frozenset()
        self.calls: list[Call] = []
        self.faults: list[ApiError | str] = []
        """What happens to the next writes; an empty text is no fault."""
        self.before_write: Callable[[], None] = lambda: None
        self.live_reads: list[str] = []
        self.paths: dict[str, Draft] = {}
        """Responses to GET of paths that are none of our kinds."""
        self.unseen_namespace = "elsewhere"
        self.seen = 0
        self._listeners: dict[type[Object], list[Callable[[Any, Any], None]]] = {}
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        if live:
            self.server.watchers.append(self.deliver)

    @property
    def objects(self) -> dict[tuple[type[Object], ObjectKey], Draft]:
        return self.server.objects

    def put(self, kind: Kind, body: Raw) -> Draft:
        """Store an object past all rules, as a test does."""
        return self.server.put(kind.model, body)

    # The client.

    async def get(self, kind: Kind, key: ObjectKey) -> Draft:
        await asyncio.sleep(0)
        return self.server.find(kind.model, key)

    @override
    async def page(self, selection: Selection, token: str = "", limit: int = 0) -> Page:
        await asyncio.sleep(0)
        found = [
            msgspec.Raw(msgspec.json.encode(body))
            for (model, key), body in self.objects.items()
            if model is selection.kind.model and selection.namespace in ("", key.namespace)
        ]
        return Page(found, str(self.server.version), "")

    async def create(
        self, kind: Kind, key: ObjectKey, draft: Raw, *, query: Mapping[str, str] | None = None
    ) -> Draft:
        write = self.server.create
        return await self._call("create", kind, key, lambda: write(kind.model, key, draft))

    async def update(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft:
        write = self.server.update
        return await self._call("update", kind, key, lambda: write(kind.model, key, draft))

    async def patch(
        self,
        kind: Kind,
        key: ObjectKey,
        change: Raw | Sequence[Raw],
        *,
        subresource: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Draft:
        def patch() -> Draft:
            return self.server.patch(kind.model, key, change, subresource)

        return await self._call(f"patch {subresource}".strip(), kind, key, patch)

    async def apply(
        self,
        kind: Kind,
        key: ObjectKey,
        draft: Raw,
        *,
        manager: str,
        force: bool = True,
        subresource: str = "",
    ) -> Draft:
        def apply() -> Draft:
            return self.server.apply(kind.model, key, draft, manager, subresource)

        return await self._call("apply", kind, key, apply)

    async def delete(
        self,
        kind: Kind,
        key: ObjectKey,
        *,
        uid: str = "",
        version: str = "",
        propagation: Propagation = "Background",
    ) -> Draft:
        write = self.server.delete
        return await self._call("delete", kind, key, lambda: write(kind.model, key, uid, version))

    async def document(self, request: ApiRequest) -> Draft:
        if request.path in self.paths:
            return self.paths[request.path]
        found: Draft = msgspec.json.decode(await self.send(request))
        return found

    async def send(self, request: ApiRequest, timeout: float = 15.0) -> bytes:
        """Send a request for one object, as the client does without decoding."""
        kind, key = self._target(request.path)
        draft = msgspec.json.decode(request.body or b"{}")
        match request.method:
            case "GET":
                return msgspec.json.encode(await self.get(kind, key))
            case "POST":
                key = ObjectKey(key.namespace, draft["metadata"]["name"])
                return msgspec.json.encode(await self.create(kind, key, draft))
            case "PUT":
                return msgspec.json.encode(await self.update(kind, key, draft))
            case _:
                return msgspec.json.encode(await self.patch(kind, key, draft))

    def _target(self, path: str) -> tuple[Kind, ObjectKey]:
        own = [kind for kind in (POOL_RECORD, *KINDS) if self.watches(kind.model)]
        for kind in (*own, *KINDS):
            prefix = f"/apis/{kind.group}" if kind.group else "/api"
            root = f"{prefix}/{kind.version}/"
            parts = path.removeprefix(root).split("/")
            namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 2 else ""
            rest = parts[2:] if namespace else parts
            if path.startswith(root) and rest[0] == kind.plural:
                return kind, ObjectKey(namespace, rest[1] if len(rest) > 1 else "")
        raise NotFoundError(404, "NotFound", path)

    async def _call(
        self, verb: str, kind: Kind, key: ObjectKey, write: Callable[[], Draft]
    ) -> Draft:
        self.before_write()
        self.calls.append(Call(verb, kind.name, str(key)))
        return await self._write(write)

    async def _write(self, write: Callable[[], Draft]) -> Draft:
        await asyncio.sleep(0)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, ApiError):
            raise fault
        response = write()
        await asyncio.sleep(0)
        if fault == LOST:
            raise UnreachableError("no answer in time")
        return response

    # The cache.

    synced = True

    def deliver(self, events: int | None = None) -> None:
        """Pass events on to the cache and its listeners: all, or so many."""
        last = self.server.version
        until = last if events is None else min(last, self.seen + events)
        while self.seen < until:
            model, key, body = self.server.events[self.seen]
            self.seen += 1
            if self.watches(model) and self.selects(model, body):
                self._observe(model, key, body, self.seen)
        for wanted, seen in self._waiting:
            if covers(str(self.seen), wanted) and not seen.done():
                seen.set_result(None)

    def _observe(self, model: type[Any], key: ObjectKey, body: Draft | None, version: int) -> None:
        entry: StoreEntry[Any] | None = None
        if body is not None:
            raw = msgspec.json.encode(body)
            entry = StoreEntry(msgspec.json.decode(raw, type=model), raw)
        old = self.memory.observe(model, key, entry, str(version))
        for listener in [*self._listeners.get(model, [])]:
            listener(old, entry.object if entry else None)

    def selects(self, model: type[Object], body: Draft | None) -> bool:
        """Return whether the selection of a kind includes an object."""
        return True

    def snapshot(self, live_results: LiveResults | None = None) -> Snapshot:
        now = self.clock.now()
        self.memory.expire(now)
        snapshot = Snapshot(
            self.memory, now, live_results=live_results, stale=self.stale, unserved=self.unserved
        )
        asyncio.get_running_loop().call_soon(snapshot.expire)
        return snapshot

    async def read_live(self, live_reads: Iterable[LiveRead], seconds: float) -> LiveResults:
        await asyncio.sleep(0)
        return {each: self.read_one(each) for each in live_reads}

    def read_one(self, live_read: LiveRead) -> Object | bool | None:
        if not isinstance(live_read, LiveGet):
            return False
        self.live_reads.append(f"{live_read.model.__name__} {live_read.key}")
        found = self.objects.get((live_read.model, live_read.key))
        return None if found is None else msgspec.convert(found, live_read.model)

    def watches(self, model: type[Object]) -> bool:
        return model in self.memory

    def covers(self, model: type[Object], key: ObjectKey) -> bool:
        return self.watches(model) and key.namespace != self.unseen_namespace

    def peek(self, model: type[T], key: ObjectKey) -> T | None:
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

    @property
    def listeners(self) -> int:
        return sum(map(len, self._listeners.values()))

    def assume(self, obj: Object, raw: bytes | None = None) -> None:
        expires = self.clock.now() + ASSUMED_FOR
        self.memory.assume(type(obj), obj.key, StoreEntry(obj, raw), expires, obj.resource_version)

    def assume_written(self, kind: Kind, document: bytes) -> None:
        found = read(kind, document)
        self.memory.assume(kind.model, found.key, found.entry, self.clock.now() + ASSUMED_FOR)
        self.confirm(kind.model, found.key, found.version)

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None:
        self.memory.confirm(model, key, version)

    def forget(self, model: type[Object], key: ObjectKey) -> None:
        self.memory.forget(model, key)
