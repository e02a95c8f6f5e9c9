"""Permits and room are taken by compare-and-swap, over servers whose caches lag."""

import asyncio
from typing import Any

import pytest

from tests.clocks import FakeClock, settle
from tests.machines import SHOOT_NAMESPACE, make_machine, make_set
from tests.unit.nodegroups.seed import Seed, SeedServer, zone_key
from webhook.admission.decision import Grant
from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import ObjectKey
from webhook.api.poolobjects import PoolObject
from webhook.cluster.requests import Selection
from webhook.domain.pools import PoolKey
from webhook.nodegroups.permits import Granter

POOL = PoolKey(SHOOT_NAMESPACE, f"mcm:{names.WORKER_POOL}", "pool")


class Stage:
    """A seed with an adaptive pool at rest, and two servers."""

    def __init__(self, *sizes: int, bounds: tuple[int, int] = (0, 9), surge: int = 1) -> None:
        self.clock = FakeClock()
        self.seed = Seed()
        notes = {names.SIZING_STRATEGY: "Adaptive", names.POOL_MAX_SURGE: str(surge)}
        self.seed.add_pool(*sizes, bounds=bounds, metadata={"annotations": notes})
        for zone, size in enumerate(sizes):
            self.add_set(zone, "old", size)
        self.servers = [SeedServer(self.seed, self.clock) for _ in range(2)]
        for server in self.servers:
            server.look()
        self.granters: list[Granter] = []
        for server in self.servers:
            client: Any = server
            self.granters.append(Granter(client, client, server.records, self.clock))

    def add_set(self, zone: int, suffix: str, size: int) -> None:
        deployment = self.seed.objects[MachineDeployment, zone_key(zone)]
        status = {"replicas": size, "availableReplicas": size}
        owned = make_set(deployment, suffix, spec={"replicas": size}, status=status)
        made = self.seed.put(MachineSet, owned)
        for number in range(size):
            self.seed.put(Machine, make_machine(made, f"{suffix}{number}"))

    def resize(self, zone: int, suffix: str, size: int) -> None:
        key = ObjectKey(SHOOT_NAMESPACE, f"{zone_key(zone).name}-{suffix}")
        if (MachineSet, key) not in self.seed.objects:
            deployment = self.seed.objects[MachineDeployment, zone_key(zone)]
            self.seed.put(MachineSet, make_set(deployment, suffix, spec={"replicas": size}))
            return
        self.seed.change(MachineSet, key, {"spec": {"replicas": size}})

    async def ask(
        self, server: int, zone: int, suffix: str, old: int, size: int, *, dry_run: bool = False
    ) -> int:
        name = zone_key(zone).name
        grant = Grant(POOL, name, f"uid-{name}-{suffix}", old, size)
        return await self.granters[server].take(grant, dry_run=dry_run)

    async def rise(self, server: int, zone: int, old: int, size: int) -> int:
        version = self.seed.objects[MachineDeployment, zone_key(zone)]["metadata"]
        grant = Grant(POOL, zone_key(zone).name, "", old, size, version["resourceVersion"])
        return await self.granters[server].take(grant, dry_run=False)

    def records(self) -> int:
        return sum(model is PoolObject for model, _ in self.seed.objects)


async def test_the_first_who_asks_gets_the_permit() -> None:
    stage = Stage(2, 2, 2)
    assert await stage.ask(0, 0, "new", 0, 1) == 1
    assert await stage.ask(1, 1, "new", 0, 1) == 0
    grants = stage.seed.record().grants
    assert [(grant.zone, grant.size) for grant in grants.values()] == [(zone_key(0).name, 1)]


async def test_three_zones_that_ask_two_servers_at_once_get_one_permit_together() -> None:
    stage = Stage(2, 2, 2)
    answers = await asyncio.gather(*(stage.ask(zone % 2, zone, "new", 0, 2) for zone in range(3)))
    assert sum(answers) == 1


