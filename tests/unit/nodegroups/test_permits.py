"""Permits and sizes are granted by compare-and-swap, by servers with lagging caches."""

import asyncio
from typing import Any

import pytest

from tests.support.clocks import FakeClock, settle
from tests.support.machine_objects import SHOOT_NAMESPACE, make_machine, make_set
from tests.unit.nodegroups.fake_seed import Seed, SeedServer, zone_key
from webhook.admission.decision import Grant
from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.pool_records import PoolRecordObject
from webhook.cluster.requests import Selection
from webhook.domain.pools.discovery import PoolKey
from webhook.kube.meta import ObjectKey
from webhook.nodegroups.permits import PoolGranter

POOL = PoolKey(SHOOT_NAMESPACE, f"mcm:{names.WORKER_POOL}", "pool")


class TwoServerPool:
    """An adaptive pool without a rolling update, and two servers."""

    def __init__(self, *sizes: int, bounds: tuple[int, int] = (0, 9), surge: int = 1) -> None:
        self.clock = FakeClock()
        self.seed = Seed()
        annotations = {names.SIZING_STRATEGY: "Adaptive", names.POOL_MAX_SURGE: str(surge)}
        self.seed.add_pool(*sizes, bounds=bounds, metadata={"annotations": annotations})
        for zone, size in enumerate(sizes):
            self.add_set(zone, "old", size)
        self.servers = [SeedServer(self.seed, self.clock) for _ in range(2)]
        for server in self.servers:
            server.deliver()
        self.granters: list[PoolGranter] = []
        for server in self.servers:
            client: Any = server
            self.granters.append(PoolGranter(client, client, server.records, self.clock))

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

    async def request_permit(
        self, server: int, zone: int, suffix: str, old: int, size: int, *, dry_run: bool = False
    ) -> int:
        name = zone_key(zone).name
        grant = Grant(POOL, name, f"uid-{name}-{suffix}", old, size)
        return await self.granters[server].take(grant, dry_run=dry_run)

    async def request_size(self, server: int, zone: int, old: int, size: int) -> int:
        version = self.seed.objects[MachineDeployment, zone_key(zone)]["metadata"]
        grant = Grant(POOL, zone_key(zone).name, "", old, size, version["resourceVersion"])
        return await self.granters[server].take(grant, dry_run=False)

    def records(self) -> int:
        return sum(model is PoolRecordObject for model, _ in self.seed.objects)


async def test_the_first_request_gets_the_permit() -> None:
    pool = TwoServerPool(2, 2, 2)
    assert await pool.request_permit(0, 0, "new", 0, 1) == 1
    assert await pool.request_permit(1, 1, "new", 0, 1) == 0
    grants = pool.seed.record().grants
    assert [(grant.zone, grant.size) for grant in grants.values()] == [(zone_key(0).name, 1)]


async def test_concurrent_requests_to_two_servers_get_one_permit_in_sum() -> None:
    pool = TwoServerPool(2, 2, 2)
    answers = await asyncio.gather(
        *(pool.request_permit(zone % 2, zone, "new", 0, 2) for zone in range(3))
    )
    assert sum(answers) == 1


async def test_a_write_without_need_of_a_permit_changes_nothing() -> None:
    pool = TwoServerPool(2, 2)
    pool.seed.change(MachineDeployment, zone_key(0), {"spec": {"replicas": 4}})
    assert await pool.request_permit(0, 0, "old", 2, 4) == 4
    pool.seed.change(MachineDeployment, zone_key(0), {"spec": {"replicas": 0}})
    assert await pool.request_permit(0, 0, "old", 2, 0) == 0
    assert pool.records() == 0


async def test_a_dry_run_is_answered_and_changes_nothing() -> None:
    pool = TwoServerPool(2, 2)
    assert await pool.request_permit(0, 0, "new", 0, 3, dry_run=True) == 1
    assert pool.records() == 0


async def test_sets_that_the_cache_lacks_are_counted() -> None:
    """Growth up to the replicas is in no record, so servers read sets and deployments live."""
    pool = TwoServerPool(2, 2)
    pool.resize(1, "new", 1)
    assert await pool.request_permit(1, 0, "new", 0, 1) == 0


async def test_a_grant_is_dropped_once_the_set_has_its_size() -> None:
    pool = TwoServerPool(2, 2, surge=2)
    assert await pool.request_permit(0, 0, "new", 0, 1) == 1
    pool.resize(0, "new", 1)
    assert await pool.request_permit(1, 1, "new", 0, 1) == 1
    record = pool.seed.record()
    assert [grant.zone for grant in record.grants.values()] == [zone_key(1).name]
    assert record.seen_through["MachineSet"] != ""


async def test_sets_that_are_older_than_the_record_are_read_again() -> None:
    pool = TwoServerPool(2, 2, 2, surge=2)
    assert await pool.request_permit(0, 0, "new", 0, 1) == 1
    selection = Selection(kind_of_model(MachineSet))
    pool.servers[1].earlier[MachineSet] = await pool.servers[1].page(selection)
    pool.resize(0, "new", 1)
    assert await pool.request_permit(0, 1, "new", 0, 1) == 1
    asking = asyncio.create_task(pool.request_permit(1, 2, "new", 0, 1))
    await settle()
    pool.servers[1].deliver()
    assert await asking == 0
    assert not pool.servers[1].earlier


async def test_an_unused_grant_expires_after_a_minute() -> None:
    pool = TwoServerPool(2, 2)
    assert await pool.request_permit(0, 0, "new", 0, 1) == 1
    await pool.clock.advance(59)
    assert await pool.request_permit(0, 1, "new", 0, 1) == 0
    await pool.clock.advance(1)
    assert await pool.request_permit(0, 1, "new", 0, 1) == 1


async def test_without_an_api_server_sizes_stay_as_they_are() -> None:
    pool = TwoServerPool(2, 2)
    pool.servers[0].is_away = True
    assert await pool.request_permit(0, 0, "new", 0, 1) == 0
    assert await pool.request_permit(0, 0, "old", 2, 1) == 2


async def test_a_pool_that_is_no_longer_adaptive_needs_no_permits() -> None:
    pool = TwoServerPool(2, 2)
    plain = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Backward-Compatible"}}}
    pool.seed.change(MachineDeployment, zone_key(1), plain)
    assert await pool.request_permit(0, 0, "new", 0, 2) == 2


async def test_concurrent_scaling_of_two_zones_stays_within_the_maximum() -> None:
    pool = TwoServerPool(1, 1, 1, bounds=(0, 5))
    answers = await asyncio.gather(pool.request_size(0, 0, 1, 4), pool.request_size(1, 1, 1, 4))
    assert sum(answers) == 4
    assert {target.target for target in pool.seed.record().targets.values()} <= {*answers}


@pytest.mark.parametrize(
    ("requested", "granted"),
    [
        pytest.param(3, 3, id="within the maximum"),
        pytest.param(9, 3, id="limited by the maximum"),
    ],
)
async def test_a_larger_size_is_limited_to_what_is_left(requested: int, granted: int) -> None:
    pool = TwoServerPool(1, 1, 1, bounds=(0, 5))
    assert await pool.request_size(0, 0, 1, requested) == granted
