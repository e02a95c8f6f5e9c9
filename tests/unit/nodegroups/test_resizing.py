"""Growing and shrinking node groups, alone and beside other servers, with and without luck."""

import asyncio
from typing import SupportsIndex

import pytest
from typing_extensions import override

from tests.clocks import FakeClock, settle
from tests.machines import SHOOT_NAMESPACE
from tests.unit.controllers.garden import LOST
from tests.unit.nodegroups.seed import Seed, SeedServer, zone_key
from webhook.api import names
from webhook.api.machines import MachineDeployment
from webhook.api.meta import ObjectKey
from webhook.cluster.errors import ApiError, ConflictError, UnavailableError
from webhook.domain import poolrecord
from webhook.domain.lowering import ForeignNodeError, Lowering, RollingError
from webhook.nodegroups.resizing import GoneError

ADAPTIVE = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}


def _conflict() -> ApiError:
    return ConflictError(409, "Conflict", "somebody was faster")


def _with(*replicas: int, bounds: tuple[int, int] = (3, 4)) -> tuple[Seed, SeedServer, FakeClock]:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(*replicas, bounds=bounds, **ADAPTIVE)
    server = SeedServer(seed, clock)
    server.look()
    return seed, server, clock


async def test_an_increase_is_written_and_recorded() -> None:
    seed, server, _clock = _with(1, 0, 0)
    version = seed.objects[MachineDeployment, zone_key(1)]["metadata"]["resourceVersion"]
    assert await server.resizer.increase(server.group(1), 2) == 2
    assert seed.sizes() == [1, 2, 0]
    target = seed.record().targets[zone_key(1).name]
    assert (target.target, target.resource_version) == (2, version)


async def test_sizes_are_written_under_our_name() -> None:
    _seed, server, _clock = _with(1, 0, 0)
    await server.resizer.increase(server.group(1), 2)
    assert server.managers == [names.FIELD_MANAGER]


async def test_an_increase_gets_what_is_left_and_then_nothing() -> None:
    seed, server, _clock = _with(1, 0, 0)
    assert await server.resizer.increase(server.group(1), 3) == 3
    assert await server.resizer.increase(server.group(2), 3) == 0
    assert await server.resizer.increase(server.group(0), 3) == 0
    assert seed.sizes() == [1, 3, 0]


async def test_bounds_are_right_before_any_watch_has_shown_the_write() -> None:
    _seed, server, _clock = _with(1, 0, 0)
    await server.resizer.increase(server.group(1), 2)
    assert [server.group(zone).bounds.maximum for zone in range(3)] == [2, 3, 1]


async def test_parallel_increases_of_one_server_share_the_pool() -> None:
    seed, server, _clock = _with(1, 0, 0)
    calls = [server.resizer.increase(server.group(zone), 3) for zone in (1, 2, 0)]
    granted = await asyncio.gather(*calls)
    assert (sum(granted), sum(seed.sizes())) == (3, 4)


async def test_two_servers_share_the_pool_although_their_caches_lag() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.look()
    granted = await asyncio.gather(
        one.resizer.increase(one.group(1), 2), two.resizer.increase(two.group(2), 2)
    )
    assert (sum(granted), sum(seed.sizes())) == (3, 4)


async def test_a_server_that_has_not_seen_what_is_settled_grants_nothing() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.look()
    await one.resizer.increase(one.group(1), 2)
    one.look()
    await one.resizer.increase(one.group(2), 1)  # strikes the first target out, as seen
    late = asyncio.create_task(two.resizer.increase(two.group(0), 3))
    await clock.advance(5)
    assert await late == 0
    assert seed.sizes() == [1, 2, 1]


async def test_a_record_that_is_newer_than_the_cluster_is_from_before_a_restore() -> None:
    seed, server, clock = _with(1, 0, 0)
    empty = poolrecord.Record(server.group(1).pool.key)
    future = poolrecord.see(empty, MachineDeployment.__name__, "999")
    await server.records.change(future.key, lambda _record: (future, None), 1)
    growing = asyncio.create_task(server.resizer.increase(server.group(1), 2))
    await clock.advance(2)
    assert await growing == 2
    assert seed.record().seen_through[MachineDeployment.__name__] != "999"


async def test_a_backward_compatible_group_stays_within_its_share() -> None:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(0, 0, 0)
    server = SeedServer(seed, clock)
    server.look()
    assert await server.resizer.increase(server.group(1), 3) == 1
    assert seed.sizes() == [0, 1, 0]


