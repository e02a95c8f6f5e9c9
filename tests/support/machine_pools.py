"""Machine pools on a real API server with a real machine-controller-manager."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tests.support.account import IN_SEED, account_kubeconfig
from tests.support.control_planes import kubernetes
from tests.support.controllers import running_controllers
from tests.support.pool_state import (
    Object,
    PoolState,
    State,
    apply,
    make_class,
    make_zone,
    pool_of,
    pool_state,
    zone_of,
)
from tests.support.waits import eventually
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.decode import convert
from webhook.dev.localprovider.machines import MACHINE_CONTROLLER
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.mcm import MachineControllerManager, crds_folder
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess
from webhook.domain.pools import record_encoding
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.pool_record import PoolRecord

GROUP = "/apis/machine.sapcloud.io/v1alpha1"
KINDS = ("machinedeployments", "machinesets", "machines")
REST_SECONDS = 300
"""Long, for machines with other load."""
# As Gardener starts it.
MCM_FLAGS = ("--kube-api-qps=150", "--kube-api-burst=200", "--concurrent-syncs=30", "--v=3")


class Fleet:
    """One namespace with its machine-controller-manager, simulated machines, and all events."""

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self.session = session
        self.namespace = namespace
        self.port = 0
        """The port of our server for autoscalers of this namespace, if there is one."""
        self.log: list[tuple[int, str, str, Object]] = []
        self.state: State = {kind: {} for kind in KINDS}
        self._pools: dict[str, State] = {}
        """The same by pool: many tasks wait, and each reads its own pool."""
        self._changed = asyncio.Event()
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

    async def pool(self, pool: str, sizes: Sequence[int], **changes: Any) -> None:
        """Create a pool, one zone for each size, and wait until all its machines are available."""
        simulate = changes.pop("simulate", {})
        for zone, size in enumerate(sizes):
            body = make_zone(pool, zone, size, simulate=simulate.get(zone, ""), **changes)
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

    async def raise_to(
        self, pool: str, zone: int, size: int, requested: int = 0, **more: Any
    ) -> None:
        """Request a size, or more, until that size is granted.

        A server that is short of time grants less; none grants more.
        """

        async def is_given() -> bool:
            given = (await self.scale(pool, zone, requested or size, **more))["spec"]["replicas"]
            assert given <= size, "more than the pool has"
            return bool(given == size)

        await eventually(is_given, REST_SECONDS)

    async def lose_machine(self, zone: str) -> None:
        """Delete one machine of a zone that is not terminating."""

        async def is_lost() -> bool:
            for name, each in [*self.state["machines"].items()]:
                if zone_of(each) == zone and "deletionTimestamp" not in each["metadata"]:
                    async with self.session.delete(self.path("machines", name)) as response:
                        if response.status in (200, 202):
                            return True
            return False

        await eventually(is_lost, REST_SECONDS)

    def pool_state(self, pool: str) -> PoolState:
        return pool_state(pool, self._of(pool))

    def _of(self, pool: str) -> State:
        return self._pools.setdefault(pool, {kind: {} for kind in KINDS})

    def is_at_rest(self, pool: str, size: int) -> bool:
        now = self.pool_state(pool)
        return now.wanted == now.total == now.serving == now.existing == size

    def has_rolled(self, pool: str, image: str, size: int) -> bool:
        """Return whether all machines of a pool have the same template and are available."""
        sets = [
            each
            for each in self._of(pool)["machinesets"].values()
            if each["spec"].get("replicas", 0)
        ]
        images = {each["spec"]["template"]["metadata"]["annotations"]["image"] for each in sets}
        return images == {image} and self.is_at_rest(pool, size)

    def is_zone_rolled(self, zone: str, image: str) -> bool:
        """Return whether all machines of a zone have the same template and are available."""
        pool = zone.rpartition("-z")[0]
        images = {
            each["spec"]["template"]["metadata"]["annotations"]["image"]
            for each in self._of(pool)["machinesets"].values()
            if zone_of(each) == zone and each["spec"].get("replicas", 0)
        }
        now = self.pool_state(pool)
        return images == {image} and now.available.get(zone, 0) == now.replicas[zone]

    async def record(self, pool: str) -> PoolRecord:
        """Return the record of a pool."""
        key = PoolKey(self.namespace, f"mcm:{names.WORKER_POOL}", pool)
        name = record_encoding.name_of(key)
        path = f"/api/v1/namespaces/espalier-system/configmaps/{name}"
        async with self.session.get(path) as response:
            assert response.status == 200, await response.text()
            found = record_encoding.decode(convert(ConfigMap, await response.json()))
        assert found is not None
        return found

    async def until(self, holds: Callable[[], object], seconds: float, what: str) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    changed = self._changed
                    await changed.wait()
                    # Many tasks wait, and events come in bursts: the reader must not be delayed.
                    await asyncio.sleep(0.05)
                    if self._failure is not None:
                        raise RuntimeError("the watch has ended") from self._failure
        except TimeoutError:
            pool = what.split()[0]
            raise AssertionError(
                f"not within {seconds} s: {what}; {self.pool_state(pool)}"
            ) from None

    def mark(self) -> int:
        """Return the current position in the log, for `since`."""
        return len(self.log)

    def since(self, mark: int, pool: str) -> Iterator[PoolState]:
        """Replay the states of a pool since a position, in the order of the API server."""
        state: State = {kind: {} for kind in KINDS}
        before, after = (
            sorted((each for each in log if pool_of(each[3]) == pool), key=lambda each: each[0])
            for log in (self.log[:mark], self.log[mark:])
        )
        for _, kind, verb, obj in before:
            apply(state, kind, verb, obj)
        for _, kind, verb, obj in after:
            apply(state, kind, verb, obj)
            yield pool_state(pool, state)

    async def follow(self) -> None:
        """Watch all kinds until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for kind in KINDS:
                    tasks.create_task(self._follow(kind))
        except Exception as error:
            self._failure = error
            self._notify()
            raise

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

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
                    for state in (self.state, self._of(pool_of(obj))):
                        apply(state, kind, event["type"], obj)
                    self._notify()


