"""The built-in scheduler while the API server refuses writes, fails or is stale."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from typing_extensions import override

from tests.support.clocks import START, FakeClock, settle
from tests.support.fake_api_server import FakeApiServer
from tests.support.lagging_replica import LaggingReplica
from tests.support.landscape_objects import amounts, raw_seed, raw_shoot
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap
from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import ApiError, ForbiddenError, InvalidError, UnavailableError
from webhook.domain.options import Options, SchedulingOptions
from webhook.kube.meta import Draft, Object, ObjectKey, Raw
from webhook.placement.placer import Placer
from webhook.placement.scheduler import STALE_RETRY_SECONDS, Scheduler
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.metrics import Metrics
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Ledger, LedgerEntry


class Refusing(FakeApiServer):
    """Refuses every binding, as another admission policy might."""

    def __init__(self, error: ApiError) -> None:
        super().__init__()
        self.error = error
        self.attempts = 0

    @override
    def patch(
        self,
        model: type[Object],
        key: ObjectKey,
        change: Raw | Sequence[Raw],
        subresource: str = "",
    ) -> Draft:
        if model is Shoot and "spec" in change:
            self.attempts += 1
            raise self.error
        return super().patch(model, key, change, subresource)


@dataclass
class World:
    """A server with pending shoots, and a running scheduler."""

    server: FakeApiServer
    replica: LaggingReplica
    clock: FakeClock
    metrics: Metrics

    async def passes(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            await self.clock.advance(0.1)
            await settle()
            self.replica.deliver()

    def shoot(self) -> Draft:
        return self.server.find(Shoot, ObjectKey("garden-dev", "shoot-0"))

    def operation(self) -> Any:
        return (self.shoot().get("status") or {}).get("lastOperation")

    def results(self) -> set[str]:
        """Return the results that placements were counted with."""
        (metric,) = self.metrics.placements.collect()
        return {each.labels["result"] for each in metric.samples if each.value}


@asynccontextmanager
async def running_scheduler(
    server: FakeApiServer,
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
    double: Any = LaggingReplica(server, clock, options or Options())
    metrics = Metrics()
    recorder = EventRecorder(double, "test", clock, metrics)
    placer = Placer(double, double, clock, recorder)
    scheduler = Scheduler(double, double, placer, recorder, clock, metrics)
    double.deliver()
    task = asyncio.ensure_future(scheduler.run())
    yield World(server, double, clock, metrics)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def put_ledger(server: FakeApiServer, *entries: LedgerEntry) -> None:
    found = Ledger("seed", {entry.uid: entry for entry in entries})
    server.put(ConfigMap, dict(ledger.write(found, Options().namespace)))


@pytest.mark.parametrize(
    ("error", "result", "expected"),
    [
        pytest.param(
            ForbiddenError(403, "Forbidden", "not on this seed"),
            "refused",
            "refuses seed seed",
            id="refused",
        ),
        pytest.param(
            InvalidError(422, "Invalid", "spec.seedName: Invalid value"),
            "refused",
            "refuses seed seed",
            id="invalid",
        ),
        pytest.param(
            ForbiddenError(403, "Forbidden", 'User "system:anonymous" cannot patch'),
            "changed",
            "",
            id="anonymous",
        ),
        pytest.param(
            ForbiddenError(
                403,
                "Forbidden",
                'shoots "x" is forbidden: User "espalier" cannot patch resource "shoots/binding" '
                'in API group "core.gardener.cloud" in the namespace "garden-dev"',
            ),
            "forbidden",
            "espalier may not patch shoots.core.gardener.cloud/binding",
            id="missing permission",
        ),
        pytest.param(
            UnavailableError(503, "ServiceUnavailable", "no answer"),
            "changed",
            "",
            id="unavailable",
        ),
    ],
)
async def test_failed_placements_are_counted_and_back_off(
    error: ApiError, result: str, expected: str
) -> None:
    server = Refusing(error)
    async with running_scheduler(server, shoots=3) as world:
        await world.passes(60)
    assert server.attempts == 3 * 10
    assert world.results() == {result}
    reported = (world.operation() or {}).get("description", "")
    assert bool(reported) is bool(expected)
    assert expected in reported


GARDENERS = Options(scheduling=SchedulingOptions(profile="gardener"))


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        pytest.param(Options(), "", id="every resource is a limit"),
        pytest.param(GARDENERS, "seed", id="the gardener profile limits shoots only"),
    ],
)
async def test_the_ledger_limits_what_the_profile_limits(options: Options, bound: str) -> None:
    volumes = {"allocatable": {"persistent-volumes": 0}}
    async with running_scheduler(
        FakeApiServer(), options, seed=volumes, schedulerName="espalier"
    ) as world:
        await world.passes(5)
    assert world.shoot()["spec"].get("seedName", "") == bound
    assert bool(world.operation()) is not bool(bound)


async def test_a_full_ledger_is_reported_after_some_attempts() -> None:
    server = FakeApiServer()
    late = LedgerEntry("elsewhere", ObjectKey("garden-dev", "late"), "1", START, amounts(shoots=1))
    put_ledger(server, late)
    async with running_scheduler(server, seed={"shoots": 1}) as world:
        await world.passes(1)
        assert not world.operation()
        await world.passes(5)
        assert "seed seed has no room left" in world.operation()["description"]
        put_ledger(server)
        await world.passes(30)
    assert world.shoot()["spec"]["seedName"] == "seed"
    assert not world.operation()


@pytest.mark.parametrize("kind", [Seed, None], ids=["unserved", "served"])
async def test_no_failure_is_reported_while_seeds_are_not_served(
    kind: type[Object] | None,
) -> None:
    async with running_scheduler(FakeApiServer(), seeds=0) as world:
        world.replica.unserved = frozenset({kind} if kind else ())
        await world.passes(10)
    assert bool(world.operation()) is (kind is None)


@pytest.mark.parametrize(
    "stale_kind",
    [
        pytest.param(Shoot, id="shoots are stale"),
        pytest.param(Seed, id="seeds are stale"),
        pytest.param(CloudProfile, id="profiles are stale"),
        pytest.param(ManagedSeed, id="managed seeds are stale"),
    ],
)
@pytest.mark.parametrize("room", [True, False], ids=["for a seed", "for a refusal"])
async def test_nothing_is_decided_while_a_kind_is_stale(
    stale_kind: type[Object], room: bool
) -> None:
    server = FakeApiServer()
    async with running_scheduler(server, seeds=int(room)) as world:
        world.replica.stale = frozenset({stale_kind})
        before = server.version
        await world.passes(20 * STALE_RETRY_SECONDS)
        assert server.version == before
        world.replica.stale = frozenset()
        await world.passes(2 * STALE_RETRY_SECONDS)
    assert world.shoot()["spec"].get("seedName") == ("seed" if room else None)
    assert bool(world.operation()) is not room


@pytest.mark.parametrize(
    "stale_kind",
    [
        pytest.param(NamespacedCloudProfile, id="a profile of another kind"),
        pytest.param(Project, id="projects, which no filter asks about"),
        pytest.param(ConfigMap, id="distances, where the region is the shoot's own"),
    ],
)
async def test_kinds_that_a_placement_does_not_read_may_be_stale(stale_kind: type[Object]) -> None:
    server = FakeApiServer()
    async with running_scheduler(server) as world:
        world.replica.stale = frozenset({stale_kind})
        await world.passes(1)
    assert world.shoot()["spec"]["seedName"] == "seed"
