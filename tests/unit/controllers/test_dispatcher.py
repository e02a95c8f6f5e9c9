"""How patient the built-in scheduler is with an API server that refuses or is not there."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from typing_extensions import override

from tests.clocks import START, FakeClock, settle
from tests.landscapes import amounts, raw_seed, raw_shoot
from tests.unit.controllers.garden import Replica, Server
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import ApiError, ForbiddenError, InvalidError, UnavailableError
from webhook.controllers.dispatcher import PAUSE, Dispatcher
from webhook.controllers.placement import Placer
from webhook.domain.options import Options, SchedulingOptions
from webhook.runtime.metrics import Metrics
from webhook.runtime.recorder import Recorder
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Entry, Ledger


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


@dataclass
class World:
    """A server with some shoots that wait, and a scheduler at work."""

    server: Server
    replica: Replica
    clock: FakeClock

    async def passes(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            await self.clock.advance(0.1)
            await settle()
            self.replica.look()

    def shoot(self) -> Draft:
        return self.server.find(Shoot, ObjectKey("garden-dev", "shoot-0"))

    def operation(self) -> Any:
        return (self.shoot().get("status") or {}).get("lastOperation")


@asynccontextmanager
async def dispatching(
    server: Server,
    options: Options | None = None,
    *,
    shoots: int = 1,
    seeds: int = 1,
    seed: Mapping[str, Any] | None = None,
    **spec: Any,
) -> AsyncIterator[World]:
    clock = FakeClock()
    server.put(CloudProfile, {"metadata": {"name": "aws"}, "spec": {"type": "aws"}})
    for index in range(shoots):
        raw = raw_shoot(f"shoot-{index}", **spec)
        del raw["metadata"]["resourceVersion"]
        server.put(Shoot, raw)
    if seeds:
        server.put(Seed, raw_seed("seed", **(seed or {})))
    double: Any = Replica(server, clock, options or Options())
    metrics = Metrics()
    recorder = Recorder(double, "test", clock, metrics)
    placer = Placer(double, double, clock, recorder)
    dispatcher = Dispatcher(double, double, placer, recorder, clock, metrics)
    double.look()
    task = asyncio.ensure_future(dispatcher.run())
    yield World(server, double, clock)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def put_ledger(server: Server, *entries: Entry) -> None:
    found = Ledger("seed", {entry.uid: entry for entry in entries})
    server.put(ConfigMap, dict(ledger.write(found, Options().namespace)))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(
            ForbiddenError(403, "Forbidden", "not on this seed"),
            "refuses seed seed",
            id="refused",
        ),
        pytest.param(
            InvalidError(422, "Invalid", "spec.seedName: Invalid value"),
            "refuses seed seed",
            id="invalid",
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
    async with dispatching(server, shoots=3) as world:
        await world.passes(60)
    assert server.attempts == 3 * 10
    said = (world.operation() or {}).get("description", "")
    assert bool(said) is bool(told)
    assert told in said


GARDENERS = Options(scheduling=SchedulingOptions(profile="gardener"))


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        pytest.param(Options(), "", id="every resource is a limit"),
        pytest.param(GARDENERS, "seed", id="Gardener's way counts shoots only"),
    ],
)
async def test_what_a_profile_chooses_its_ledger_takes(options: Options, bound: str) -> None:
    volumes = {"allocatable": {"persistent-volumes": 0}}
    async with dispatching(Server(), options, seed=volumes, schedulerName="espalier") as world:
        await world.passes(5)
    assert world.shoot()["spec"].get("seedName", "") == bound
    assert bool(world.operation()) is not bool(bound)


async def test_a_seed_that_shoots_on_their_way_fill_is_told_after_a_while() -> None:
    server = Server()
    late = Entry("elsewhere", ObjectKey("garden-dev", "late"), "1", START, amounts(shoots=1))
    put_ledger(server, late)
    async with dispatching(server, seed={"shoots": 1}) as world:
        await world.passes(1)
        assert not world.operation()
        await world.passes(5)
        assert "seed seed has no room left" in world.operation()["description"]
        put_ledger(server)
        await world.passes(30)
    assert world.shoot()["spec"]["seedName"] == "seed"
    assert not world.operation()


@pytest.mark.parametrize("kind", [Seed, None], ids=["unserved", "served"])
async def test_no_shoot_is_told_that_there_is_no_seed_while_seeds_are_not_served(
    kind: type[Object] | None,
) -> None:
    async with dispatching(Server(), seeds=0) as world:
        world.replica.unserved = frozenset({kind} if kind else ())
        await world.passes(10)
    assert bool(world.operation()) is (kind is None)


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
    async with dispatching(server, seeds=int(room)) as world:
        world.replica.stale = frozenset({lost})
        before = server.version
        await world.passes(20 * PAUSE)
        assert server.version == before
        world.replica.stale = frozenset()
        await world.passes(2 * PAUSE)
    assert world.shoot()["spec"].get("seedName") == ("seed" if room else None)
    assert bool(world.operation()) is not room


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
    async with dispatching(server) as world:
        world.replica.stale = frozenset({lost})
        await world.passes(1)
    assert world.shoot()["spec"]["seedName"] == "seed"
