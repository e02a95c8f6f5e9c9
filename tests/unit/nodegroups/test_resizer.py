"""Growing and shrinking node groups, alone and beside other servers, with and without luck."""

import asyncio
from typing import SupportsIndex

import pytest
from typing_extensions import override

from tests.support.clocks import FakeClock, settle
from tests.support.fake_cluster import LOST
from tests.support.machine_objects import SHOOT_NAMESPACE
from tests.unit.nodegroups.fake_seed import CALLER, Seed, SeedServer, zone_key
from webhook.api import names
from webhook.api.machines import MachineDeployment
from webhook.cluster.errors import ApiError, ConflictError, UnavailableError
from webhook.domain.pools import pool_record
from webhook.domain.pools.pool_record import ZoneState
from webhook.domain.pools.scale_down import ForeignNodeError, RollingError, ScaleDown
from webhook.kube.meta import ObjectKey
from webhook.nodegroups import provider_pb2
from webhook.nodegroups.deployments import NodeGroupNotFoundError

ADAPTIVE = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}


def _conflict() -> ApiError:
    return ConflictError(409, "Conflict", "somebody was faster")


def _with(*replicas: int, bounds: tuple[int, int] = (3, 4)) -> tuple[Seed, SeedServer, FakeClock]:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(*replicas, bounds=bounds, **ADAPTIVE)
    server = SeedServer(seed, clock)
    server.deliver()
    return seed, server, clock


async def test_an_increase_is_written_and_recorded() -> None:
    seed, server, _clock = _with(1, 0, 0)
    version = seed.objects[MachineDeployment, zone_key(1)]["metadata"]["resourceVersion"]
    assert await server.resizer.increase(server.group(1), 2) == 2
    assert seed.sizes() == [1, 2, 0]
    target = seed.record().targets[zone_key(1).name]
    assert (target.target, target.resource_version) == (2, version)


async def test_sizes_are_written_by_our_field_manager() -> None:
    _seed, server, _clock = _with(1, 0, 0)
    await server.resizer.increase(server.group(1), 2)
    assert server.managers == [names.FIELD_MANAGER]


async def _scale_up(server: SeedServer, plan: dict[int, int]) -> None:
    """Increase zones one after the other, as an autoscaler does within one loop."""
    for zone, delta in plan.items():
        await server.resizer.increase(server.group(zone), delta)
        server.deliver()


@pytest.mark.parametrize(
    ("sizes", "plan", "at_once", "refreshed"),
    [
        pytest.param(
            (0, 0, 0), {0: 4, 1: 3, 2: 3}, [2, 1, 1], [2, 1, 1], id="planned 4/3/3, room for four"
        ),
        pytest.param(
            (1, 0, 0), {1: 3, 2: 3, 0: 3}, [1, 2, 1], [1, 2, 1], id="the recorded order of calls"
        ),
        pytest.param((0, 0, 0), {1: 4}, [0, 2, 0], [0, 4, 0], id="one zone alone gets all"),
        pytest.param((0, 0, 0), {1: 3}, [0, 2, 0], [0, 3, 0], id="and no more than it asked for"),
        pytest.param(
            (0, 0, 0), {1: 4, 2: 4}, [0, 2, 1], [0, 2, 2], id="two zones share what is left"
        ),
        pytest.param((0, 2, 0), {1: 1}, [0, 2, 0], [0, 3, 0], id="a larger zone waits its turn"),
        pytest.param((1, 1, 1), {2: 5}, [1, 1, 2], [1, 1, 2], id="the last one of the pool"),
        pytest.param((2, 1, 1), {2: 5}, [2, 1, 1], [2, 1, 1], id="nothing is left"),
        pytest.param((0, 0, 0), {0: 1, 1: 1}, [1, 1, 0], [1, 1, 0], id="there is enough for all"),
    ],
)
async def test_a_scale_up_is_shared_and_the_next_refresh_grants_what_is_left(
    sizes: tuple[int, ...], plan: dict[int, int], at_once: list[int], refreshed: list[int]
) -> None:
    seed, server, _clock = _with(*sizes)
    await _scale_up(server, plan)
    assert seed.sizes() == at_once
    await server.provider.refresh(CALLER, provider_pb2.RefreshRequest())
    assert seed.sizes() == refreshed
    writes = seed.version
    await server.provider.refresh(CALLER, provider_pb2.RefreshRequest())
    assert (seed.sizes(), seed.version) == (refreshed, writes), "the next refresh writes nothing"


