"""G1 to G11: where the design's formulas alone would be unsafe, and the rule that fills the gap."""

import asyncio
from datetime import UTC, datetime

import pytest

from tests.clocks import FakeClock
from tests.machines import deployment
from tests.unit.controllers.pools.world import KEY, record, show, zone
from tests.unit.nodegroups.seed import Seed, SeedServer
from webhook.api import names
from webhook.api.poolobjects import PoolObject
from webhook.controllers.pools.care import plan_record
from webhook.domain import permits, poolrecord, pools
from webhook.domain.permits import Answer, SetState, Wish, Zone
from webhook.domain.pools import Discovery, DiscoveryError, Permits
from webhook.domain.sizing import Bounds, Group, Pool, bounds
from webhook.runtime.actions import Patch

ADAPTIVE = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}
POOL = Pool(3, 4, 3, "Adaptive")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def sized(*assigned: int, bad: tuple[int, ...] = ()) -> list[tuple[int, int]]:
    groups = [Group(index, size, index in bad) for index, size in enumerate(assigned)]
    return [(each.minimum, each.maximum) for each in bounds(POOL, groups)]


def test_g1_a_minimum_is_never_above_its_maximum() -> None:
    assert sized(4, 0, 0) == [(1, 4), (0, 0), (0, 0)]


def test_g2_a_pool_below_its_nodes_has_no_negative_maximum_and_deletes_nothing() -> None:
    assert sized(5, 1, 0) == [(1, 3), (0, 0), (0, 0)]
    assert all(each >= Bounds(0, 0) for each in bounds(POOL, [Group(0, 9), Group(1, 9)]))


def test_g3_where_all_zones_are_bad_nobody_carries_a_minimum() -> None:
    assert sized(0, 0, 0, bad=(0, 1, 2)) == [(0, 4), (0, 4), (0, 4)]


def test_g4_the_nodes_of_a_bad_zone_count_and_nothing_keeps_them() -> None:
    assert sized(1, 1, 0, bad=(0,)) == [(0, 3), (2, 3), (1, 2)]


async def test_g5_assigned_is_the_target_size_registered_or_not() -> None:
    seed = Seed()
    seed.add_pool(2, 0, 0, bounds=(3, 4), **ADAPTIVE)  # two replicas, and not one machine
    server = SeedServer(seed, FakeClock())
    server.look()
    assert [server.group(index).bounds.maximum for index in range(3)] == [4, 2, 2]


async def test_g6_groups_that_grow_in_the_same_scan_share_what_is_left() -> None:
    seed = Seed()
    seed.add_pool(1, 0, 0, bounds=(3, 4), **ADAPTIVE)
    server = SeedServer(seed, FakeClock())
    server.look()
    offered = [server.group(index).bounds.maximum for index in range(3)]
    assert offered == [4, 3, 3], "each is offered all of it"
    calls = [server.resizer.increase(server.group(index), 3) for index in range(3)]
    await asyncio.gather(*calls)
    assert sum(seed.sizes()) == 4


def test_g7_a_zone_is_raised_to_its_minimum_by_us() -> None:
    zones = [zone(index, size, bounds=(3, 5)) for index, size in enumerate((1, 0, 1))]
    found = show(*zones, record(disagreeing=""))
    (kept,) = found.list(PoolObject)
    *_, write = plan_record(kept, found).actions
    assert isinstance(write, Patch)
    assert (write.key.name, write.change) == (
        zones[1]["metadata"]["name"],
        {"spec": {"replicas": 1}},
    )


def test_g8_zones_are_in_the_order_of_the_definition_not_of_a_map() -> None:
    found, _ = pools.discover(
        [deployment(zone=index) for index in (9, 1, 0)], pools.discoveries(())
    )
    assert [each.name[-4:].lstrip("l-") for each in found[0].zones] == ["z1", "z2", "z10"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "mcm:k8s.io/cluster-autoscaler/one",
            Discovery("k8s.io/cluster-autoscaler/one"),
            id="a key",
        ),
        pytest.param("mcm:key=value", Discovery("key", "value"), id="a key and a value"),
        pytest.param("asg:tag=key", None, id="another discoverer"),
    ],
)
def test_g9_a_discovery_spec_is_parsed_strictly(text: str, found: Discovery | None) -> None:
    if found is not None:
        assert pools.parse_discovery(text) == found
        return
    with pytest.raises(DiscoveryError, match="'asg'"):
        pools.parse_discovery(text)


@pytest.mark.parametrize(
    ("surge", "unavailable", "numbers"),
    [
        pytest.param("10%", 0, Permits(1, 0), id="a surge is of the maximum, rounded up"),
        pytest.param(0, "40%", Permits(0, 1), id="what may lack is of the minimum, rounded down"),
        pytest.param(0, 0, Permits(0, 1), id="both zero: one may lack"),
    ],
)
def test_g10_semaphores_are_the_pools_and_never_block(
    surge: int | str, unavailable: int | str, numbers: Permits
) -> None:
    whole = pools.Pool(KEY, 3, 4, 3, (), "Adaptive", surge, unavailable)
    assert whole.permits == numbers
    rolling = Zone("b", 3, (SetState("b-old", 3, 3, 3), SetState("b-new", 1, 0, 1)))
    resting = Zone("a", 3, (SetState("a-old", 3, 3, 3),))
    taken = permits.judge(Permits(1, 0), [resting, rolling], {}, Wish("a", "a-new", 0, 2))
    assert taken == Answer(0, False), "what is there is taken, at worst nothing"


def test_g10_a_permit_is_released_when_its_write_fails() -> None:
    granted = poolrecord.grant(poolrecord.Record(KEY), "uid", "z", 2, NOW)
    later = NOW + poolrecord.GRANT_LIFE
    assert poolrecord.stale_grants(granted, later) == {"uid"}


def test_g11_a_new_set_grows_freely_to_the_replicas_and_no_further() -> None:
    lone = Zone("a", 3, (SetState("a-old", 0), SetState("a-new", 1, 1, 1)))
    elsewhere = Zone("b", 1, (SetState("b-old", 1, 1, 1), SetState("b-new", 1, 0, 1)))
    wish = Wish("a", "a-new", 1, 9)
    assert permits.judge(Permits(1, 0), [lone, elsewhere], {}, wish) == Answer(3, False)
