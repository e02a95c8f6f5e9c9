"""How patient the built-in scheduler is with an API server that refuses or is not there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typing_extensions import override

from tests.clocks import FakeClock, settle
from tests.landscapes import raw_seed, raw_shoot
from tests.unit.controllers.garden import Replica, Server
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import ApiError, ForbiddenError, UnavailableError
from webhook.controllers.dispatcher import PAUSE, Dispatcher
from webhook.controllers.placement import Placer
from webhook.domain.options import Options
from webhook.runtime.metrics import Metrics
from webhook.runtime.recorder import Recorder


class Refusing(Server):
    """Lets no shoot be placed, as an admission policy of somebody else might."""

    def __init__(self, error: ApiError) -> None:
        super().__init__()
        self.error = error
        self.attempts = 0

    @override
    def change(self, model: type[Object], key: ObjectKey, change: Raw) -> Draft:
        if model is Shoot and "spec" in change:
            self.attempts += 1
            raise self.error
        return super().change(model, key, change)


class Scheduled:
    """A scheduler at work on what its replica has seen."""

    def __init__(self, replica: Replica, clock: FakeClock) -> None:
        self.replica = replica
        self._clock = clock

    async def run_for(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            await self._clock.advance(0.1)
            await settle()
            self.replica.look()


@asynccontextmanager
async def scheduling(server: Server, shoots: int = 1, seeds: int = 1) -> AsyncIterator[Scheduled]:
    clock = FakeClock()
    server.put(CloudProfile, {"metadata": {"name": "aws"}, "spec": {"type": "aws"}})
    for index in range(shoots):
        raw = raw_shoot(f"shoot-{index}")
        del raw["metadata"]["resourceVersion"]
        server.put(Shoot, raw)
    for index in range(seeds):
        server.put(Seed, raw_seed(f"seed-{index}"))
    double: Any = Replica(server, clock, Options())
    metrics = Metrics()
    recorder = Recorder(double, "test", clock, metrics)
    placer = Placer(double, double, clock, recorder)
    dispatcher = Dispatcher(double, double, placer, recorder, clock, metrics)
    double.look()
    task = asyncio.ensure_future(dispatcher.run())
    try:
        yield Scheduled(double, clock)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(
            ForbiddenError(403, "Forbidden", "not on this seed"),
            "refuses seed seed-0",
            id="refused",
        ),
        pytest.param(
            ForbiddenError(403, "Forbidden", 'User "system:anonymous" cannot patch'),
            "",
            id="taken for somebody else",
        ),
        pytest.param(
            ForbiddenError(
                403,
                "Forbidden",
                'shoots "x" is forbidden: User "espalier" cannot patch resource "shoots/binding" '
                'in API group "core.gardener.cloud" in the namespace "garden-dev"',
            ),
            "espalier may not patch shoots.core.gardener.cloud/binding",
            id="not ours to do",
        ),
        pytest.param(
            UnavailableError(503, "ServiceUnavailable", "no answer"), "", id="not answered"
        ),
    ],
)
async def test_a_placement_that_fails_is_tried_less_and_less(error: ApiError, told: str) -> None:
    server = Refusing(error)
    async with scheduling(server, shoots=3) as scheduled:
        await scheduled.run_for(60)
    assert server.attempts == 3 * 10
    found = server.find(Shoot, ObjectKey("garden-dev", "shoot-0"))
    said = ((found.get("status") or {}).get("lastOperation") or {}).get("description", "")
    assert bool(said) is bool(told)
    assert told in said


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(Shoot, id="shoots are lost"),
        pytest.param(Seed, id="seeds are lost"),
        pytest.param(CloudProfile, id="profiles are lost"),
        pytest.param(ManagedSeed, id="managed seeds are lost"),
    ],
)
@pytest.mark.parametrize("room", [True, False], ids=["for a seed", "for a refusal"])
async def test_nothing_is_decided_on_what_is_lost_and_all_is_once_it_is_back(
    lost: type[Object], room: bool
) -> None:
    server = Server()
    async with scheduling(server, seeds=int(room)) as scheduled:
        scheduled.replica.stale = frozenset({lost})
        before = server.version
        await scheduled.run_for(20 * PAUSE)
        assert server.version == before
        scheduled.replica.stale = frozenset()
        await scheduled.run_for(2 * PAUSE)
    found = server.find(Shoot, ObjectKey("garden-dev", "shoot-0"))
    assert found["spec"].get("seedName") == ("seed-0" if room else None)
    assert bool((found.get("status") or {}).get("lastOperation")) is not room


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(NamespacedCloudProfile, id="a profile of another kind"),
        pytest.param(Project, id="projects, which no filter asks about"),
        pytest.param(ConfigMap, id="distances, where the region is the shoot's own"),
    ],
)
async def test_what_a_placement_does_not_read_may_be_lost(lost: type[Object]) -> None:
    server = Server()
    async with scheduling(server) as scheduled:
        scheduled.replica.stale = frozenset({lost})
        await scheduled.run_for(1)
    found = server.find(Shoot, ObjectKey("garden-dev", "shoot-0"))
    assert found["spec"]["seedName"] == "seed-0"