async def test_another_server_grants_what_is_left_after_a_kill() -> None:
    seed, server, clock = _with(0, 0, 0)
    await _scale_up(server, {1: 4})
    heir = SeedServer(seed, clock)
    heir.deliver()
    assert await heir.resizer.grant_rest(SHOOT_NAMESPACE) == 2
    assert seed.sizes() == [0, 4, 0]
    assert not seed.record().increases


async def test_a_zone_without_resources_leaves_its_share_to_the_others() -> None:
    seed, server, _clock = _with(0, 0, 0)
    bad = ZoneState(until="2026-03-01T12:05:00Z", strikes=1, on_trial=True)
    record = pool_record.PoolRecord(server.group(0).pool.key, zones={zone_key(0).name: bad})
    await server.records.change(record.key, lambda _record: (record, None), 1)
    server.deliver()
    await _scale_up(server, {1: 4, 2: 4})
    assert seed.sizes() == [0, 2, 2]


@pytest.mark.parametrize(("seconds", "sizes"), [(29, [0, 4, 0]), (30, [0, 2, 0])])
async def test_an_old_increase_is_not_granted_any_more(seconds: float, sizes: list[int]) -> None:
    seed, server, clock = _with(0, 0, 0)
    await _scale_up(server, {1: 4})
    clock.pass_time(seconds)
    await server.resizer.grant_rest(SHOOT_NAMESPACE)
    assert seed.sizes() == sizes
    assert not seed.record().increases


async def test_a_zone_that_was_scaled_down_gets_no_more() -> None:
    seed, server, _clock = _with(0, 0, 0)
    await _scale_up(server, {1: 4})
    await server.resizer.decrease(server.group(1), 1)
    server.deliver()
    assert await server.resizer.grant_rest(SHOOT_NAMESPACE) == 0
    assert seed.sizes() == [0, 1, 0]
    assert not seed.record().increases


async def test_a_refresh_never_fails_because_of_what_is_left() -> None:
    seed, server, clock = _with(0, 0, 0)
    await _scale_up(server, {1: 4})
    await server.provider.refresh(CALLER, provider_pb2.RefreshRequest())  # the connection is known
    await _scale_up(server, {0: 4})
    assert seed.sizes() == [0, 4, 0]
    seed.change(MachineDeployment, zone_key(1), {"spec": {"replicas": 1}})
    server.deliver()
    await _scale_up(server, {2: 3})
    server.is_away = True
    refreshing = asyncio.create_task(server.provider.refresh(CALLER, provider_pb2.RefreshRequest()))
    await clock.advance(2)
    await refreshing
    server.is_away = False
    assert await server.resizer.grant_rest(SHOOT_NAMESPACE) == 1
    assert seed.sizes() == [0, 1, 3]


async def test_bounds_are_current_before_the_watch_shows_the_write() -> None:
    _seed, server, _clock = _with(1, 0, 0)
    await server.resizer.increase(server.group(1), 2)
    assert [server.group(zone).bounds.maximum for zone in range(3)] == [2, 3, 1]


async def test_parallel_increases_of_one_server_share_the_pool() -> None:
    seed, server, _clock = _with(1, 0, 0)
    calls = [server.resizer.increase(server.group(zone), 3) for zone in (1, 2, 0)]
    growing = asyncio.gather(*calls)
    while not growing.done():
        await asyncio.sleep(0)
        server.deliver()
    assert (sum(await growing), seed.sizes()) == (3, [1, 2, 1])


async def test_two_servers_with_lagging_caches_share_the_pool() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.deliver()
    granted = await asyncio.gather(
        one.resizer.increase(one.group(1), 2), two.resizer.increase(two.group(2), 2)
    )
    assert (sum(granted), sum(seed.sizes())) == (3, 4)


async def test_a_server_with_a_cache_older_than_the_record_grants_nothing() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.deliver()
    await one.resizer.increase(one.group(1), 2)
    one.deliver()
    await one.resizer.increase(one.group(2), 1)  # strikes the first target out, as seen
    late = asyncio.create_task(two.resizer.increase(two.group(0), 3))
    await clock.advance(5)
    assert await late == 0
    assert seed.sizes() == [1, 2, 1]


