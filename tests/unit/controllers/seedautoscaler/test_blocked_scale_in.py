"""SeedAutoscalers of sets that should shrink and cannot, and of sets without replicas."""

import pytest

from tests.support.autoscaled_garden import AutoscaledGarden
from webhook.api import names
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.kube import conditions


@pytest.fixture
async def garden() -> AutoscaledGarden:
    """Forty shoots on four seeds, exactly at the target."""
    found = AutoscaledGarden()
    await found.grow()
    await found.add(40)
    await found.run(200)
    assert found.replicas == 4
    placed = {each.spec.seed_name for each in found.api.memory.store(Shoot).list()}
    assert placed == {"parent", "leaf-0", "leaf-1", "leaf-2", "leaf-3"}
    return found


async def scale(garden: AutoscaledGarden, replicas: int) -> None:
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"replicas": replicas}})


async def leave_one_shoot_on(garden: AutoscaledGarden, *seeds: str) -> None:
    """Delete all shoots but one on each of some seeds."""
    left = {*seeds}
    for shoot in garden.api.memory.store(Shoot).list():
        if shoot.namespace == "garden-dev":
            if shoot.spec.seed_name in left:
                left.remove(shoot.spec.seed_name)
            else:
                await garden.delete(Shoot, shoot.name, "garden-dev")


@pytest.mark.parametrize("replicas", [1, 2, 3])
async def test_seeds_that_are_on_target_and_cannot_go_are_wanted(
    garden: AutoscaledGarden, replicas: int
) -> None:
    await scale(garden, replicas)
    await garden.run(60)
    assert garden.replicas == 4
    assert garden.names(ManagedSeed) == [f"leaf-{ordinal}" for ordinal in range(4)]
    assert garden.scaler.status.waiting_for == ""


async def test_the_set_and_the_seeds_that_it_waits_for_are_reported(
    garden: AutoscaledGarden,
) -> None:
    await leave_one_shoot_on(garden, "leaf-1", "leaf-3")
    await garden.run(240)
    assert garden.replicas == 1
    assert garden.names(ManagedSeed) == ["leaf-1", "leaf-3"]
    assert garden.scaler.status.waiting_for == "leaf-1, leaf-3"
    able = conditions.get(garden.scaler.status.conditions, names.ABLE_TO_SCALE)
    assert able is not None
    assert (able.status, able.reason) == ("False", "ScaleInBlocked")
    assert able.message == (
        "the set has 2 seeds and waits to remove all but 1:"
        " leaf-1 (used by 1 shoot), leaf-3 (used by 1 shoot)"
    )
    await leave_one_shoot_on(garden, "leaf-1")
    await garden.run(60)
    assert garden.names(ManagedSeed) == ["leaf-1"]
    assert garden.scaler.status.waiting_for == ""
    assert garden.condition(names.ABLE_TO_SCALE)[0] == "True"


async def test_a_set_scaled_to_zero_by_hand_is_left_alone_until_it_is_scaled_up(
    garden: AutoscaledGarden,
) -> None:
    await scale(garden, 0)
    await garden.run(60)
    assert garden.replicas == 0
    assert garden.condition(names.SCALING_ACTIVE) == ("False", "ScalingDisabled")
    assert garden.scaler.status.desired_replicas == 0
    assert garden.scaler.status.waiting_for == "leaf-0, leaf-1, leaf-2, leaf-3"
    await garden.add(10, start=100)
    await garden.run(60)
    assert garden.replicas == 0
    await scale(garden, 1)
    await garden.run(120)
    assert garden.replicas == 5
    assert garden.condition(names.SCALING_ACTIVE) == ("True", "ValidMetricFound")


async def test_a_set_that_may_have_no_seeds_is_scaled_up_from_zero() -> None:
    garden = AutoscaledGarden()
    await garden.grow(minReplicas=0)
    await scale(garden, 0)
    await garden.add(15)
    await garden.run(60)
    assert garden.replicas == 2
    assert garden.condition(names.SCALING_ACTIVE)[1] != "ScalingDisabled"


async def test_a_set_without_replicas_takes_no_demand_from_the_next_set() -> None:
    garden = AutoscaledGarden()
    await garden.grow()
    await scale(garden, 0)
    await garden.grow_another("zebra")
    await garden.add(15)
    await garden.run(60)
    assert garden.get(ManagedSeedSet, "leaf").spec.replicas == 0
    assert garden.get(ManagedSeedSet, "zebra").spec.replicas == 2
