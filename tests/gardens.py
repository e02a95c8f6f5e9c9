"""A garden in memory: an API that keeps its rules, controllers that run by turns, no time passes.

The API keeps generations, finalizers, preconditions, subresources and, roughly, who owns which
field. The gardenlets are those of the local provider. A test moves the clock.
"""

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from typing_extensions import override

from tests.clocks import FakeClock
from tests.unit.runtime.world import World
from webhook.api import patches
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap, ControllerRevision, Lease
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.projects import CredentialsBinding, Project, SecretBinding
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.api.timestamps import format_time
from webhook.cli.dev.provider import PARTS
from webhook.cluster.errors import ConflictError, InvalidError
from webhook.cluster.requests import Propagation
from webhook.controllers.capacity import CAPACITY
from webhook.controllers.care import CARE
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.controllers.managedseedset.controller import MANAGED_SEED_SET
from webhook.domain.options import Options
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.recorder import Recorder
from webhook.runtime.rows import Controller, RefusedError
from webhook.runtime.writer import Writer

T = TypeVar("T", bound=Object)

MODELS: tuple[type[Object], ...] = (
    *(ConfigMap, ControllerRevision, Lease, ManagedSeed, ManagedSeedSet, SeedAutoscaler, Seed),
    *(Shoot, SecretBinding, CredentialsBinding, CloudProfile, NamespacedCloudProfile, Project),
)
PLAYED = tuple(part for part in PARTS if part.model in (Seed, Shoot))
OURS = (MANAGED_SEED_SET, MANAGED_SEED, CARE, CAPACITY)