async def test_a_write_that_somebody_was_faster_than_is_tried_at_the_new_version() -> None:
    seed, server, _clock = _with(1, 0, 0)
    group = server.group(1)
    seed.change(MachineDeployment, zone_key(1), {"status": {"replicas": 0}})
    assert await server.resizer.increase(group, 2) == 2
    assert seed.sizes() == [1, 2, 0]


async def test_a_size_that_somebody_wrote_meanwhile_is_not_added_to() -> None:
    seed, server, _clock = _with(1, 0, 0)
    group = server.group(1)
    seed.change(MachineDeployment, zone_key(1), {"spec": {"replicas": 2}})
    await server.resizer.increase(group, 2)
    assert seed.sizes() == [1, 2, 0]


async def test_a_write_whose_answer_is_lost_is_found_to_have_come_through() -> None:
    seed, server, clock = _with(1, 0, 0)
    server.faults = ["", LOST]
    growing = asyncio.create_task(server.resizer.increase(server.group(1), 2))
    await clock.advance(1)
    assert await growing == 2
    assert seed.sizes() == [1, 2, 0]


async def test_a_grant_whose_answer_is_lost_is_known_again() -> None:
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


async def test_an_api_server_away_is_said_to_be_away() -> None:
    seed, server, _clock = _with(1, 0, 0)
    server.is_away = True
    with pytest.raises(UnavailableError):
        await server.resizer.increase(server.group(1), 2)
    server.is_away = False
    assert seed.sizes() == [1, 0, 0]


async def test_an_outcome_that_stays_unknown_counts_as_done() -> None:
    _seed, server, clock = _with(1, 0, 0)
    server.faults = [""]  # the grant
    growing = asyncio.create_task(server.resizer.increase(server.group(1), 2))
    await settle(lambda: not server.faults)
    await settle(turns=2)
    server.is_away = True
    await clock.advance(5)
    assert await growing == 2


async def test_a_sleeping_write_fails_before_its_target_is_dropped() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.look()
    change = {"metadata": {"resourceVersion": one.group(1).zone.version}, "spec": {"replicas": 3}}
    group = one.group(1)
    empty = poolrecord.Record(group.pool.key)
    aimed = poolrecord.aim(empty, group.zone.name, 3, group.zone.version, clock.now())
    await one.records.change(aimed.key, lambda _record: (aimed, None), 1)
    two.look()
    assert await two.resizer.increase(two.group(2), 3) == 0, "all is promised to the sleeper"
    clock.pass_time(10)
    growing = asyncio.create_task(two.resizer.increase(two.group(2), 3))
    await settle()
    two.look()
    assert await growing == 3
    with pytest.raises(ConflictError):
        seed.change(MachineDeployment, zone_key(1), change)
    assert seed.sizes() == [1, 0, 3]


async def test_a_size_that_a_dead_server_left_in_the_record_is_taken_over() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.look()
    group = one.group(1)
    empty = poolrecord.Record(group.pool.key)
    aimed = poolrecord.aim(empty, group.zone.name, 3, group.zone.version, clock.now())
    await one.records.change(aimed.key, lambda _record: (aimed, None), 1)
    assert await two.resizer.increase(two.group(1), 3) == 3
    assert seed.sizes() == [1, 3, 0]


async def test_a_server_whose_cache_is_older_than_a_target_looks_again_first() -> None:
    seed, one, clock = _with(1, 0, 0)
    two = SeedServer(seed, clock)
    two.look()
    seed.change(MachineDeployment, zone_key(1), {"spec": {"replicas": 2}})
    one.look()
    group = one.group(1)
    empty = poolrecord.Record(group.pool.key)
    aimed = poolrecord.aim(empty, group.zone.name, 3, group.zone.version, clock.now())
    await one.records.change(aimed.key, lambda _record: (aimed, None), 1)
    await two.resizer.increase(two.group(1), 1)
    assert seed.sizes() == [1, 3, 0]


async def test_a_group_that_is_gone_is_said_to_be_gone() -> None:
    seed, server, _clock = _with(1, 0, 0)
    group = server.group(1)
    seed.drop(MachineDeployment, zone_key(1))
    with pytest.raises(GoneError):
        await server.resizer.increase(group, 1)


async def test_deleting_nodes_names_them_and_lowers_the_size_in_one_write() -> None:
    seed, server, _clock = _with(2, 0, 0)
    first, second = seed.add_machines(0, "Running", "Running")
    server.look()
    events = seed.version
    lowered = await server.resizer.delete(server.group(0), [f"p:///{second}"])
    assert lowered == Lowering((second,))
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