async def test_a_record_that_is_newer_than_the_cluster_is_from_before_a_restore() -> None:
    seed, server, clock = _with(1, 0, 0)
    empty = pool_record.PoolRecord(server.group(1).pool.key)
    future = pool_record.raise_seen_through(empty, MachineDeployment.__name__, "999")
    await server.records.change(future.key, lambda _record: (future, None), 1)
    growing = asyncio.create_task(server.resizer.increase(server.group(1), 2))
    await clock.advance(2)
    assert await growing == 2
    assert seed.record().seen_through[MachineDeployment.__name__] != "999"


async def test_a_backward_compatible_group_stays_within_its_share() -> None:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(0, 0, 0)
    server = SeedServer(seed, clock)
    server.deliver()
    assert await server.resizer.increase(server.group(1), 3) == 1
    assert seed.sizes() == [0, 1, 0]


async def test_a_conflicting_write_is_retried_at_the_new_version() -> None:
    seed, server, _clock = _with(1, 0, 0)
    group = server.group(1)
    seed.change(MachineDeployment, zone_key(1), {"status": {"replicas": 0}})
    assert await server.resizer.increase(group, 2) == 2
    assert seed.sizes() == [1, 2, 0]


async def test_a_size_that_was_written_meanwhile_is_not_added_to() -> None:
    seed, server, _clock = _with(1, 0, 0)
    group = server.group(1)
    seed.change(MachineDeployment, zone_key(1), {"spec": {"replicas": 2}})
    await server.resizer.increase(group, 2)
    assert seed.sizes() == [1, 2, 0]


async def test_a_write_with_a_lost_answer_is_recognized() -> None:
    seed, server, clock = _with(1, 0, 0)
    server.faults = ["", LOST]
    growing = asyncio.create_task(server.resizer.increase(server.group(1), 2))
    await clock.advance(1)
    assert await growing == 2
    assert seed.sizes() == [1, 2, 0]


async def test_a_grant_with_a_lost_answer_is_recognized() -> None:
    seed, server, clock = _with(1, 0, 0)
    server.faults = [LOST]
    growing = asyncio.create_task(server.resizer.increase(server.group(1), 2))
    await clock.advance(1)
    assert await growing == 2
    assert seed.sizes() == [1, 2, 0]


async def test_contention_grants_nothing_and_is_no_error() -> None:
    seed, server, clock = _with(1, 0, 0)

    class Contended(list[ApiError | str]):
        @override
        def pop(self, index: SupportsIndex = -1) -> ApiError | str:
            clock.pass_time(0.3)
            return _conflict()

    server.faults = Contended([_conflict()])
    assert await server.resizer.increase(server.group(1), 2) == 0
    assert seed.sizes() == [1, 0, 0]


async def test_an_unavailable_api_server_is_an_error() -> None:
    seed, server, _clock = _with(1, 0, 0)
    server.is_away = True
    with pytest.raises(UnavailableError):
        await server.resizer.increase(server.group(1), 2)
    server.is_away = False
    assert seed.sizes() == [1, 0, 0]


async def test_an_unknown_outcome_counts_as_granted() -> None:
    _seed, server, clock = _with(1, 0, 0)
    server.faults = [""]  # the grant
    growing = asyncio.create_task(server.resizer.increase(server.group(1), 2))
    await settle(lambda: not server.faults)
    await settle(turns=2)
    server.is_away = True
    await clock.advance(5)
    assert await growing == 2


async def test_a_delayed_write_is_invalidated_before_its_target_is_dropped() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.deliver()
    change = {"metadata": {"resourceVersion": one.group(1).zone.version}, "spec": {"replicas": 3}}
    group = one.group(1)
    empty = pool_record.PoolRecord(group.pool.key)
    aimed = pool_record.add_target(empty, group.zone.name, 3, group.zone.version, clock.now())
    await one.records.change(aimed.key, lambda _record: (aimed, None), 1)
    two.deliver()
    assert await two.resizer.increase(two.group(2), 3) == 0, "all is promised to the slow_write"
    clock.pass_time(10)
    growing = asyncio.create_task(two.resizer.increase(two.group(2), 3))
    await settle()
    two.deliver()
    assert await growing == 2
    two.deliver()
    assert await two.resizer.grant_rest(SHOOT_NAMESPACE) == 1
    with pytest.raises(ConflictError):
        seed.change(MachineDeployment, zone_key(1), change)
    assert seed.sizes() == [1, 0, 3]