class Rules(World):
    """The API of the world, with the rules that controllers rely on."""

    def __init__(self, clock: FakeClock, *models: type[Object]) -> None:
        super().__init__(clock, *models)
        self.applied: dict[tuple[str, ObjectKey, str], Draft] = {}
        self.refuses: Callable[[Kind, Raw], str | None] = lambda _kind, _body: None
        self.before_write: Callable[[], None] = lambda: None
        self.writes: list[tuple[str, str, str]] = []

    def make(self, kind: Kind, body: Raw) -> Draft:
        metadata = {
            "generation": 1,
            "creationTimestamp": format_time(self.clock.now()),
            **body.get("metadata", {}),
        }
        return self.put(kind, {**body, "metadata": metadata})

    @override
    async def create(
        self, kind: Kind, key: ObjectKey, draft: Raw, *, query: Mapping[str, str] | None = None
    ) -> Draft:
        self._note("create", kind, key)
        if (kind.name, key) not in self.objects:
            self._judge(kind, draft)
        created = await super().create(kind, key, draft, query=query)
        created["metadata"].setdefault("generation", 1)
        return created

    @override
    async def patch(
        self,
        kind: Kind,
        key: ObjectKey,
        change: Raw | Sequence[Raw],
        *,
        subresource: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Draft:
        self._note(f"patch {subresource}".strip(), kind, key)
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
        return self._store(kind, key, old, new, subresource)

    @override
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
        self._note("apply", kind, key)
        await self._call("apply", kind, key)
        self._judge(kind, draft)
        before = self.applied.get((kind.name, key, manager), {})
        self.applied[kind.name, key, manager] = copy.deepcopy(dict(draft))
        old = self.objects.get((kind.name, key))
        if old is None:
            return self.make(kind, draft)
        kept = _without(old, before, draft)
        new: Draft = patches.merge(kept, dict(draft))
        for name, by in (("finalizers", None), ("ownerReferences", "uid")):
            some = kept["metadata"].get(name) or []
            more = draft["metadata"].get(name) or []
            if some or more:
                new["metadata"][name] = _union(some, more, by)
        return self._store(kind, key, old, new, subresource)

    @override
    async def delete(
        self,
        kind: Kind,
        key: ObjectKey,
        *,
        uid: str = "",
        version: str = "",
        propagation: Propagation = "Background",
    ) -> Draft:
        old = self._find(kind, key)
        self._note("delete", kind, key)
        if not old["metadata"].get("finalizers"):
            return await super().delete(kind, key, uid=uid, version=version)
        await self._call("delete", kind, key)
        if uid and uid != old["metadata"]["uid"]:
            raise ConflictError(409, "Conflict", "uid differs")
        if version and version != old["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "resourceVersion differs")
        if old["metadata"].get("deletionTimestamp"):
            return old
        new = copy.deepcopy(old)
        new["metadata"]["deletionTimestamp"] = format_time(self.clock.now())
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        return self.put(kind, new)

    def _store(self, kind: Kind, key: ObjectKey, old: Draft, new: Draft, sub: str) -> Draft:
        if sub == "status":
            new = {**old, "status": new.get("status") or {}}
        else:
            new = {**new, "status": old.get("status") or {}}
        if new == old:
            return old
        if sub != "status" and self.is_raised(kind, old, new):
            new["metadata"] = {
                **new["metadata"],
                "generation": old["metadata"].get("generation", 0) + 1,
            }
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            del self.objects[kind.name, key]
            self._version += 1
            self._changed(kind, key, None)
            return {"kind": "Status", "status": "Success"}
        return self.put(kind, new)

    def is_raised(self, kind: Kind, old: Draft, new: Draft) -> bool:
        """Tell whether a write raises the generation; it may still be changed here."""
        return bool(new.get("spec") != old.get("spec"))

    def _note(self, verb: str, kind: Kind, key: ObjectKey) -> None:
        self.before_write()
        self.writes.append((verb, kind.name, str(key)))

    def _judge(self, kind: Kind, draft: Raw) -> None:
        message = self.refuses(kind, draft)
        if message:
            causes = [{"field": message.partition(":")[0], "message": message.partition(": ")[2]}]
            raise InvalidError(422, "Invalid", message, {"causes": causes})


class Garden:
    """The world with controllers in it."""

    rules: type[Rules] = Rules

    def __init__(
        self, options: Options | None = None, rows: Sequence[Controller] = (*OURS, *PLAYED)
    ) -> None:
        self.clock = FakeClock()
        self.api = self.rules(self.clock, *MODELS)
        if options is not None:
            self.api.memory.configure(options)
        self.metrics = Metrics()
        self.rows = rows
        self.after_pass: Callable[[], None] = lambda: None
        self.actor = ""
        self.start()

    def start(self) -> None:
        """Begin anew, as a process that knows nothing."""
        self.recorder = Recorder(self.api, "test", self.clock, self.metrics)
        writer = Writer(self.api, self.metrics)
        self.reconcilers = [
            (
                row,
                Reconciler(
                    row, self.api, writer, self.recorder, Expectations(self.api, self.clock)
                ),
            )
            for row in self.rows
        ]
        self.due: dict[tuple[str, ObjectKey], float] = {}

    def put(self, body: Draft) -> Draft:
        kind = next(
            kind_of_model(model) for model in MODELS if kind_of_model(model).name == body["kind"]
        )
        return self.api.make(kind, copy.deepcopy(body))

    def get(self, model: type[T], name: str, namespace: str = "garden") -> T:
        found = self.find(model, name, namespace)
        assert found is not None, f"{model.__name__} {name} is not there"
        return found

    def find(self, model: type[T], name: str, namespace: str = "garden") -> T | None:
        key = ObjectKey(namespace if kind_of_model(model).namespaced else "", name)
        return self.api.memory.get(model, key)

    def names(self, model: type[Object]) -> list[str]:
        return sorted(obj.name for obj in self.api.memory.store(model).list())

    async def change(self, model: type[Object], name: str, change: Draft, **more: str) -> None:
        kind = kind_of_model(model)
        key = ObjectKey(more.get("namespace", "garden") if kind.namespaced else "", name)
        await self.api.patch(kind, key, change, subresource=more.get("subresource", ""))

    async def delete(self, model: type[Object], name: str, namespace: str = "garden") -> None:
        kind = kind_of_model(model)
        await self.api.delete(kind, ObjectKey(namespace if kind.namespaced else "", name))

    async def turn(self) -> int:
        """Let every controller look at every object once; return how much they wrote."""
        before = len(self.api.writes)
        for row, reconciler in self.reconcilers:
            self.actor = row.name
            for key in [obj.key for obj in self.api.memory.store(row.model).list()]:
                try:
                    result = await reconciler.reconcile(key)
                except (RefusedError, ConflictError):
                    continue
                if result.requeue_after is not None:
                    self.due[row.name, key] = self.clock.monotonic() + result.requeue_after
                self.after_pass()
        self.actor = ""
        await self.recorder.flush()
        return len(self.api.writes) - before

    async def run(self, seconds: float = 600, until: Callable[[], bool] = lambda: False) -> None:
        """Let controllers work and time pass, until something holds or the time is over."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            for _ in range(50):
                if until():
                    return
                if not await self.turn():
                    break
                await asyncio.sleep(0)
            self.clock.pass_time(1.0)

    def events(self) -> list[tuple[str, str]]:
        found = [body for (kind, _), body in self.api.objects.items() if kind == "Event"]
        return [(body["reason"], body["message"]) for body in found]


def _without(old: Any, before: Any, now: Any) -> Any:
    """Take out of an object what a manager applied before and no longer does."""
    if not (isinstance(old, dict) and isinstance(before, dict) and isinstance(now, Mapping)):
        return old
    result = {}
    for key, value in old.items():
        if key in before and key not in now:
            continue
        result[key] = _without(value, before.get(key), now.get(key)) if key in now else value
    return result


def _union(some: list[Any], more: list[Any], by: str | None) -> list[Any]:
    def key(each: Any) -> Any:
        return each[by] if by else each

    fresh = [key(each) for each in more]
    return [each for each in some if key(each) not in fresh] + more