async def test_a_node_is_deleted_once_however_often_that_is_asked_for() -> None:
    seed, server, _clock = _with(2, 0, 0)
    _first, second = seed.add_machines(0, "Running", "Running")
    server.look()
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
async def test_what_is_not_there_any_more_takes_nothing(instance: str) -> None:
    seed, server, _clock = _with(2, 0, 0)
    seed.add_machines(0, "Running")
    server.look()
    assert await server.resizer.delete(server.group(0), [instance]) == Lowering()
    assert seed.sizes() == [2, 0, 0]


async def test_a_placeholder_is_given_up_as_long_as_it_has_no_machine() -> None:
    seed, server, _clock = _with(3, 0, 0)
    seed.add_machines(0, "Running")
    server.look()
    name = f"espalier:///{SHOOT_NAMESPACE}/{zone_key(0).name}/1-"
    assert await server.resizer.delete(server.group(0), [f"{name}3", f"{name}3"]) == Lowering((), 1)
    assert seed.sizes() == [2, 0, 0]
    assert await server.resizer.delete(server.group(0), [f"{name}2"]) == Lowering()


async def test_a_machine_is_known_by_the_id_that_it_had_before() -> None:
    seed, server, _clock = _with(1, 0, 0)
    (machine,) = seed.add_machines(0, "Pending")
    server.look()
    old = f"espalier:///{SHOOT_NAMESPACE}/{machine}"
    assert await server.resizer.delete(server.group(0), [old]) == Lowering((machine,))


async def test_a_node_of_another_group_is_refused() -> None:
    seed, server, _clock = _with(1, 1, 0)
    seed.add_machines(0, "Running")
    (other,) = seed.add_machines(1, "Running")
    server.look()
    with pytest.raises(ForeignNodeError):
        await server.resizer.delete(server.group(0), [f"p:///{other}"])
    foreign = f"espalier:///{SHOOT_NAMESPACE}/{zone_key(2).name}/1-1"
    with pytest.raises(ForeignNodeError):
        await server.resizer.delete(server.group(0), [foreign])
    assert seed.sizes() == [1, 1, 0]


async def test_in_a_rolling_zone_only_machines_without_a_node_are_taken() -> None:
    seed, server, _clock = _with(2, 0, 0)
    (old,) = seed.add_machines(0, "Running", suffix="1")
    (new,) = seed.add_machines(0, "Pending", suffix="2")
    server.look()
    assert server.group(0).is_rolling
    assert server.group(0).bounds.minimum == 2
    with pytest.raises(RollingError):
        await server.resizer.delete(server.group(0), [f"p:///{old}"])
    assert await server.resizer.delete(server.group(0), [f"p:///{new}"]) == Lowering((new,))


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
async def test_a_smaller_target_takes_only_what_is_no_node_yet(
    phases: list[str], replicas: int, count: int, expected: tuple[int, list[int]]
) -> None:
    seed, server, _clock = _with(replicas, 0, 0)
    machines = seed.add_machines(0, *phases)
    server.look()
    lowered = await server.resizer.decrease(server.group(0), count)
    size, named = expected
    assert (seed.sizes()[0], lowered.machines) == (size, tuple(machines[each] for each in named))


async def test_a_node_that_memory_does_not_show_yet_is_not_taken_back() -> None:
    seed, server, _clock = _with(2, 0, 0)
    seed.add_machines(0, "Running", "Running")
    assert server.group(0).missing == 2
    assert await server.resizer.decrease(server.group(0), 2) == Lowering()
    placeholder = f"espalier:///{SHOOT_NAMESPACE}/{zone_key(0).name}/1-1"
    assert await server.resizer.delete(server.group(0), [placeholder]) == Lowering()
    assert seed.sizes() == [2, 0, 0]


async def test_a_smaller_size_is_written_again_at_the_new_version() -> None:
    seed, server, _clock = _with(2, 0, 0)
    _first, second = seed.add_machines(0, "Running", "Running")
    server.look()
    group = server.group(0)
    seed.change(MachineDeployment, zone_key(0), {"status": {"replicas": 2}})
    await server.resizer.delete(group, [f"p:///{second}"])
    assert seed.sizes() == [1, 0, 0]


async def test_shrinking_while_the_api_server_is_away_says_so() -> None:
    seed, server, _clock = _with(2, 0, 0)
    (first, _second) = seed.add_machines(0, "Running", "Running")
    server.look()
    server.is_away = True
    with pytest.raises(UnavailableError):
        await server.resizer.delete(server.group(0), [f"p:///{first}"])


def test_keys_are_what_the_tests_take_them_for() -> None:
    assert zone_key(0) == ObjectKey(SHOOT_NAMESPACE, f"{SHOOT_NAMESPACE}-pool-z1")