async def test_the_target_of_a_dead_server_is_taken_over() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.deliver()
    group = one.group(1)
    empty = pool_record.PoolRecord(group.pool.key)
    aimed = pool_record.add_target(empty, group.zone.name, 3, group.zone.version, clock.now())
    await one.records.change(aimed.key, lambda _record: (aimed, None), 1)
    assert await two.resizer.increase(two.group(1), 3) == 3
    assert seed.sizes() == [1, 3, 0]


async def test_a_server_with_a_cache_older_than_a_target_reads_first() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.deliver()
    seed.change(MachineDeployment, zone_key(1), {"spec": {"replicas": 2}})
    one.deliver()
    group = one.group(1)
    empty = pool_record.PoolRecord(group.pool.key)
    aimed = pool_record.add_target(empty, group.zone.name, 3, group.zone.version, clock.now())
    await one.records.change(aimed.key, lambda _record: (aimed, None), 1)
    await two.resizer.increase(two.group(1), 1)
    assert seed.sizes() == [1, 3, 0]


async def test_a_deleted_group_is_not_found() -> None:
    seed, server, _clock = _with(1, 0, 0)
    group = server.group(1)
    seed.drop(MachineDeployment, zone_key(1))
    with pytest.raises(NodeGroupNotFoundError):
        await server.resizer.increase(group, 1)


async def test_deleting_nodes_marks_them_and_lowers_the_size_in_one_write() -> None:
    seed, server, _clock = _with(2, 0, 0)
    first, second = seed.add_machines(0, "Running", "Running")
    server.deliver()
    events = seed.version
    lowered = await server.resizer.delete(server.group(0), [f"p:///{second}"])
    assert lowered == ScaleDown((second,))
    assert seed.version == events + 1
    found = seed.objects[MachineDeployment, zone_key(0)]
    assert found["spec"]["replicas"] == 1
    assert found["metadata"]["annotations"][names.TRIGGER_DELETION] == (
        f"{second}~2026-03-01T12:00:00Z"
    )
    assert found["metadata"]["annotations"][names.LAST_SCALED] == "2026-03-01T12:00:00Z"
    await server.resizer.delete(server.group(0), [f"p:///{first}"])
    annotations = seed.objects[MachineDeployment, zone_key(0)]["metadata"]["annotations"]
    assert [each.partition("~")[0] for each in annotations[names.TRIGGER_DELETION].split(",")] == [
        second,
        first,
    ]


async def test_a_repeated_deletion_of_a_node_has_no_effect() -> None:
    seed, server, _clock = _with(2, 0, 0)
    _first, second = seed.add_machines(0, "Running", "Running")
    server.deliver()
    for _ in range(3):
        await server.resizer.delete(server.group(0), [f"p:///{second}"])
    assert seed.sizes() == [1, 0, 0]


@pytest.mark.parametrize(
    "instance",
    [
        pytest.param("p:///nobody", id="a machine that is gone"),
        pytest.param(f"espalier:///{SHOOT_NAMESPACE}/nobody", id="one that never had an id"),
        pytest.param(
            f"espalier:///{SHOOT_NAMESPACE}/{zone_key(0).name}/1-1",
            id="a placeholder whose machine has come",
        ),
        pytest.param(
            f"espalier:///{SHOOT_NAMESPACE}/{zone_key(0).name}/0-2",
            id="a placeholder of an earlier size",
        ),
        pytest.param("", id="no id at all"),
    ],
)
async def test_deleting_a_missing_instance_has_no_effect(instance: str) -> None:
    seed, server, _clock = _with(2, 0, 0)
    seed.add_machines(0, "Running")
    server.deliver()
    assert await server.resizer.delete(server.group(0), [instance]) == ScaleDown()
    assert seed.sizes() == [2, 0, 0]


async def test_a_placeholder_without_a_machine_can_be_deleted() -> None:
    seed, server, _clock = _with(3, 0, 0)
    seed.add_machines(0, "Running")
    server.deliver()
    name = f"espalier:///{SHOOT_NAMESPACE}/{zone_key(0).name}/1-"
    assert await server.resizer.delete(server.group(0), [f"{name}3", f"{name}3"]) == ScaleDown(
        (), 1
    )
    assert seed.sizes() == [2, 0, 0]
    assert await server.resizer.delete(server.group(0), [f"{name}2"]) == ScaleDown()


