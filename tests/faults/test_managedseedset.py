"""ManagedSeedSets under crashes: after every single write, by SIGKILL, while the API restarts."""

import asyncio
import json
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.control_planes import require_parts
from tests.support.controllers import LOCAL_PROVIDER, OURS, define_kinds, running_controllers
from tests.support.crashes import CrashingGarden
from tests.support.fake_garden import SET_CONTROLLERS
from tests.support.landscape_objects import raw_seed
from tests.support.set_objects import make_parent, make_set
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, UnreachableError
from webhook.cluster.requests import Selection
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.ports import free_port
from webhook.dev.planes.process import Process
from webhook.dev.server import EspalierProcess
from webhook.domain.options import Options, SeedsOptions
from webhook.kube.meta import Draft, Object, ObjectKey

IN_SOAK = bool(os.environ.get("ESPALIER_SOAK"))
KILLS = 100 if IN_SOAK else 10
RESTARTS = 20 if IN_SOAK else 3
LEAD_SECONDS = 6
"""Longer than a leader needs for the work of one round."""
OPTIONS = Options(seeds=SeedsOptions(settle_seconds=0.1))
FLAGS = (
    "--roles=controllers",
    "--manage-webhooks=false",
    "--lease-duration=2",
    "--renew-deadline=1.5",
    "--retry-period=0.3",
    "--log-level=warning",
)

pytestmark = pytest.mark.timeout(3600 if IN_SOAK else 900)


class Crashing(CrashingGarden):
    """A garden with a set whose leader crashes after a number of its own writes."""

    def __init__(self, after: int) -> None:
        super().__init__(OPTIONS)
        self.arm(after, {row.name for row in SET_CONTROLLERS})

    def versions(self) -> dict[str, str]:
        shoots = [name for name in self.names(Shoot) if name.startswith("leaf-")]
        return {name: self.get(Shoot, name).spec.kubernetes.version for name in shoots}

    def is_stable(self, replicas: int, version: str) -> bool:
        owner = self.find(ManagedSeedSet, "leaf")
        if owner is None or owner.status.observed_generation != owner.metadata.generation:
            return False
        status = owner.status
        ready = status.replicas == status.ready_replicas == status.updated_replicas == replicas
        return ready and [*self.versions().values()] == [version] * replicas


async def test_a_crash_after_every_write_of_growing_rolling_and_shrinking_loses_nothing() -> None:
    after = 0
    garden = await _run_scenario(after)
    while garden.died:
        after += 1
        garden = await _run_scenario(after)
        _check(garden, after)


async def _run_scenario(after: int) -> Crashing:
    """Grow, roll and shrink a set with a leader that crashes after a number of writes."""
    why = f"crash after write {after}"
    garden = Crashing(after)
    garden.put(make_parent())
    garden.put(make_set(replicas=2))
    await garden.live(60, lambda: garden.is_stable(2, "1.35.1"))
    assert garden.is_stable(2, "1.35.1"), why
    spec = {"shootTemplate": {"spec": {"kubernetes": {"version": "1.35.2"}}}}
    await garden.change(ManagedSeedSet, "leaf", {"spec": {**spec, "replicas": 3}})
    await garden.live(90, lambda: garden.is_stable(3, "1.35.2"))
    assert garden.is_stable(3, "1.35.2"), why
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"replicas": 1}})
    await garden.live(90, lambda: garden.is_stable(1, "1.35.2"))
    assert garden.is_stable(1, "1.35.2"), why
    return garden


def _check(garden: Crashing, after: int) -> None:
    why = f"crash after write {after}"
    created = [
        key.rpartition("-")[2]
        for verb, kind, key in garden.api.calls
        if verb == "apply" and kind == "Shoot"
    ]
    # A crash between recording an ordinal and using it leaves a gap, never a second use.
    assert len({*created}) == 3, why
    uids: dict[tuple[type[Object], str], set[str]] = {}
    for model, key, body in garden.api.server.events:
        if model in (Shoot, ManagedSeed, Seed) and body is not None:
            uids.setdefault((model, key.name), set()).add(body["metadata"]["uid"])
    assert {key: found for key, found in uids.items() if len(found) > 1} == {}, why
    assert len(garden.names(ControllerRevision)) == 2, why
    replicas = [name for name in garden.names(Shoot) if name.startswith("leaf-")]
    assert garden.names(ManagedSeed) == replicas, why
    assert garden.names(Seed) == [*replicas, "parent"], why
    left = garden.get(ManagedSeed, replicas[0])
    assert names.SCALE_IN not in left.metadata.annotations, why


