"""G1 to G11: where the design's formulas alone would be unsafe, and the rule that fills the gap."""

from datetime import UTC, datetime

import pytest

from tests.support.clocks import FakeClock
from tests.support.machine_objects import deployment
from tests.support.pool_objects import KEY, record, show, zone
from tests.unit.nodegroups.fake_seed import Seed, SeedServer
from webhook.api import names
from webhook.api.pool_records import PoolRecordObject
from webhook.controllers.pools.records import plan_record
from webhook.domain.pools import discovery, permits, pool_record
from webhook.domain.pools.discovery import Discovery, DiscoveryError, Permits
from webhook.domain.pools.permits import PermittedSize, SetState, SizeRequest, ZoneMachines
from webhook.domain.pools.sizing import Bounds, PoolBounds, ZoneSize, bounds
from webhook.runtime.actions import Patch

ADAPTIVE = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}
POOL = PoolBounds(3, 4, 3, "Adaptive")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def sized(*assigned: int, bad: tuple[int, ...] = ()) -> list[tuple[int, int]]:
    groups = [ZoneSize(index, size, index in bad) for index, size in enumerate(assigned)]
    return [(each.minimum, each.maximum) for each in bounds(POOL, groups)]


def test_g1_a_minimum_is_never_above_its_maximum() -> None:
    assert sized(4, 0, 0) == [(1, 4), (0, 0), (0, 0)]


def test_g2_a_pool_below_its_nodes_has_no_negative_maximum_and_deletes_nothing() -> None:
    assert sized(5, 1, 0) == [(1, 3), (0, 0), (0, 0)]
    assert all(each >= Bounds(0, 0) for each in bounds(POOL, [ZoneSize(0, 9), ZoneSize(1, 9)]))


def test_g3_no_group_has_a_minimum_if_all_zones_are_bad() -> None:
    assert sized(0, 0, 0, bad=(0, 1, 2)) == [(0, 4), (0, 4), (0, 4)]


def test_g4_the_nodes_of_a_bad_zone_count_and_its_minimum_is_zero() -> None:
    assert sized(1, 1, 0, bad=(0,)) == [(0, 3), (2, 3), (1, 2)]


async def test_g5_assigned_is_the_target_size_registered_or_not() -> None:
    seed = Seed()
    seed.add_pool(2, 0, 0, bounds=(3, 4), **ADAPTIVE)  # two replicas, and not one machine
    server = SeedServer(seed, FakeClock())
    server.deliver()
    assert [server.group(index).bounds.maximum for index in range(3)] == [4, 2, 2]


async def test_g6_groups_that_grow_in_the_same_scan_share_what_is_left() -> None:
    seed = Seed()
    seed.add_pool(1, 0, 0, bounds=(3, 4), **ADAPTIVE)
    server = SeedServer(seed, FakeClock())
    server.deliver()
    offered = [server.group(index).bounds.maximum for index in range(3)]
    assert offered == [4, 3, 3], "each is offered all of it"
    for index in range(3):
        await server.resizer.increase(server.group(index), 3)
        server.deliver()
    assert seed.sizes() == [2, 1, 1]


def test_g7_espalier_raises_a_zone_to_its_minimum() -> None:
    zones = [zone(index, size, bounds=(3, 5)) for index, size in enumerate((1, 0, 1))]
    found = show(*zones, record(disagreeing=""))
    (kept,) = found.list(PoolRecordObject)
    *_, write = plan_record(kept, found).actions
    assert isinstance(write, Patch)
    assert (write.key.name, write.change) == (
        zones[1]["metadata"]["name"],
        {"spec": {"replicas": 1}},
    )


def test_g8_zones_are_in_the_order_of_the_definition_not_of_a_map() -> None:
    found, _ = discovery.discover(
        [deployment(zone=index) for index in (9, 1, 0)], discovery.discoveries(())
    )
    assert [each.name[-4:].lstrip("l-") for each in found[0].zones] == ["z1", "z2", "z10"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "mcm:k8s.io/cluster-autoscaler/one",
            Discovery("k8s.io/cluster-autoscaler", "one", is_shoot=True),
            id="a shoot",
        ),
        pytest.param("mcm:key=value", Discovery("key", "value"), id="a key and a value"),
        pytest.param("asg:tag=key", None, id="another discoverer"),
    ],
)
def test_g9_a_discovery_spec_is_parsed_strictly(text: str, found: Discovery | None) -> None:
    if found is not None:
        assert discovery.parse_discovery(text) == found
        return
    with pytest.raises(DiscoveryError, match="'asg'"):
        discovery.parse_discovery(text)


@pytest.mark.parametrize(
    ("surge", "unavailable", "numbers"),
    [
        pytest.param("10%", 0, Permits(1, 0), id="a surge is of the maximum, rounded up"),
        pytest.param(0, "40%", Permits(0, 1), id="what may lack is of the minimum, rounded down"),
        pytest.param(0, 0, Permits(0, 1), id="both zero: one may lack"),
    ],
)
def test_g10_permits_are_of_the_whole_pool_and_never_both_zero(
    surge: int | str, unavailable: int | str, numbers: Permits
) -> None:
    whole = discovery.Pool(KEY, 3, 4, 3, (), "Adaptive", surge, unavailable)
    assert whole.permits == numbers
    rolling = ZoneMachines("b", 3, (SetState("b-old", 3, 3, 3), SetState("b-new", 1, 0, 1)))
    resting = ZoneMachines("a", 3, (SetState("a-old", 3, 3, 3),))
    taken = permits.permit_size(
        Permits(1, 0), [resting, rolling], {}, SizeRequest("a", "a-new", 0, 2)
    )
    assert taken == PermittedSize(0, False), "what is there is taken, at worst nothing"


def test_g10_a_permit_is_released_when_its_write_fails() -> None:
    granted = pool_record.add_grant(pool_record.PoolRecord(KEY), "uid", "z", 2, NOW)
    later = NOW + pool_record.GRANT_TTL
    assert pool_record.stale_grants(granted, later) == {"uid"}


def test_g11_a_new_set_grows_freely_to_the_replicas_and_no_further() -> None:
    lone = ZoneMachines("a", 3, (SetState("a-old", 0), SetState("a-new", 1, 1, 1)))
    elsewhere = ZoneMachines("b", 1, (SetState("b-old", 1, 1, 1), SetState("b-new", 1, 0, 1)))
    request = SizeRequest("a", "a-new", 1, 9)
    assert permits.permit_size(Permits(1, 0), [lone, elsewhere], {}, request) == PermittedSize(
        3, False
    )
