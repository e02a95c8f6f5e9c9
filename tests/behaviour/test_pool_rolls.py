"""Pools of three zones roll under a real machine-controller-manager, within their permits.

All scenarios run at the same time, each with its own pool in the one namespace of one manager.
Every event is recorded, and the bounds are checked at every instant of the API server's history
afterwards.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import pytest
import pytest_asyncio
import yaml

from tests.support.cluster_autoscaler import Autoscaler, connected_autoscaler
from tests.support.control_planes import require_parts
from tests.support.machine_pools import Fleet, Site, site
from tests.support.pool_state import PoolState
from tests.support.waits import eventually
from webhook.api import names
from webhook.dev.planes.ports import free_port
from webhook.nodegroups import provider_pb2

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
]

ACTUATOR = "system:serviceaccount:extension-provider-local-x:provider-local"
PERSON = "jane"
ROLL_SECONDS = 300
"""Long, for machines with other load."""
DRAIN_SECONDS = 60 if os.environ.get("ESPALIER_SOAK") else 3
OK = grpc.StatusCode.OK
CREATING, OUT_OF_RESOURCES = 2, 1
SETTINGS = {"nodegroups": {"backoffSeconds": 12, "takeoverSeconds": 4}}

Scenario = Callable[[Fleet], Awaitable[None]]


def check(fleet: Fleet, mark: int, pool: str, *, surge: int, unavailable: int) -> list[PoolState]:
    """Check every state since a position against the pool's numbers."""
    moments = list(fleet.since(mark, pool))
    assert max(each.surge for each in moments) <= surge, "more surge than the pool has"
    assert max(each.missing for each in moments) <= unavailable, "fewer serve than must"
    return moments


async def roll_with_one_more(fleet: Fleet) -> None:
    """Three zones at once, surge 1: never above size + 1, never fewer available than size."""
    await fleet.pool("one", (2, 1, 1))
    mark = fleet.mark()
    await fleet.roll("one", "second")
    await fleet.until(lambda: fleet.has_rolled("one", "second", 4), ROLL_SECONDS, "one rolled")
    moments = check(fleet, mark, "one", surge=1, unavailable=0)
    assert max(each.total for each in moments) == 5
    assert max(each.existing for each in moments) == 5


async def roll_with_two_more_and_one_less(fleet: Fleet) -> None:
    await fleet.pool("both", (2, 1, 1), permits=(2, 1))
    mark = fleet.mark()
    await fleet.roll("both", "second")
    await fleet.until(lambda: fleet.has_rolled("both", "second", 4), ROLL_SECONDS, "both rolled")
    moments = check(fleet, mark, "both", surge=2, unavailable=1)
    # A machine that drains does not block growth up to the replicas, so it may exist besides.
    assert max(each.existing for each in moments) <= 7


async def roll_with_one_less_only(fleet: Fleet) -> None:
    """0/0 means that one of the whole pool may be missing, not one of every zone."""
    await fleet.pool("none", (2, 1, 1), permits=(0, 0))
    mark = fleet.mark()
    await fleet.roll("none", "second")
    await fleet.until(lambda: fleet.has_rolled("none", "second", 4), ROLL_SECONDS, "none rolled")
    check(fleet, mark, "none", surge=0, unavailable=1)


async def a_zone_without_quota_has_the_only_permit(fleet: Fleet) -> None:
    """A bad zone returns its permit, the others finish, and it finishes after its recovery."""
    await fleet.pool("quota", (1, 1, 1))
    await fleet.simulate("quota", 0, "no-quota")
    mark = fleet.mark()
    await fleet.roll("quota", "second", zones=(0,))
    await fleet.until(
        lambda: sum(fleet.pool_state("quota").sizes.get("quota-z1", {}).values()) == 2,
        ROLL_SECONDS,
        "it has it",
    )
    await fleet.roll("quota", "second", zones=(1, 2))
    others = ("quota-z2", "quota-z3")
    await fleet.until(
        lambda: all(fleet.is_zone_rolled(each, "second") for each in others),
        ROLL_SECONDS,
        "the others finish",
    )
    await fleet.simulate("quota", 0, None)
    await fleet.until(lambda: fleet.has_rolled("quota", "second", 3), ROLL_SECONDS, "it heals")
    check(fleet, mark, "quota", surge=1, unavailable=0)