async def test_a_machine_is_found_by_its_earlier_id() -> None:
    seed, server, _clock = _with(1, 0, 0)
    (machine,) = seed.add_machines(0, "Pending")
    server.deliver()
    old = f"espalier:///{SHOOT_NAMESPACE}/{machine}"
    assert await server.resizer.delete(server.group(0), [old]) == ScaleDown((machine,))


async def test_a_node_of_another_group_is_refused() -> None:
    seed, server, _clock = _with(1, 1, 0)
    seed.add_machines(0, "Running")
    (other,) = seed.add_machines(1, "Running")
    server.deliver()
    with pytest.raises(ForeignNodeError):
        await server.resizer.delete(server.group(0), [f"p:///{other}"])
    foreign = f"espalier:///{SHOOT_NAMESPACE}/{zone_key(2).name}/1-1"
    with pytest.raises(ForeignNodeError):
        await server.resizer.delete(server.group(0), [foreign])
    assert seed.sizes() == [1, 1, 0]


async def test_in_a_rolling_zone_only_machines_without_a_node_are_deleted() -> None:
    seed, server, _clock = _with(2, 0, 0)
    (old,) = seed.add_machines(0, "Running", suffix="1")
    (new,) = seed.add_machines(0, "Pending", suffix="2")
    server.deliver()
    assert server.group(0).is_rolling
    assert server.group(0).bounds.minimum == 2
    with pytest.raises(RollingError):
        await server.resizer.delete(server.group(0), [f"p:///{old}"])
    assert await server.resizer.delete(server.group(0), [f"p:///{new}"]) == ScaleDown((new,))


@pytest.mark.parametrize(
    ("phases", "replicas", "count", "expected"),
    [
        pytest.param(["Running"], 3, 2, (1, []), id="replicas without a machine go first"),
        pytest.param(["Running"], 3, 5, (1, []), id="never more than are no Nodes yet"),
        pytest.param(["Running", "Pending"], 2, 2, (1, [1]), id="then machines on their way"),
        pytest.param(["Pending", "Pending"], 2, 1, (1, [1]), id="the newest first"),
        pytest.param(["Running", "Running"], 2, 2, (2, []), id="no live Node is taken back"),
        pytest.param(["Unknown"], 1, 1, (1, []), id="nor one that was lost sight of"),
    ],
)
async def test_a_smaller_target_removes_only_replicas_without_a_node(
    phases: list[str], replicas: int, count: int, expected: tuple[int, list[int]]
) -> None:
    seed, server, _clock = _with(replicas, 0, 0)
    machines = seed.add_machines(0, *phases)
    server.deliver()
    lowered = await server.resizer.decrease(server.group(0), count)
    size, named = expected
    assert (seed.sizes()[0], lowered.machines) == (size, tuple(machines[each] for each in named))


async def test_a_node_that_the_cache_does_not_show_is_not_removed() -> None:
    seed, server, _clock = _with(2, 0, 0)
    seed.add_machines(0, "Running", "Running")
    assert server.group(0).missing == 2
    assert await server.resizer.decrease(server.group(0), 2) == ScaleDown()
    placeholder = f"espalier:///{SHOOT_NAMESPACE}/{zone_key(0).name}/1-1"
    assert await server.resizer.delete(server.group(0), [placeholder]) == ScaleDown()
    assert seed.sizes() == [2, 0, 0]


async def test_a_conflicting_scale_down_is_retried_at_the_new_version() -> None:
    seed, server, _clock = _with(2, 0, 0)
    _first, second = seed.add_machines(0, "Running", "Running")
    server.deliver()
    group = server.group(0)
    seed.change(MachineDeployment, zone_key(0), {"status": {"replicas": 2}})
    await server.resizer.delete(group, [f"p:///{second}"])
    assert seed.sizes() == [1, 0, 0]


async def test_a_scale_down_with_an_unavailable_api_server_is_an_error() -> None:
    seed, server, _clock = _with(2, 0, 0)
    (first, _second) = seed.add_machines(0, "Running", "Running")
    server.deliver()
    server.is_away = True
    with pytest.raises(UnavailableError):
        await server.resizer.delete(server.group(0), [f"p:///{first}"])


def test_helpers_build_the_keys_of_the_objects() -> None:
    assert zone_key(0) == ObjectKey(SHOOT_NAMESPACE, f"{SHOOT_NAMESPACE}-pool-z1")
