"""A reflector on a scripted server, with a fake clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.clocks import FakeClock, settle
from tests.support.scripted_server import ReceivedRequest, ScriptedServer, scripted
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster.informer import Informer
from webhook.cluster.pacing import Pacer, WatchTiming
from webhook.cluster.reflector import Reflector
from webhook.cluster.requests import Selection
from webhook.state.cluster_state import ClusterState

KIND = kind_of_model(Shoot)
PATH = "/apis/core.gardener.cloud/v1beta1/shoots"
TIMING = WatchTiming(chance=lambda: 0.5)


def make_shoot(name: str, version: int | str = 1, seed: str = "alpha") -> dict[str, Any]:
    return {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {
            "name": name,
            "namespace": "garden",
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
        },
        "spec": {"seedName": seed},
    }


@dataclass
class Rig:
    server: ScriptedServer
    memory: ClusterState
    informer: Informer[Shoot]
    reflector: Reflector
    clock: FakeClock
    calls: list[tuple[str, str]] = field(default_factory=list)

    @property
    def received(self) -> list[ReceivedRequest]:
        return self.server.received

    def shown(self) -> dict[str, str]:
        """The versions of the stored shoots by name."""
        return {shoot.name: shoot.resource_version for shoot in self.memory.store(Shoot).list()}

    async def until_shown(self, **versions: int) -> None:
        expected = {name: str(version) for name, version in versions.items()}
        await self.server.until(lambda: self.shown() == expected)

    async def until_synced(self) -> None:
        await self.server.until(lambda: self.reflector.state.synced)

    async def until_watching(self, version: int) -> None:
        """Wait until a watch is established that started at a version."""
        await self.server.until(
            lambda: (
                self.reflector.state.lost_since is None
                and self.received[-1].query.get("resourceVersion") == str(version)
            )
        )

    async def retry(self, failures: int) -> None:
        """Advance the clock by the backoff after so many failures in a row."""
        await self.until_failed(failures)
        await self.clock.advance(min(0.8 * 2 ** (failures - 1) * 1.5, 30.0))

    async def until_failed(self, times: int = 1) -> None:
        await self.server.until(lambda: self.reflector.state.failures >= times)
        await settle()


@asynccontextmanager
async def run_reflector(*acts: Any, timing: WatchTiming = TIMING) -> AsyncIterator[Rig]:
    """Run a reflector of shoots on a server that plays these acts."""
    async with scripted() as (server, client):
        server.respond(PATH, *acts)
        clock = FakeClock()
        memory = ClusterState([Shoot])
        pacer = Pacer(clock)
        informer: Informer[Shoot] = Informer(KIND, memory, pacer)
        reflector = Reflector(
            client, Selection(KIND), informer, clock, pacer=pacer, timing=replace(timing)
        )
        rig = Rig(server, memory, informer, reflector, clock)
        reflector.state.on_change = server.activity.set

        def listen(old: Shoot | None, new: Shoot | None) -> None:
            change = "changed" if old and new else "added" if new else "deleted"
            rig.calls.append((change, (new or old or Shoot()).name))
            server.activity.set()

        informer.add_listener(listen)
        task = asyncio.create_task(reflector.run())
        try:
            yield rig
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