async def growth_and_a_lost_machine_in_mid_roll(fleet: Fleet) -> None:
    await fleet.pool("grown", (1, 2, 1))
    mark = fleet.mark()
    await fleet.roll("grown", "second")
    await fleet.until(
        lambda: fleet.pool_state("grown").surge == 1, ROLL_SECONDS, "the roll has begun"
    )
    await fleet.raise_to("grown", 2, 2)
    await fleet.lose_machine("grown-z2")
    await fleet.until(lambda: fleet.has_rolled("grown", "second", 5), ROLL_SECONDS, "grown rolled")
    moments = list(fleet.since(mark, "grown"))
    assert max(each.surge for each in moments) <= 1
    assert max(each.total for each in moments) <= 6
    # One machine was requested and one deleted: nothing else may be missing.
    assert max(each.missing for each in moments) <= 2


async def an_actuator_writes_its_shares(fleet: Fleet) -> None:
    """Static sizes and strategies arrive at rest and in mid-roll, and change nothing.

    Neither does a higher maximum; a lower one removes what is above it.
    """
    await fleet.pool("act", (3, 1, 1))
    mark = fleet.mark()

    async def reconcile(maximum: int = 30) -> None:
        for zone, share in enumerate(((1, 0), (0, 0), (0, 0))):
            rolling = {"maxSurge": share[0], "maxUnavailable": share[1]}
            strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
            metadata = {"annotations": {names.POOL_MAXIMUM: str(maximum)}}
            change = {"metadata": metadata, "spec": {"replicas": 2, "strategy": strategy}}
            await fleet.patch("machinedeployments", f"act-z{zone + 1}", change, user=ACTUATOR)

    await reconcile()
    assert [*fleet.pool_state("act").replicas.values()] == [3, 1, 1]
    await fleet.roll("act", "second")
    await fleet.until(
        lambda: fleet.pool_state("act").surge == 1, ROLL_SECONDS, "the roll has begun"
    )
    await reconcile()
    await fleet.until(lambda: fleet.has_rolled("act", "second", 5), ROLL_SECONDS, "act rolled")
    moments = check(fleet, mark, "act", surge=1, unavailable=0)
    assert {tuple(each.replicas.values()) for each in moments} == {(3, 1, 1)}
    written = fleet.state["machinedeployments"]["act-z3"]["spec"]["strategy"]["rollingUpdate"]
    assert written == {"maxSurge": 1, "maxUnavailable": 0}
    mark = fleet.mark()
    for maximum in (40, 4):
        await reconcile(maximum)
    await fleet.until(lambda: fleet.is_at_rest("act", 4), ROLL_SECONDS, "act fits its maximum")
    sizes = {tuple(each.replicas.values()) for each in fleet.since(mark, "act")}
    assert sizes == {(3, 1, 1), (2, 1, 1)}


async def bounds_change_zone_by_zone(fleet: Fleet) -> None:
    """Objects change one at a time; until all agree, the smaller numbers count."""
    await fleet.pool("bound", (1, 1, 1), permits=(2, 0), bounds=(0, 6))
    mark = fleet.mark()
    more = {names.POOL_MAXIMUM: "4", names.POOL_MAX_SURGE: "1"}
    for zone in range(3):
        change = {"metadata": {"annotations": more}}
        await fleet.patch("machinedeployments", f"bound-z{zone + 1}", change)
        # The pool's maximum is 4 from the first write on.
        await fleet.raise_to("bound", 0, 2, requested=9, user=PERSON)
        await fleet.scale("bound", 0, 1, user=PERSON)
    await fleet.roll("bound", "second")
    await fleet.until(lambda: fleet.has_rolled("bound", "second", 3), ROLL_SECONDS, "bound rolled")
    assert max(each.wanted for each in fleet.since(mark, "bound")) <= 4


