"""A fake seed in memory, and servers with caches that lag behind it."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.fake_api_server import FakeApiServer
from tests.support.fake_cluster import FakeCluster
from tests.support.machine_objects import SHOOT_NAMESPACE, make_deployment, make_machine, make_set
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.pool_records import PoolRecordObject
from webhook.cluster.errors import ApiError, UnreachableError
from webhook.cluster.lists import Page
from webhook.cluster.requests import ApiRequest, Selection
from webhook.domain.options import Options
from webhook.domain.pools import record_encoding
from webhook.domain.pools.node_groups import ZoneGroup
from webhook.domain.pools.pool_record import PoolRecord
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.nodegroups.catchup import CacheCatchUp
from webhook.nodegroups.metrics import GroupMetrics
from webhook.nodegroups.provider import Caller, Provider
from webhook.nodegroups.records import PoolRecords
from webhook.nodegroups.resizer import Resizer
from webhook.nodegroups.views import WATCHED_MODELS, Views
from webhook.runtime.metrics import Metrics

NAMESPACE = "espalier-system"
CALLER = Caller("ipv4:127.0.0.1:1", SHOOT_NAMESPACE)


DELAYED = "held"
"""A fault: the write is delayed until the test releases it, even if its caller has given up."""


class DelayedWrite(NamedTuple):
    """A delayed write, and the future of its answer."""

    write: Callable[[], Draft]
    answer: asyncio.Future[Draft]


class Seed(FakeApiServer):
    """The API server of a seed."""

    def __init__(self) -> None:
        super().__init__()
        self.delayed: list[DelayedWrite] = []

    def release_writes(self) -> None:
        """Carry out all delayed writes."""
        delayed, self.delayed = self.delayed, []
        for write, answer in delayed:
            try:
                done = write()
            except ApiError as error:
                if not answer.done():
                    answer.set_exception(error)
            else:
                if not answer.done():
                    answer.set_result(done)

    def add_pool(
        self, *replicas: int, bounds: tuple[int, int] | None = (3, 4), **rest: Any
    ) -> None:
        """Add a pool with a zone for each number of replicas."""
        for zone, size in enumerate(replicas):
            self.put(
                MachineDeployment, make_deployment(zone=zone, replicas=size, bounds=bounds, **rest)
            )

    def add_machines(self, zone: int, *phases: str, suffix: str = "1", **rest: Any) -> list[str]:
        """Add a MachineSet with a machine for each phase; return the names of the machines."""
        deployment = self.objects[MachineDeployment, zone_key(zone)]
        owner = self.put(MachineSet, make_set(deployment, suffix))
        made = [
            self.put(Machine, make_machine(owner, f"{suffix}{number}", phase, **rest))
            for number, phase in enumerate(phases)
        ]
        return [str(each["metadata"]["name"]) for each in made]

    def sizes(self) -> list[int]:
        """Return the sizes of all zones, ordered by name."""
        found = {
            key: obj for (model, key), obj in self.objects.items() if model is MachineDeployment
        }
        return [found[key]["spec"]["replicas"] for key in sorted(found)]

    def record(self) -> PoolRecord:
        """Return the only pool record."""
        for (model, _key), obj in self.objects.items():
            if model is PoolRecordObject:
                record = record_encoding.decode(msgspec.convert(obj, PoolRecordObject))
                assert record is not None
                return record
        raise AssertionError("there is no record")


class SeedServer(FakeCluster):
    """One server of a seed: client, cache and the node groups on top of them."""

    def __init__(self, seed: Seed, clock: FakeClock, options: Options | None = None) -> None:
        super().__init__(clock, *WATCHED_MODELS, server=seed, live=False, options=options)
        self.seed = seed
        self.is_away = False
        self.managers: list[str] = []
        """The field manager of each patch."""
        self.earlier: dict[type[Object], Page] = {}
        """Outdated lists by kind, each returned once."""
        self.views = Views(self, clock)
        self.views.listen()
        client: Any = self
        self.records = PoolRecords(client, self, NAMESPACE, clock)
        self.resizer = Resizer(client, self, self.records, self.views, clock)
        self.metrics = GroupMetrics(Metrics().registry)
        catch_up = CacheCatchUp(client, self, clock)
        self.provider = Provider(self.views, self.resizer, catch_up, self.metrics)

    @override
    async def send(self, request: ApiRequest, timeout: float = 15.0) -> bytes:
        if self.is_away:
            await asyncio.sleep(0)
            raise UnreachableError("nobody answers")
        if request.method == "PATCH":
            self.managers.append(request.query.get("fieldManager", ""))
        return await super().send(request, timeout)

    @override
    async def _write(self, write: Callable[[], Draft]) -> Draft:
        if self.faults and self.faults[0] == DELAYED:
            self.faults.pop(0)
            delayed = DelayedWrite(write, asyncio.get_running_loop().create_future())
            self.seed.delayed.append(delayed)
            return await delayed.answer
        return await super()._write(write)

    @override
    async def page(self, selection: Selection, token: str = "", limit: int = 0) -> Page:
        if self.is_away:
            raise UnreachableError("nobody answers")
        if selection.kind.model in self.earlier:
            await asyncio.sleep(0)
            return self.earlier.pop(selection.kind.model)
        return await super().page(selection, token, limit)

    def group(self, zone: int) -> ZoneGroup:
        return self.views.get(SHOOT_NAMESPACE).groups[group_id(zone)]


def zone_key(zone: int) -> ObjectKey:
    return ObjectKey(SHOOT_NAMESPACE, f"{SHOOT_NAMESPACE}-pool-z{zone + 1}")


def group_id(zone: int) -> str:
    return f"{SHOOT_NAMESPACE}.{zone_key(zone).name}"
