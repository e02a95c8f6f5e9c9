"""Pools of machines on a real API server, with a real machine-controller-manager beside us."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tests.leaders import running
from tests.waiting import eventually
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.decode import convert
from webhook.cli.dev.machines import MACHINES
from webhook.cli.dev.server import Server
from webhook.domain import poolencoding
from webhook.domain.poolrecord import Record
from webhook.domain.pools import PoolKey
from webhook.planes.kubernetes import Kubernetes
from webhook.planes.mcm import MachineControllerManager, crds_folder
from webhook.planes.ports import free_port

GROUP = "/apis/machine.sapcloud.io/v1alpha1"
KINDS = ("machinedeployments", "machinesets", "machines")
REST_SECONDS = 300
"""Long, for machines that are busy with more than this."""
# As Gardener starts it.
MCM_FLAGS = ("--kube-api-qps=150", "--kube-api-burst=200", "--concurrent-syncs=30", "--v=3")

Object = dict[str, Any]
State = dict[str, dict[str, Object]]
"""Objects by kind and name."""


def make_class(name: str) -> Object:
    return {
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineClass",
        "metadata": {"name": name},
        "provider": "local",
        "providerSpec": {},
    }


def make_zone(
    pool: str,
    zone: int,
    replicas: int,
    *,
    bounds: tuple[int, int] = (0, 30),
    permits: tuple[int | str, int | str] = (1, 0),
    simulate: str = "",
    image: str = "first",
) -> Object:
    """One zone of an adaptive pool of three."""
    name = f"{pool}-z{zone + 1}"
    labels = {"name": name}
    notes = {
        names.SIZING_STRATEGY: "Adaptive",
        names.POOL_MINIMUM: str(bounds[0]),
        names.POOL_MAXIMUM: str(bounds[1]),
        names.POOL_MAX_SURGE: str(permits[0]),
        names.POOL_MAX_UNAVAILABLE: str(permits[1]),
        names.POOL_ZONE_COUNT: "3",
        **({names.SIMULATE: simulate} if simulate else {}),
    }
    return {
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineDeployment",
        "metadata": {"name": name, "labels": {names.WORKER_POOL: pool}, "annotations": notes},
        "spec": {
            "replicas": replicas,
            "minReadySeconds": 0,
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"image": image}},
                "spec": {"class": {"kind": "MachineClass", "name": "small"}},
            },
        },
    }


@dataclass
class Moment:
    """A pool at one instant: what zones want, how large sets are, what serves."""

    replicas: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    available: dict[str, int] = field(default_factory=dict)
    existing: int = 0

    @property
    def wanted(self) -> int:
        return sum(self.replicas.values())

    @property
    def total(self) -> int:
        return sum(sum(each.values()) for each in self.sizes.values())

    @property
    def serving(self) -> int:
        return sum(self.available.values())

    @property
    def surge(self) -> int:
        return sum(
            max(0, sum(self.sizes.get(zone, {}).values()) - wanted)
            for zone, wanted in self.replicas.items()
        )

    @property
    def missing(self) -> int:
        return sum(
            max(0, wanted - self.available.get(zone, 0)) for zone, wanted in self.replicas.items()
        )


class Fleet:
    """One namespace with its manager, its played machines, and every event that happened."""

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self.session = session
        self.namespace = namespace
        self.port = 0
        """Where our server answers autoscalers of this namespace, if it does."""
        self.log: list[tuple[int, str, str, Object]] = []
        self.state: State = {kind: {} for kind in KINDS}
        self._pools: dict[str, State] = {}
        """The same by pool: many wait, and each looks at its own."""
        self._news = asyncio.Event()
        self._failure: BaseException | None = None

    def path(self, kind: str, name: str = "") -> str:
        base = f"{GROUP}/namespaces/{self.namespace}/{kind}"
        return f"{base}/{name}" if name else base

    make_zone = staticmethod(make_zone)

    async def create(self, kind: str, body: Object) -> Object:
        async with self.session.post(self.path(kind), json=body) as response:
            assert response.status == 201, await response.text()
            created: Object = await response.json()
            return created

    async def patch(
        self, kind: str, name: str, change: Object, *, user: str = "", query: str = ""
    ) -> Object:
        headers = {"Content-Type": "application/merge-patch+json"}
        if user:
            headers |= {"Impersonate-User": user, "Impersonate-Group": "system:masters"}
        path = self.path(kind, name) + query
        async with self.session.patch(path, data=orjson.dumps(change), headers=headers) as response:
            assert response.status == 200, await response.text()
            changed: Object = await response.json()
            return changed

    async def pool(self, pool: str, sizes: Sequence[int], **said: Any) -> None:
        """Make a pool, one zone for each size, and wait until all its machines serve."""
        simulate = said.pop("simulate", {})
        for zone, size in enumerate(sizes):
            body = make_zone(pool, zone, size, simulate=simulate.get(zone, ""), **said)
            await self.create("machinedeployments", body)
        await self.until(
            lambda: self.is_at_rest(pool, sum(sizes)), REST_SECONDS, f"{pool} is at rest"
        )

    async def roll(self, pool: str, image: str, *, zones: Sequence[int] = (0, 1, 2)) -> None:
        """Change the template of all zones at once."""
        template = {"metadata": {"annotations": {"image": image}}}
        change = {"spec": {"template": template}}
        await asyncio.gather(
            *(self.patch("machinedeployments", f"{pool}-z{zone + 1}", change) for zone in zones)
        )

    async def simulate(self, pool: str, zone: int, text: str | None) -> None:
        change = {"metadata": {"annotations": {names.SIMULATE: text}}}
        await self.patch("machinedeployments", f"{pool}-z{zone + 1}", change)

    async def scale(self, pool: str, zone: int, replicas: int, **more: Any) -> Object:
        change = {"spec": {"replicas": replicas}}
        return await self.patch("machinedeployments", f"{pool}-z{zone + 1}", change, **more)

    async def raise_to(self, pool: str, zone: int, size: int, asked: int = 0, **more: Any) -> None:
        """Ask for a size, or more, until that is given: a server without time gives what is there.

        Never more is given.
        """

        async def is_given() -> bool:
            given = (await self.scale(pool, zone, asked or size, **more))["spec"]["replicas"]
            assert given <= size, "more than the pool has"
            return bool(given == size)

        await eventually(is_given, REST_SECONDS)

    async def lose_machine(self, zone: str) -> None:
        """Delete some machine of a zone that is not going already."""

        async def is_lost() -> bool:
            for name, each in [*self.state["machines"].items()]:
                if _zone_of(each) == zone and "deletionTimestamp" not in each["metadata"]:
                    async with self.session.delete(self.path("machines", name)) as response:
                        if response.status in (200, 202):
                            return True
            return False

        await eventually(is_lost, REST_SECONDS)

    def moment(self, pool: str) -> Moment:
        return moment(pool, self._of(pool))

    def _of(self, pool: str) -> State:
        return self._pools.setdefault(pool, {kind: {} for kind in KINDS})

    def is_at_rest(self, pool: str, size: int) -> bool:
        now = self.moment(pool)
        return now.wanted == now.total == now.serving == now.existing == size

    def has_rolled(self, pool: str, image: str, size: int) -> bool:
        """Tell whether every machine of a pool is of one template, and all serve."""
        sets = [
            each
            for each in self._of(pool)["machinesets"].values()
            if each["spec"].get("replicas", 0)
        ]
        images = {each["spec"]["template"]["metadata"]["annotations"]["image"] for each in sets}
        return images == {image} and self.is_at_rest(pool, size)

    def is_zone_rolled(self, zone: str, image: str) -> bool:
        """Tell whether all machines of a zone are of one template and serve."""
        pool = zone.rpartition("-z")[0]
        images = {
            each["spec"]["template"]["metadata"]["annotations"]["image"]
            for each in self._of(pool)["machinesets"].values()
            if _zone_of(each) == zone and each["spec"].get("replicas", 0)
        }
        now = self.moment(pool)
        return images == {image} and now.available.get(zone, 0) == now.replicas[zone]

    async def record(self, pool: str) -> Record:
        """Read the record of a pool."""
        key = PoolKey(self.namespace, f"mcm:{names.WORKER_POOL}", pool)
        name = poolencoding.name_of(key)
        path = f"/api/v1/namespaces/espalier-system/configmaps/{name}"
        async with self.session.get(path) as response:
            assert response.status == 200, await response.text()
            found = poolencoding.decode(convert(ConfigMap, await response.json()))
        assert found is not None
        return found

    async def until(self, holds: Callable[[], object], seconds: float, what: str) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    news = self._news
                    await news.wait()
                    # Many wait, and events come in crowds: whoever reads them must not be held up.
                    await asyncio.sleep(0.05)
                    if self._failure is not None:
                        raise RuntimeError("the watch has ended") from self._failure
        except TimeoutError:
            pool = what.split()[0]
            raise AssertionError(f"not within {seconds} s: {what}; {self.moment(pool)}") from None

    def mark(self) -> int:
        """Name the present, for `since`."""
        return len(self.log)

    def since(self, mark: int, pool: str) -> Iterator[Moment]:
        """Replay what happened to a pool since then, in the order of the API server."""
        state: State = {kind: {} for kind in KINDS}
        before, after = (
            sorted((each for each in log if _pool_of(each[3]) == pool), key=lambda each: each[0])
            for log in (self.log[:mark], self.log[mark:])
        )
        for _, kind, verb, obj in before:
            _apply(state, kind, verb, obj)
        for _, kind, verb, obj in after:
            _apply(state, kind, verb, obj)
            yield moment(pool, state)

    async def follow(self) -> None:
        """Watch all kinds for ever."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for kind in KINDS:
                    tasks.create_task(self._follow(kind))
        except Exception as error:
            self._failure = error
            self._tell()
            raise

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def _follow(self, kind: str) -> None:
        version = "0"
        while True:
            query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "600"}
            timeout = aiohttp.ClientTimeout(total=None)
            async with self.session.get(
                self.path(kind), params=query, timeout=timeout, read_bufsize=2**22
            ) as response:
                assert response.status == 200, await response.text()
                async for line in response.content:
                    event = orjson.loads(line)
                    obj = event["object"]
                    assert event["type"] != "ERROR", obj
                    version = obj["metadata"]["resourceVersion"]
                    self.log.append((int(version), kind, event["type"], obj))
                    for state in (self.state, self._of(_pool_of(obj))):
                        _apply(state, kind, event["type"], obj)
                    self._tell()