async def a_dead_zone_blocks_nobody(fleet: Fleet) -> None:
    """Another zone scales down, and all hibernate, while no machine of one zone is available."""
    for zone, size in enumerate((2, 3, 1)):
        body = fleet.make_zone("dead", zone, size, simulate="never-ready" if zone == 0 else "")
        await fleet.create("machinedeployments", body)
    await fleet.until(
        lambda: fleet.pool_state("dead").serving == 4, ROLL_SECONDS, "all but the dead zone serve"
    )
    await fleet.scale("dead", 1, 1)
    await fleet.until(lambda: fleet.pool_state("dead").serving == 2, ROLL_SECONDS, "scaled down")
    assert fleet.pool_state("dead").available == {"dead-z2": 1, "dead-z3": 1}
    for zone in range(3):
        await fleet.scale("dead", zone, 0, user=ACTUATOR)
    await fleet.until(lambda: fleet.pool_state("dead").existing == 0, ROLL_SECONDS, "asleep")


async def slow_drains_keep_their_permits(fleet: Fleet) -> None:
    """A machine that drains still exists: the next one waits for it."""
    slow = dict.fromkeys(range(3), f"drain={DRAIN_SECONDS}")
    await fleet.pool("slow", (1, 1, 1), simulate=slow)
    mark = fleet.mark()
    await fleet.roll("slow", "second")
    patience = ROLL_SECONDS + 3 * DRAIN_SECONDS
    await fleet.until(lambda: fleet.has_rolled("slow", "second", 3), patience, "slow rolled")
    moments = check(fleet, mark, "slow", surge=1, unavailable=0)
    assert max(each.existing for each in moments) <= 4


async def a_pool_is_raised_to_its_minimum_over_zones(fleet: Fleet) -> None:
    """One zone has no quota: the others carry its share, within the maximum."""
    for zone in range(3):
        simulate = "no-quota" if zone == 1 else ""
        body = fleet.make_zone("least", zone, 0, bounds=(4, 5), simulate=simulate)
        await fleet.create("machinedeployments", body)
    wanted = {"least-z1": 3, "least-z2": 1, "least-z3": 1}
    await fleet.until(lambda: fleet.pool_state("least").replicas == wanted, ROLL_SECONDS, "raised")
    await fleet.until(lambda: fleet.pool_state("least").serving == 4, ROLL_SECONDS, "they serve")
    assert max(each.wanted for each in fleet.since(0, "least")) <= 5
    record = await fleet.record("least")
    assert record.zones["least-z2"].strikes >= 1


async def an_autoscaler_grows_over_zones_of_which_one_has_no_quota(fleet: Fleet) -> None:
    """The others take over what a zone cannot have, as observed with cluster-autoscaler."""
    for zone, size in enumerate((1, 0, 0)):
        simulate = "no-quota" if zone == 1 else ""
        body = fleet.make_zone("up", zone, size, bounds=(0, 6), simulate=simulate)
        await fleet.create("machinedeployments", body)
    await fleet.until(lambda: fleet.pool_state("up").serving == 1, ROLL_SECONDS, "up is there")
    first, second, third = (f"{fleet.namespace}.up-z{zone}" for zone in (1, 2, 3))
    async with connected_autoscaler(f"127.0.0.1:{fleet.port}") as autoscaler:

        async def knows_all() -> bool:
            await autoscaler.scan(pending=True)
            return {first, second, third} <= {*autoscaler.groups}

        await eventually(knows_all, ROLL_SECONDS)
        await _grow(autoscaler, 3, second)
        await _grow(autoscaler, 6, third, first)
        await fleet.until(lambda: fleet.pool_state("up").serving == 4, ROLL_SECONDS, "up serves")
        await _give_up_failed_machines(fleet, autoscaler, second)
        await _grow(autoscaler, 6, third)
    await fleet.until(
        lambda: fleet.pool_state("up").serving == 6, ROLL_SECONDS, "up serves elsewhere"
    )
    assert fleet.pool_state("up").replicas["up-z2"] == 0
    assert max(each.wanted for each in fleet.since(0, "up")) == 6


