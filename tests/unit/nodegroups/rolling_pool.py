"""A rolling update in memory: a machine manager, machines, and a server that can be killed.

The manager rolls as machine-controller-manager does: it scales up by the status of MachineSets and
down by their spec, zone by zone, after each change in a zone. The server admits its writes of
MachineSets; without a server they are refused.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.machine_objects import SHOOT_NAMESPACE, make_machine, make_set
from tests.support.pool_objects import KEY, OPTIONS, zone
from tests.unit.nodegroups.fake_seed import Seed, SeedServer, zone_key
from webhook.admission.decision import Grant
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.pool_records import PoolRecordObject
from webhook.cluster.errors import ConflictError
from webhook.controllers.pools.fields import plan_fields
from webhook.controllers.pools.nudges import plan_nudge
from webhook.controllers.pools.records import plan_record
from webhook.kube.meta import Draft, Object, ObjectKey, Raw
from webhook.kube.timestamps import format_time
from webhook.nodegroups.permits import PoolGranter
from webhook.runtime.actions import Emit, Plan, RemoteWrite
from webhook.runtime.controller import Planner
from webhook.runtime.metrics import Metrics
from webhook.runtime.writer import Writer

ROUND_SECONDS = 0.5
PLANS: tuple[tuple[type[Object], Planner], ...] = (
    (MachineDeployment, plan_fields),
    (PoolRecordObject, plan_record),
    (MachineDeployment, plan_nudge),
)
ZONES = range(3)


class KilledError(Exception):
    """The server was killed."""


class KillableServer(SeedServer):
    """A server that is killed after some number of writes, before it gets the last answer."""

    def __init__(self, seed: Seed, clock: FakeClock, writes: int | None) -> None:
        super().__init__(seed, clock, OPTIONS)
        self.left = writes
        self.written = 0
        client: Any = self
        self.granter = PoolGranter(client, client, self.records, clock)
        self.writer = Writer(client, Metrics())
        self.deliver()

    @override
    async def _write(self, write: Callable[[], Draft]) -> Draft:
        if self.left == 0:
            raise KilledError
        answer = await super()._write(write)
        self.written += 1
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                raise KilledError
        return answer

    async def work(self) -> None:
        """Run the controllers once."""
        for model, plan in PLANS:
            self.deliver()
            for obj in self.snapshot().list(model):
                await self._write_actions(plan(obj, self.snapshot()))

    async def _write_actions(self, plan: Plan) -> None:
        for action in plan.actions:
            if isinstance(action, Emit | RemoteWrite):
                continue
            try:
                await self.writer.write(action)
            except ConflictError:
                return


class CheckedSeed(Seed):
    """A seed that is checked after every change."""

    check: Callable[[], None] = staticmethod(lambda: None)

    @override
    def put(self, model: type[Object], body: Raw) -> Draft:
        done = super().put(model, body)
        self.check()
        return done

    @override
    def drop(self, model: type[Object], key: ObjectKey) -> None:
        super().drop(model, key)
        self.check()


class RollingPool:
    """An adaptive pool of three zones, with its manager, machines and server."""

    def __init__(self, *sizes: int, permits: tuple[int, int] = (1, 0)) -> None:
        self.permits = permits
        self.clock = FakeClock()
        self.seed = CheckedSeed()
        self.server: KillableServer | None = None
        self.killed = 0
        self._numbers = iter(range(1, 1_000_000))
        self._seen: dict[int, str] = {}
        for index, size in enumerate(sizes):
            body = zone(index, size, permits=permits)
            body["spec"]["template"]["metadata"]["annotations"] = {"image": "first"}
            made = self.seed.put(MachineDeployment, body)
            self.seed.put(MachineSet, make_set(made, "first", status={"replicas": 0}))
        for _ in range(3):
            self.drive()
        self.seed.check = self.check

    @property
    def written(self) -> int:
        """The number of writes of the present server."""
        return self.server.written if self.server is not None else 0

    def start(self, writes: int | None) -> None:
        self.server = KillableServer(self.seed, self.clock, writes)

    def change_template(self) -> None:
        for index in ZONES:
            template = {"metadata": {"annotations": {"image": "second"}}}
            self.seed.change(MachineDeployment, zone_key(index), {"spec": {"template": template}})

    async def run_round(self) -> bool:
        """Run all components once; False if the server was killed."""
        try:
            if self.server is not None:
                await self.server.work()
            for index in ZONES:
                if self._fingerprint(index) != self._seen.get(index):
                    await self._reconcile(index)
        except KilledError:
            self.killed += 1
            self.server = None
        self.drive()
        await self.clock.advance(ROUND_SECONDS)
        return self.server is not None

    def check(self) -> None:
        surge = missing = 0
        for index in ZONES:
            replicas = self._deployment(index)["spec"]["replicas"]
            surge += max(0, sum(each["spec"]["replicas"] for each in self.sets(index)) - replicas)
            missing += max(0, replicas - sum(map(self._serving, self.sets(index))))
        assert surge <= self.permits[0], "the surge of the pool is exceeded"
        assert missing <= self.permits[1], "too few machines are available"

    def has_rolled(self) -> bool:
        for index in ZONES:
            sizes = {
                _image(each): each["spec"]["replicas"]
                for each in self.sets(index)
                if each["spec"]["replicas"] or self._machines(each)
            }
            if sizes != {"second": self._deployment(index)["spec"]["replicas"]}:
                return False
        return True

    def sets(self, index: int) -> list[Draft]:
        prefix = f"{zone_key(index).name}-"
        return [
            each
            for (model, key), each in self.seed.objects.items()
            if model is MachineSet and key.name.startswith(prefix)
        ]

    def drive(self) -> None:
        """Run the machine driver and the controller of MachineSets once."""
        for index in ZONES:
            for owned in self.sets(index):
                self._drive(owned)

    def _drive(self, owned: Draft) -> None:
        for each in self._machines(owned):
            key = ObjectKey(SHOOT_NAMESPACE, each["metadata"]["name"])
            if "deletionTimestamp" in each["metadata"]:
                self.seed.drop(Machine, key)
            elif _phase(each) == "Pending":
                status = {"currentStatus": {"phase": "Running"}}
                self.seed.change(Machine, key, {"status": status})
        staying = [
            each for each in self._machines(owned) if "deletionTimestamp" not in each["metadata"]
        ]
        size = owned["spec"]["replicas"]
        for _ in range(size - len(staying)):
            born = {"creationTimestamp": format_time(self.clock.now())}
            made = make_machine(owned, f"m{next(self._numbers)}", "Pending", metadata=born)
            self.seed.put(Machine, made)
        # Machines that are not available yet are deleted first.
        staying.sort(key=lambda each: _phase(each) == "Running")
        for each in staying[: max(0, len(staying) - size)]:
            key = ObjectKey(SHOOT_NAMESPACE, each["metadata"]["name"])
            going = {"metadata": {"deletionTimestamp": format_time(self.clock.now())}}
            self.seed.change(Machine, key, going)
        counted = {
            "replicas": len(self._machines(owned)),
            "availableReplicas": self._serving(owned),
        }
        if owned.get("status") != counted:
            self.seed.change(MachineSet, _key(owned), {"status": counted})

    async def _reconcile(self, index: int) -> None:
        """Run the manager in a zone; a refused step is retried."""
        before = self._fingerprint(index)
        if await self._step(index):
            self._seen[index] = before

    async def _step(self, index: int) -> bool:
        deployment = self._deployment(index)
        replicas = deployment["spec"]["replicas"]
        rolling = deployment["spec"]["strategy"]["rollingUpdate"]
        sets = self.sets(index)
        image = deployment["spec"]["template"]["metadata"]["annotations"]["image"]
        new = next((each for each in sets if _image(each) == image), None)
        reported = sum((each.get("status") or {}).get("replicas", 0) for each in sets)
        room = replicas + rolling["maxSurge"] - reported
        if new is None:
            return await self._make(index, image, max(0, min(room, replicas)))
        size = new["spec"]["replicas"]
        if room > 0 and size < replicas:
            return await self._resize(index, new, size + min(room, replicas - size))
        lacking = size - new["status"]["availableReplicas"]
        total = sum(each["spec"]["replicas"] for each in sets)
        most = total - (replicas - rolling["maxUnavailable"]) - lacking
        for old in self._old(sets, new):
            taken = min(old["spec"]["replicas"], max(0, most))
            if taken and not await self._resize(index, old, old["spec"]["replicas"] - taken):
                return False
            most -= taken
        return True

    def _old(self, sets: list[Draft], new: Draft) -> Iterator[Draft]:
        for each in sets:
            if each["metadata"]["name"] == new["metadata"]["name"]:
                continue
            if not each["spec"]["replicas"] and not self._machines(each):
                self.seed.drop(MachineSet, _key(each))
            else:
                yield each

    async def _make(self, index: int, image: str, size: int) -> bool:
        deployment = self._deployment(index)
        body = make_set(deployment, image, status={"replicas": 0, "availableReplicas": 0})
        annotations = {"deployment.kubernetes.io/revision": "2"}
        given = await self._admit(index, body["metadata"]["name"], 0, size) if size else 0
        if given is None:
            return False
        body["metadata"]["annotations"] = annotations
        body["spec"]["replicas"] = given
        self.seed.put(MachineSet, body)
        return True

    async def _resize(self, index: int, owned: Draft, size: int) -> bool:
        old = owned["spec"]["replicas"]
        given = await self._admit(index, owned["metadata"]["uid"], old, size)
        if given is None:
            return False
        if given != old:
            self.seed.change(MachineSet, _key(owned), {"spec": {"replicas": given}})
        return True

    async def _admit(self, index: int, uid: str, old: int, size: int) -> int | None:
        """Ask the server for a size; None if there is no server."""
        server = self.server
        if server is None:
            return None
        grant = Grant(KEY, zone_key(index).name, uid, old, size)
        asking = asyncio.create_task(server.granter.take(grant, dry_run=False))
        while not asking.done():
            server.deliver()
            await self.clock.advance(0.03)
        return await asking

    def _deployment(self, index: int) -> Draft:
        return self.seed.objects[MachineDeployment, zone_key(index)]

    def _machines(self, owned: Draft) -> list[Draft]:
        uid = owned["metadata"]["uid"]
        return [
            each
            for (model, _), each in self.seed.objects.items()
            if model is Machine and each["metadata"]["ownerReferences"][0]["uid"] == uid
        ]

    def _serving(self, owned: Draft) -> int:
        return sum(
            _phase(each) == "Running" and "deletionTimestamp" not in each["metadata"]
            for each in self._machines(owned)
        )

    def _fingerprint(self, index: int) -> str:
        """Return the versions of all objects that trigger the manager."""
        sets = self.sets(index)
        every = [self._deployment(index), *sets]
        every += [each for owned in sets for each in self._machines(owned)]
        return ",".join(each["metadata"]["resourceVersion"] for each in every)


def _key(owned: Draft) -> ObjectKey:
    return ObjectKey(SHOOT_NAMESPACE, owned["metadata"]["name"])


def _image(owned: Draft) -> str:
    return str(owned["spec"]["template"]["metadata"]["annotations"]["image"])


def _phase(machine: Draft) -> str:
    return str(machine["status"]["currentStatus"]["phase"])