def _apply(state: State, kind: str, verb: str, obj: Object) -> None:
    name = obj["metadata"]["name"]
    if verb == "DELETED":
        state[kind].pop(name, None)
    elif verb != "BOOKMARK":
        state[kind][name] = obj


def moment(pool: str, state: Mapping[str, Mapping[str, Object]]) -> Moment:
    found = Moment()
    for name, each in state["machinedeployments"].items():
        if _pool_of(each) == pool:
            found.replicas[name] = each["spec"].get("replicas", 0)
    for name, each in state["machinesets"].items():
        if _pool_of(each) == pool:
            sizes = found.sizes.setdefault(_zone_of(each), {})
            sizes[name] = each["spec"].get("replicas", 0)
    for each in state["machines"].values():
        if _pool_of(each) != pool:
            continue
        found.existing += 1
        phase = each.get("status", {}).get("currentStatus", {}).get("phase")
        if phase == "Running" and "deletionTimestamp" not in each["metadata"]:
            zone = _zone_of(each)
            found.available[zone] = found.available.get(zone, 0) + 1
    return found


def _zone_of(obj: Object) -> str:
    """Machines and sets carry the name of their zone in their labels."""
    labels = obj["metadata"].get("labels") or {}
    return str(labels.get("name") or obj["metadata"]["name"])