async def _grow(autoscaler: Autoscaler, wanted: int, *groups: str) -> None:
    """Request what is missing of all groups at once, again if the seed was too busy."""
    pool = [group for group in autoscaler.groups if ".up-z" in group]

    async def has_grown() -> bool:
        await autoscaler.call("Refresh", provider_pb2.RefreshRequest())
        missing = wanted - sum([await autoscaler.size(each) for each in pool])
        if missing:
            requested = [autoscaler.increase(group, missing) for group in groups]
            assert {*await asyncio.gather(*requested)} <= {OK, grpc.StatusCode.UNAVAILABLE}
        return not missing

    await eventually(has_grown, ROLL_SECONDS)


async def _give_up_failed_machines(fleet: Fleet, autoscaler: Autoscaler, group: str) -> None:
    """Delete machines of a group once they are reported as out of resources."""

    async def fails() -> bool:
        found = [each.status for each in await autoscaler.instances(group)]
        reported = [(each.instanceState, each.errorInfo.instanceErrorClass) for each in found]
        return reported == [(CREATING, OUT_OF_RESOURCES)] * 2

    async def is_held_against_the_zone() -> bool:
        zone = (await fleet.record("up")).zones.get("up-z2")
        return zone is not None and zone.strikes >= 1

    await eventually(fails, ROLL_SECONDS)
    await eventually(is_held_against_the_zone, ROLL_SECONDS)
    failed = [each.id for each in await autoscaler.instances(group)]

    async def are_deleted() -> bool:
        return await autoscaler.delete(group, *failed) is OK

    await eventually(are_deleted, ROLL_SECONDS)


async def a_dry_run_takes_nothing(fleet: Fleet) -> None:
    await fleet.pool("dry", (1, 1, 1))
    sets = [name for name in fleet.state["machinesets"] if name.startswith("dry-z1")]

    async def is_settled() -> bool:
        """The sizes of zones were announced as well, and are removed once they are seen."""
        record = await fleet.record("dry")
        return not record.targets and not record.grants

    async def is_reported() -> bool:
        change = {"spec": {"replicas": 5}}
        reported = await fleet.patch("machinesets", sets[0], change, query="?dryRun=All")
        given = reported["spec"]["replicas"]
        assert given <= 2, "one surge permit is all there is"
        return bool(given == 2)

    await eventually(is_settled, ROLL_SECONDS)
    before = await fleet.record("dry")
    await eventually(is_reported, ROLL_SECONDS)
    assert await fleet.record("dry") == before
    assert fleet.pool_state("dry").total == 3


SCENARIOS: dict[str, Scenario] = {
    each.__name__: each
    for each in (
        roll_with_one_more,
        roll_with_two_more_and_one_less,
        roll_with_one_less_only,
        a_zone_without_quota_has_the_only_permit,
        growth_and_a_lost_machine_in_mid_roll,
        an_actuator_writes_its_shares,
        bounds_change_zone_by_zone,
        a_dead_zone_blocks_nobody,
        slow_drains_keep_their_permits,
        a_pool_is_raised_to_its_minimum_over_zones,
        an_autoscaler_grows_over_zones_of_which_one_has_no_quota,
        a_dry_run_takes_nothing,
    )
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    require_parts("etcd", "kubernetes", "mcm")
    async with site(tmp_path_factory.mktemp("pools")) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def outcomes(place: Site) -> dict[str, Any]:
    """Run all scenarios at once, and keep the outcome of each."""
    settings = place.folder / "settings.yaml"
    settings.write_text(yaml.safe_dump(SETTINGS))
    port = free_port()
    groups = ("--roles=admission,controllers,nodegroups", f"--nodegroups-port={port}")
    server = place.espalier("one", f"--config={settings}", *groups, "--nodegroups-insecure=fleet")
    await server.start()
    try:
        async with place.fleet("fleet") as fleet:
            fleet.port = port
            ended = await asyncio.gather(
                *(scenario(fleet) for scenario in SCENARIOS.values()), return_exceptions=True
            )
    finally:
        await server.stop()
    return dict(zip(SCENARIOS, ended, strict=True))


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_pools_keep_their_bounds(outcomes: dict[str, Any], scenario: str) -> None:
    ended = outcomes[scenario]
    if ended is not None:
        raise ended
