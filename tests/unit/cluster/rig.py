"""One kind followed on a scripted server, with time in the test's hands."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tests.clocks import FakeClock, settle
from tests.scripted import Asked, ScriptedServer, scripted
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster.informer import Informer
from webhook.cluster.pacing import Pacer, Timing
from webhook.cluster.reflector import Reflector
from webhook.cluster.requests import Selection
from webhook.state.memory import Memory

KIND = kind_of_model(Shoot)
PATH = "/apis/core.gardener.cloud/v1beta1/shoots"
TIMING = Timing(chance=lambda: 0.5)


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
    memory: Memory
    informer: Informer[Shoot]
    reflector: Reflector
    clock: FakeClock
    told: list[tuple[str, str]] = field(default_factory=list)

    @property
    def asked(self) -> list[Asked]:
        return self.server.asked

    def shown(self) -> dict[str, str]:
        """The versions of the shoots in memory, by name."""
        return {shoot.name: shoot.resource_version for shoot in self.memory.store(Shoot).list()}

    async def until_shown(self, **versions: int) -> None:
        expected = {name: str(version) for name, version in versions.items()}
        await self.server.until(lambda: self.shown() == expected)

    async def until_synced(self) -> None:
        await self.server.until(lambda: self.reflector.standing.synced)

    async def until_watching(self, version: int) -> None:
        """Wait until a watch stands that began at a version."""
        await self.server.until(
            lambda: (
                self.reflector.standing.lost_since is None
                and self.asked[-1].query.get("resourceVersion") == str(version)
            )
        )

    async def retry(self, failures: int) -> None:
        """Let the time pass that is waited after so many failures in a row, and no more."""
        await self.until_failed(failures)
        await self.clock.advance(min(0.8 * 2 ** (failures - 1) * 1.5, 30.0))

    async def until_failed(self, times: int = 1) -> None:
        await self.server.until(lambda: self.reflector.standing.failures >= times)
        await settle()


@asynccontextmanager
async def following(*acts: Any, timing: Timing = TIMING) -> AsyncIterator[Rig]:
    """Follow shoots on a server that plays these acts."""
    async with scripted() as (server, client):
        server.play(PATH, *acts)
        clock = FakeClock()
        memory = Memory([Shoot])
        pacer = Pacer(clock)
        informer: Informer[Shoot] = Informer(KIND, memory, pacer)
        reflector = Reflector(
            client, Selection(KIND), informer, clock, pacer=pacer, timing=replace(timing)
        )
        rig = Rig(server, memory, informer, reflector, clock)
        reflector.standing.on_change = server.happened.set

        def listen(old: Shoot | None, new: Shoot | None) -> None:
            word = "changed" if old and new else "added" if new else "deleted"
            rig.told.append((word, (new or old or Shoot()).name))
            server.happened.set()

        informer.add_listener(listen)
        task = asyncio.create_task(reflector.run())
        try:
            yield rig
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