class CutOffClient:
    """A client whose connection is cut after a number of writes."""

    def __init__(self, client: Client, after: int) -> None:
        self._client = client
        self._left = after
        self.died = asyncio.Event()

    async def _count(self) -> None:
        if self._left <= 0:
            self.died.set()
            raise UnreachableError("cut off")
        self._left -= 1

    async def create(self, *args: Any, **more: Any) -> Draft:
        await self._count()
        return await self._client.create(*args, **more)

    async def patch(self, *args: Any, **more: Any) -> Draft:
        await self._count()
        return await self._client.patch(*args, **more)

    async def apply(self, *args: Any, **more: Any) -> Draft:
        await self._count()
        return await self._client.apply(*args, **more)

    async def delete(self, *args: Any, **more: Any) -> Draft:
        await self._count()
        return await self._client.delete(*args, **more)


class Stage:
    """A set with its own names on a server."""

    def __init__(self, server: Embedded | Kubernetes, client: Client) -> None:
        self.server = server
        self.client = client
        self.kubectl = server.kubectl

    async def begin(self) -> None:
        await define_kinds(self.server)
        for name in ("garden", "espalier-system"):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await self.kubectl("apply", "-f", "-", input=namespace)
        parent = raw_seed("parent")
        status = parent.pop("status")
        await self.kubectl("apply", "-f", "-", input=parent)
        patch = json.dumps({"status": status})
        where = ("seed", "parent", "--subresource=status", "--type=merge")
        await self.kubectl("patch", *where, "-p", patch)

    async def patch(self, name: str, spec: Draft) -> None:
        kind = kind_of_model(ManagedSeedSet)
        await self.client.patch(kind, ObjectKey("garden", name), {"spec": spec})

    async def list(self, model: type[Object]) -> list[Draft]:
        page = await self.client.page(Selection(kind_of_model(model)))
        return [msgspec.json.decode(item) for item in page.items]

    async def until(self, name: str, replicas: int, version: str, seconds: float) -> None:
        found: Any = None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    with suppress(ApiError):
                        owners = await self.list(ManagedSeedSet)
                        found = [each for each in owners if _name(each) == name]
                        if found and await self._holds(found[0], replicas, version):
                            return
                    await asyncio.sleep(0.1)
        pytest.fail(f"it did not come to {replicas} of {version}: {json.dumps(found)}")

    async def _holds(self, owner: Draft, replicas: int, version: str) -> bool:
        status = owner.get("status") or {}
        counts = [status.get(key, 0) for key in ("replicas", "readyReplicas", "updatedReplicas")]
        if counts != [replicas] * 3:
            return False
        if status.get("observedGeneration") != owner["metadata"]["generation"]:
            return False
        shoots = [each for each in await self.list(Shoot) if _name(each).startswith("leaf")]
        return all(each["spec"]["kubernetes"]["version"] == version for each in shoots)


def _name(each: Draft) -> str:
    return str(each["metadata"]["name"])


@pytest.fixture(params=["embedded", "real"] if IN_SOAK else ["embedded"])
async def stage(request, tmp_path, monkeypatch):
    monkeypatch.setattr("webhook.dev.localprovider.shoots.OPERATION_DURATION", timedelta(0))
    if request.param == "real":
        require_parts("etcd", "kubernetes")
    kind = Embedded if request.param == "embedded" else Kubernetes
    async with (
        kind(tmp_path / "api") as server,
        Client(await config.load(str(server.kubeconfig))) as client,
    ):
        found = Stage(server, client)
        await found.begin()
        yield found


async def test_a_leader_that_is_cut_off_after_every_write_is_replaced(stage):
    """Grow a set by one and roll it; each round cuts another leader off, one write later."""
    await stage.kubectl("apply", "--server-side", "-f", "-", input=make_set("leaf", 1))
    async with running_controllers(stage.server, LOCAL_PROVIDER):
        async with running_controllers(stage.server, OURS, OPTIONS):
            await stage.until("leaf", 1, "1.35.1", 120)
        after, version = 0, 1
        while True:
            after, version = after + 1, version + 1
            template = {"spec": {"kubernetes": {"version": f"1.35.{version}"}}}
            await stage.patch("leaf", {"replicas": after % 2 + 1, "shootTemplate": template})
            died = await _lead_until_cut_off(stage.server, after)
            async with running_controllers(stage.server, OURS, OPTIONS):
                await stage.until("leaf", after % 2 + 1, f"1.35.{version}", 120)
            if not died:
                break
    seen = [_name(each) for each in await stage.list(Shoot)]
    assert len(seen) == len({*seen}) == after % 2 + 1
    assert len(await stage.list(ControllerRevision)) <= 12