def _pool_of(obj: Object) -> str:
    return _zone_of(obj).rpartition("-z")[0]


class Site:
    """A cluster with us in it."""

    def __init__(self, server: Kubernetes, session: aiohttp.ClientSession, folder: Path) -> None:
        self.server = server
        self.session = session
        self.folder = folder

    def espalier(self, name: str, *flags: str, kubeconfig: Path | None = None) -> Server:
        """Give a server of ours that is not started yet."""
        where = self.folder / name
        ports = (free_port(), free_port())
        return Server(
            where,
            kubeconfig or self.server.kubeconfig,
            ports,
            f"--identity={name}",
            "--roles=admission,controllers",
            # Long, so that a busy machine is not taken for a lost leader.
            "--lease-duration=15",
            "--renew-deadline=12",
            "--retry-period=0.5",
            *flags,
        )

    @asynccontextmanager
    async def fleet(self, namespace: str) -> AsyncIterator[Fleet]:
        """Open a namespace with its own manager."""
        await self.server.kubectl("create", "namespace", namespace)
        fleet = Fleet(self.session, namespace)
        manager = MachineControllerManager(
            self.folder / f"mcm-{namespace}", self.server.apiserver, namespace, MCM_FLAGS
        )
        await fleet.create("machineclasses", make_class("small"))
        await manager.start()
        watching = asyncio.create_task(fleet.follow())
        try:
            yield fleet
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await manager.stop()


@asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    """Start a cluster of its own with machine-controller-manager's kinds and played machines."""
    async with Kubernetes(folder / "cluster", durable=False) as server:
        await server.kubectl("apply", "--server-side", "-f", str(crds_folder()))
        context = await asyncio.to_thread(server.admin.context)
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        async with aiohttp.ClientSession(server.url, connector=connector) as session:
            # A definition is established before it is served.
            for kind in (*KINDS, "machineclasses"):
                await eventually(partial(_is_served, session, kind))
            async with running(server, (MACHINES,)):
                yield Site(server, session, folder)


async def _is_served(session: aiohttp.ClientSession, kind: str) -> bool:
    async with session.get(f"{GROUP}/{kind}") as response:
        return response.status == 200