async def test_a_write_that_needs_no_permit_touches_nothing() -> None:
    stage = Stage(2, 2)
    stage.seed.change(MachineDeployment, zone_key(0), {"spec": {"replicas": 4}})
    assert await stage.ask(0, 0, "old", 2, 4) == 4
    stage.seed.change(MachineDeployment, zone_key(0), {"spec": {"replicas": 0}})
    assert await stage.ask(0, 0, "old", 2, 0) == 0
    assert stage.records() == 0


async def test_a_dry_run_is_answered_and_touches_nothing() -> None:
    stage = Stage(2, 2)
    assert await stage.ask(0, 0, "new", 0, 3, dry_run=True) == 1
    assert stage.records() == 0


async def test_what_a_cache_has_not_seen_is_counted_all_the_same() -> None:
    """Growth up to the replicas is in no record, so servers read sets and deployments live."""
    stage = Stage(2, 2)
    stage.resize(1, "new", 1)
    assert await stage.ask(1, 0, "new", 0, 1) == 0


async def test_a_set_keeps_its_permit_until_it_is_seen_and_then_by_its_size() -> None:
    stage = Stage(2, 2, surge=2)
    assert await stage.ask(0, 0, "new", 0, 1) == 1
    stage.resize(0, "new", 1)
    assert await stage.ask(1, 1, "new", 0, 1) == 1
    record = stage.seed.record()
    assert [grant.zone for grant in record.grants.values()] == [zone_key(1).name]
    assert record.seen_through["MachineSet"] != ""


async def test_sets_read_before_another_server_struck_out_their_grants_are_read_again() -> None:
    stage = Stage(2, 2, 2, surge=2)
    assert await stage.ask(0, 0, "new", 0, 1) == 1
    selection = Selection(kind_of_model(MachineSet))
    stage.servers[1].earlier[MachineSet] = await stage.servers[1].page(selection)
    stage.resize(0, "new", 1)
    assert await stage.ask(0, 1, "new", 0, 1) == 1
    asking = asyncio.create_task(stage.ask(1, 2, "new", 0, 1))
    await settle()
    stage.servers[1].look()
    assert await asking == 0
    assert not stage.servers[1].earlier


async def test_a_grant_that_never_comes_is_free_again_after_a_minute() -> None:
    stage = Stage(2, 2)
    assert await stage.ask(0, 0, "new", 0, 1) == 1
    await stage.clock.advance(59)
    assert await stage.ask(0, 1, "new", 0, 1) == 0
    await stage.clock.advance(1)
    assert await stage.ask(0, 1, "new", 0, 1) == 1


async def test_where_the_api_server_is_away_sizes_stay_as_they_are() -> None:
    stage = Stage(2, 2)
    stage.servers[0].is_away = True
    assert await stage.ask(0, 0, "new", 0, 1) == 0
    assert await stage.ask(0, 0, "old", 2, 1) == 2


async def test_a_pool_that_is_adaptive_no_more_is_not_counted() -> None:
    stage = Stage(2, 2)
    plain = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Backward-Compatible"}}}
    stage.seed.change(MachineDeployment, zone_key(1), plain)
    assert await stage.ask(0, 0, "new", 0, 2) == 2


async def test_two_people_who_scale_two_zones_at_once_stay_within_the_maximum() -> None:
    stage = Stage(1, 1, 1, bounds=(0, 5))
    answers = await asyncio.gather(stage.rise(0, 0, 1, 4), stage.rise(1, 1, 1, 4))
    assert sum(answers) == 4
    assert {target.target for target in stage.seed.record().targets.values()} <= {*answers}


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        pytest.param(3, 3, id="there is room"),
        pytest.param(9, 3, id="as far as the maximum goes"),
    ],
)
async def test_a_rise_is_lowered_to_what_is_left(asked: int, given: int) -> None:
    stage = Stage(1, 1, 1, bounds=(0, 5))
    assert await stage.rise(0, 0, 1, asked) == given