class Site:
    """A cluster for machine pools, with servers of ours."""

    def __init__(
        self, server: Kubernetes, session: aiohttp.ClientSession, folder: Path, kubeconfig: Path
    ) -> None:
        self.server = server
        self.kubeconfig = kubeconfig
        """The kubeconfig of our account."""
        self.session = session
        self.folder = folder

    def espalier(self, name: str, *flags: str, kubeconfig: Path | None = None) -> EspalierProcess:
        """Return a server of ours that is not started yet."""
        where = self.folder / name
        ports = (free_port(), free_port())
        return EspalierProcess(
            where,
            kubeconfig or self.kubeconfig,
            ports,
            f"--identity={name}",
            "--roles=admission,controllers",
            "--features=node-groups",
            # Long, so that a busy machine does not lose its lease.
            "--lease-duration=15",
            "--renew-deadline=12",
            "--retry-period=0.5",
            *flags,
        )

    @asynccontextmanager
    async def fleet(self, namespace: str) -> AsyncIterator[Fleet]:
        """Create a namespace with its own machine-controller-manager."""
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
    """Start a cluster with the kinds of machine-controller-manager and simulated machines."""
    async with kubernetes(folder / "cluster") as server:
        await server.kubectl("apply", "--server-side", "-f", str(crds_folder()))
        context = await asyncio.to_thread(server.admin.context)
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        async with aiohttp.ClientSession(server.url, connector=connector) as session:
            # A CRD is established before it is served.
            for kind in (*KINDS, "machineclasses"):
                await eventually(partial(_is_served, session, kind))
            async with running_controllers(server, (MACHINE_CONTROLLER,)):
                kubeconfig = await account_kubeconfig(server, folder / "kubeconfig", IN_SEED)
                yield Site(server, session, folder, kubeconfig)


async def _is_served(session: aiohttp.ClientSession, kind: str) -> bool:
    async with session.get(f"{GROUP}/{kind}") as response:
        return response.status == 200
