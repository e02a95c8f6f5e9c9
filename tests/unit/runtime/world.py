"""An API and a cache in memory: writes are compared and swapped, the watch runs when told."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tests.clocks import FakeClock
from webhook.api import patches
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.versions import covers
from webhook.cluster.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from webhook.cluster.requests import Propagation
from webhook.state.memory import Memory
from webhook.state.questions import Answers, Get, Question
from webhook.state.snapshot import Snapshot
from webhook.state.store import Entry

T = TypeVar("T", bound=Object)


class World:
    def __init__(self, clock: FakeClock, *models: type[Object], live: bool = True) -> None:
        self.clock = clock
        self.live = live
        self.memory = Memory(models)
        self.objects: dict[tuple[str, ObjectKey], Draft] = {}
        self.stale: frozenset[type[Object]] = frozenset()
        self.unserved: frozenset[type[Object]] = frozenset()
        self.calls: list[tuple[str, str]] = []
        self.fails: list[ApiError] = []
        self.asked: list[str] = []
        self.unseen_namespace = "elsewhere"
        self._version = 0
        self._seen = 0
        self._undelivered: list[tuple[int, Kind, ObjectKey, Draft | None]] = []
        self._listeners: dict[type[Object], list[Callable[[Any, Any], None]]] = {}
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    # The API.

    def put(self, kind: Kind, body: Draft) -> Draft:
        self._version += 1
        metadata = {"uid": f"uid-{self._version}", **body.get("metadata", {})}
        metadata["resourceVersion"] = str(self._version)
        obj = {**body, "metadata": metadata}
        key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        self.objects[kind.name, key] = obj
        self._changed(kind, key, obj)
        return obj

    async def create(
        self, kind: Kind, key: ObjectKey, draft: Raw, *, query: Mapping[str, str] | None = None
    ) -> Draft:
        await self._call("create", kind, key)
        if (kind.name, key) in self.objects:
            raise AlreadyExistsError(409, "AlreadyExists", f"{key} exists")
        return self.put(kind, dict(draft))

    async def patch(
        self,
        kind: Kind,
        key: ObjectKey,
        change: Raw | Sequence[Raw],
        *,
        subresource: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Draft:
        await self._call("patch", kind, key)
        old = self._find(kind, key)
        new: Any
        if isinstance(change, Mapping):
            new = patches.merge(old, dict(change))
        else:
            new = patches.apply(old, [dict(operation) for operation in change])
        for name in ("uid", "resourceVersion"):
            if new["metadata"][name] != old["metadata"][name]:
                raise ConflictError(409, "Conflict", f"{name} differs")
        return self.put(kind, new)

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
        await self._call("apply", kind, key)
        old = self.objects.get((kind.name, key), {})
        new: Any = patches.merge(old, dict(draft))
        return self.put(kind, new)

    async def delete(
        self,
        kind: Kind,
        key: ObjectKey,
        *,
        uid: str = "",
        version: str = "",
        propagation: Propagation = "Background",
    ) -> Draft:
        await self._call("delete", kind, key)
        old = self._find(kind, key)
        if uid and uid != old["metadata"]["uid"]:
            raise ConflictError(409, "Conflict", "uid differs")
        if version and version != old["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "resourceVersion differs")
        del self.objects[kind.name, key]
        self._version += 1
        self._changed(kind, key, None)
        return {"kind": "Status", "status": "Success"}

    def _find(self, kind: Kind, key: ObjectKey) -> Draft:
        try:
            return self.objects[kind.name, key]
        except KeyError:
            raise NotFoundError(404, "NotFound", f"{key} not found") from None

    async def _call(self, verb: str, kind: Kind, key: ObjectKey) -> None:
        self.calls.append((verb, f"{kind.name} {key}"))
        await asyncio.sleep(0)
        if self.fails:
            raise self.fails.pop(0)

    # The watch and the cache.

    def _changed(self, kind: Kind, key: ObjectKey, obj: Draft | None) -> None:
        self._undelivered.append((self._version, kind, key, obj))
        if self.live:
            self.deliver()

    def deliver(self) -> None:
        undelivered, self._undelivered = self._undelivered, []
        for version, kind, key, body in undelivered:
            if self.watches(kind.model):
                entry: Entry[Any] | None = None
                if body is not None:
                    raw = msgspec.json.encode(body)
                    entry = Entry(msgspec.json.decode(raw, type=kind.model), raw)
                old = self.memory.observe(kind.model, key, entry, str(version))
                new = entry.object if entry else None
                for listener in [*self._listeners.get(kind.model, [])]:
                    listener(old, new)
            self._seen = version
        for wanted, seen in self._waiting:
            if covers(str(self._seen), str(wanted)) and not seen.done():
                seen.set_result(None)

    def snapshot(self, answers: Answers | None = None) -> Snapshot:
        now = self.clock.now()
        snapshot = Snapshot(
            self.memory, now, answers=answers, stale=self.stale, unserved=self.unserved
        )
        asyncio.get_running_loop().call_soon(snapshot.expire)
        return snapshot

    async def answer(self, questions: Iterable[Question], seconds: float) -> Answers:
        await asyncio.sleep(0)
        return {question: self._answer_one(question) for question in questions}

    def _answer_one(self, question: Question) -> Object | bool | None:
        if not isinstance(question, Get):
            return False
        self.asked.append(f"{question.model.__name__} {question.key}")
        found = self.objects.get((kind_of_model(question.model).name, question.key))
        return None if found is None else msgspec.convert(found, question.model)

    def watches(self, model: type[Object]) -> bool:
        return model in self.memory

    def covers(self, model: type[Object], key: ObjectKey) -> bool:
        return self.watches(model) and key.namespace != self.unseen_namespace

    def peek(self, model: type[T], key: ObjectKey) -> T | None:
        return self.memory.get(model, key)

    async def wait_seen(self, model: type[Object], version: str) -> None:
        if not covers(str(self._seen), version):
            seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((int(version), seen))
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
