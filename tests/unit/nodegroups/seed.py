"""A seed in memory: MachineDeployments with versions, servers whose caches lag behind them."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from typing_extensions import override

from tests.clocks import FakeClock
from tests.machines import SHOOT_NAMESPACE, make_deployment, make_machine, make_set
from tests.unit.controllers.garden import Replica, Server
from webhook.api.kinds import Kind
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.poolobjects import PoolObject
from webhook.cluster.cache import ASSUMED_FOR
from webhook.cluster.client import Page
from webhook.cluster.documents import read
from webhook.cluster.errors import ApiError, UnreachableError
from webhook.cluster.requests import Request, Selection
from webhook.domain import poolencoding
from webhook.domain.groups import Group
from webhook.domain.options import Options
from webhook.domain.poolrecord import Record
from webhook.nodegroups.catchup import CatchUp
from webhook.nodegroups.metrics import GroupMetrics
from webhook.nodegroups.provider import Caller, Provider
from webhook.nodegroups.record import Records
from webhook.nodegroups.resizing import Resizer
from webhook.nodegroups.views import FOLLOWED, Views
from webhook.runtime.metrics import Metrics
from webhook.state.memory import Memory

NAMESPACE = "espalier-system"
CALLER = Caller("ipv4:127.0.0.1:1", SHOOT_NAMESPACE)


HELD = "held"
"""A write that is on its way for long: it comes when the test says so, whoever still waits."""


class Late(NamedTuple):
    """A write on its way, and whoever waits for its answer."""

    write: Callable[[], Draft]
    answer: asyncio.Future[Draft]


class Seed(Server):
    """The API server of a seed; a changed spec is a new generation."""

    def __init__(self) -> None:
        super().__init__()
        self.late: list[Late] = []

    def arrive(self) -> None:
        """Let every write come that is on its way."""
        late, self.late = self.late, []
        for write, answer in late:
            try:
                done = write()
            except ApiError as error:
                if not answer.done():
                    answer.set_exception(error)
            else:
                if not answer.done():
                    answer.set_result(done)

    @override
    def put(self, model: type[Object], body: Raw) -> Draft:
        metadata = dict(body["metadata"])
        key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        old = self.objects.get((model, key))
        if old is not None and old.get("spec") != body.get("spec"):
            metadata["generation"] = old["metadata"].get("generation", 1) + 1
        metadata.pop("resourceVersion", None)
        return super().put(model, {**body, "metadata": metadata})

    def add_pool(
        self, *replicas: int, bounds: tuple[int, int] | None = (3, 4), **rest: Any
    ) -> None:
        """Add a pool, a zone for each number of replicas."""
        for zone, size in enumerate(replicas):
            self.put(
                MachineDeployment, make_deployment(zone=zone, replicas=size, bounds=bounds, **rest)
            )

    def add_machines(self, zone: int, *phases: str, suffix: str = "1", **rest: Any) -> list[str]:
        """Add a set to a zone, with a machine for each phase, and name the machines."""
        deployment = self.objects[MachineDeployment, zone_key(zone)]
        owner = self.put(MachineSet, make_set(deployment, suffix))
        made = [
            self.put(Machine, make_machine(owner, f"{suffix}{number}", phase, **rest))
            for number, phase in enumerate(phases)
        ]
        return [str(each["metadata"]["name"]) for each in made]

    def sizes(self) -> list[int]:
        """Tell the sizes of all zones, by name."""
        found = {
            key: obj for (model, key), obj in self.objects.items() if model is MachineDeployment
        }
        return [found[key]["spec"]["replicas"] for key in sorted(found)]

    def record(self) -> Record:
        """Read the only record there is."""
        for (model, _key), obj in self.objects.items():
            if model is PoolObject:
                record = poolencoding.decode(msgspec.convert(obj, PoolObject))
                assert record is not None
                return record
        raise AssertionError("there is no record")


class SeedServer(Replica):
    """One server beside a seed: client, cache and the service on top of them."""

    def __init__(self, seed: Seed, clock: FakeClock, options: Options | None = None) -> None:
        super().__init__(seed, clock, options or Options())
        self.memory = Memory(FOLLOWED, options=options or Options())
        self.seed = seed
        self.is_away = False
        self.managers: list[str] = []
        """Under which name each patch was sent."""
        self.earlier: dict[type[Object], Page] = {}
        """Lists that were read before what happened since, each given once."""
        self.views = Views(self, clock)
        self.views.follow()
        client: Any = self
        self.records = Records(client, self, NAMESPACE, clock)
        self.resizer = Resizer(client, self, self.records, self.views, clock)
        self.metrics = GroupMetrics(Metrics().registry)
        catch_up = CatchUp(client, self, clock)
        self.provider = Provider(self.views, self.resizer, catch_up, self.metrics)

    @override
    async def send(self, request: Request, timeout: float = 15.0) -> bytes:
        if self.is_away:
            await asyncio.sleep(0)
            raise UnreachableError("nobody answers")
        parts = request.path.split("/")
        models: dict[str, type[Object]] = {
            "configmaps": PoolObject,
            "machinedeployments": MachineDeployment,
        }
        model = next(models[part] for part in parts if part in models)
        key = ObjectKey(parts[parts.index("namespaces") + 1], parts[-1])
        body = msgspec.json.decode(request.body or b"{}")
        if request.method == "GET":
            await asyncio.sleep(0)
            return msgspec.json.encode(self.server.find(model, key))
        if request.method == "POST":
            return msgspec.json.encode(await self._write(lambda: self._create(model, body)))
        if request.method == "PUT":
            return msgspec.json.encode(await self._write(lambda: self._update(model, key, body)))
        self.managers.append(request.query.get("fieldManager", ""))
        changed = await self._write(lambda: self.server.change(model, key, body))
        return msgspec.json.encode(changed)

    @override
    async def _write(self, write: Callable[[], Draft]) -> Draft:
        if self.faults and self.faults[0] == HELD:
            self.faults.pop(0)
            late = Late(write, asyncio.get_running_loop().create_future())
            self.seed.late.append(late)
            return await late.answer
        return await super()._write(write)

    @override
    async def page(self, selection: Selection, token: str = "", limit: int = 0) -> Page:
        if self.is_away:
            raise UnreachableError("nobody answers")
        await asyncio.sleep(0)
        if selection.kind.model in self.earlier:
            return self.earlier.pop(selection.kind.model)
        found = [
            msgspec.Raw(msgspec.json.encode(obj))
            for (model, key), obj in self.server.objects.items()
            if model is selection.kind.model and selection.namespace in ("", key.namespace)
        ]
        return Page(found, str(self.server.version), "")

    def assume_written(self, kind: Kind, document: bytes) -> None:
        found = read(kind, document)
        self.memory.assume(kind.model, found.key, found.entry, self.clock.now() + ASSUMED_FOR)
        self.memory.confirm(kind.model, found.key, found.version)

    def group(self, zone: int) -> Group:
        return self.views.get(SHOOT_NAMESPACE).groups[group_id(zone)]


def zone_key(zone: int) -> ObjectKey:
    return ObjectKey(SHOOT_NAMESPACE, f"{SHOOT_NAMESPACE}-pool-z{zone + 1}")


def group_id(zone: int) -> str:
    return f"{SHOOT_NAMESPACE}.{zone_key(zone).name}"