async def _lead_until_cut_off(server: Embedded | Kubernetes, after: int) -> bool:
    dying: list[CutOffClient] = []

    def cut_off(client: Client) -> CutOffClient:
        dying.append(CutOffClient(client, after))
        return dying[-1]

    async with running_controllers(server, OURS, OPTIONS, through=cut_off):
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAD_SECONDS):
                await dying[0].died.wait()
    return dying[0].died.is_set()


class CreationLog:
    """Records every object that was ever created, from watches."""

    def __init__(self, cache: Cache) -> None:
        self.uids: dict[tuple[str, str], set[str]] = {}
        for model in (Shoot, Seed):
            cache.add_listener(model, self._look)

    def _look(self, _old: Any, new: Any) -> None:
        if new is not None and new.name.startswith("leaf-"):
            self.uids.setdefault((type(new).__name__, new.name), set()).add(new.uid)

    def check(self, replicas: int) -> None:
        """Check that nothing was created twice, and no more than a number of replicas."""
        twice = {key: uids for key, uids in self.uids.items() if len(uids) > 1}
        assert not twice, f"made twice: {twice}"
        shoots = [name for kind, name in self.uids if kind == "Shoot"]
        assert len(shoots) == replicas, sorted(shoots)


class Pair:
    """Two servers of ours: one leads, the other is on standby."""

    def __init__(self, server: Embedded | Kubernetes, folder: Path) -> None:
        settings = folder / "settings.yaml"
        settings.write_text("seeds: {settle_seconds: 0.3}")
        flags = (*FLAGS, f"--config={settings}")
        self._replicas = [
            EspalierProcess(folder / name, server.kubeconfig, (free_port(), free_port()), *flags)
            for name in ("first", "second")
        ]
        self._starting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        leader, standby = self._replicas
        await leader.start()
        await standby.start()

    async def kill(self) -> None:
        """Kill the leader; the other takes over while it starts again."""
        await self.join()
        leader, standby = self._replicas
        await leader.kill()
        self._replicas = [standby, leader]

    def restart(self) -> None:
        """Start the killed server again in the background."""
        self._starting = asyncio.create_task(self._replicas[1].start())

    async def join(self) -> None:
        """Wait until both run."""
        if self._starting is not None:
            starting, self._starting = self._starting, None
            await starting

    async def stop(self) -> None:
        with suppress(PlaneError):
            await self.join()
        for replica in self._replicas:
            await replica.stop()


async def test_kills_of_the_leader_and_restarts_of_the_api_lose_nothing(stage, tmp_path):
    """The leader is killed again and again while a set scales and rolls."""
    server, pair = stage.server, Pair(stage.server, tmp_path)
    await stage.kubectl("apply", "--server-side", "-f", "-", input=make_set("leaf", 2))
    async with running_controllers(server, LOCAL_PROVIDER) as cache:
        creations, made = CreationLog(cache), 2
        try:
            await pair.start()
            await stage.until("leaf", 2, "1.35.1", 120)
            for round_ in range(KILLS):
                replicas, version = 2 + (round_ + 1) % 2, f"1.35.{round_ + 2}"
                made += replicas == 3
                template = {"spec": {"kubernetes": {"version": version}}}
                await stage.patch("leaf", {"replicas": replicas, "shootTemplate": template})
                await asyncio.sleep(0.2 * (round_ % 9))
                await pair.kill()
                if round_ % (KILLS // RESTARTS) == 0:
                    await _restart(server.apiserver, crash=round_ % 2 == 1)
                pair.restart()
                await stage.until("leaf", replicas, version, 200)
                creations.check(made)
        finally:
            await pair.stop()
    shoots = sorted(_name(each) for each in await stage.list(Shoot))
    assert sorted(_name(each) for each in await stage.list(ManagedSeed)) == shoots
    seeds = [_name(each) for each in await stage.list(Seed)]
    assert sorted(seeds) == sorted([*shoots, "parent"])


async def _restart(apiserver: Process, *, crash: bool) -> None:
    """Restart the API server, in turn with SIGTERM and with SIGKILL."""
    if crash:
        await apiserver.kill()
    await apiserver.restart()
