"""SeedAutoscalers: demand, metrics, history, draining, and the scaling of sets."""

from decimal import Decimal

import pytest

from tests.support.autoscaled_garden import QUICK, AutoscaledGarden
from tests.support.set_objects import make_autoscaler, make_hosted_shoot, make_set
from webhook.api import names
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.seedautoscaler import prometheus
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER
from webhook.kube.meta import Object


@pytest.fixture
def garden() -> AutoscaledGarden:
    return AutoscaledGarden()


async def test_a_set_follows_its_shoots_up_and_down(garden: AutoscaledGarden) -> None:
    await garden.grow()
    assert garden.replicas == 1
    assert garden.condition(names.SCALING_ACTIVE) == ("True", "ValidMetricFound")
    await garden.add(40)
    await garden.run(200)
    assert garden.replicas == 4
    status = garden.scaler.status
    assert status.desired_replicas == 4
    assert status.current_replicas == 4
    assert status.last_scale_time is not None
    assert status.current_metrics[0].resource is not None
    assert status.current_metrics[0].resource.average_utilization == 50
    assert all(shoot.spec.seed_name for shoot in garden.api.memory.store(Shoot).list())
    await garden.remove(38)
    await garden.run(240)
    assert garden.replicas == 1
    await garden.remove(1, start=38)
    await garden.run(60)
    assert len(garden.names(ManagedSeed)) == 1
    assert garden.condition(names.ABLE_TO_SCALE)[0] == "True"


@pytest.mark.parametrize("kind", [Shoot, Seed, ManagedSeed])
async def test_nothing_is_scaled_while_a_kind_that_it_reads_is_not_served(
    garden: AutoscaledGarden, kind: type[Object]
) -> None:
    await garden.grow()
    await garden.add(40)
    await garden.run(200)
    before = garden.replicas
    memory = garden.api.memory
    kept = {obj.key: garden.api.objects[kind, obj.key] for obj in memory.store(kind).list()}
    memory.replace_store(memory.new_store(kind), "")
    garden.api.unserved = frozenset({kind})
    scaler = [pair for pair in garden.reconcilers if pair[0] is SEED_AUTOSCALER]
    garden.reconcilers, every = scaler, garden.reconcilers
    await garden.run(200)
    assert garden.replicas == before == 4
    for body in kept.values():
        garden.put(body)
    garden.api.unserved = frozenset()
    garden.reconcilers = every
    await garden.run(200)
    assert garden.replicas == before


async def test_pending_shoots_count_at_once_unless_they_need_another_region(
    garden: AutoscaledGarden,
) -> None:
    await garden.grow(metrics=[])
    elsewhere = make_hosted_shoot("elsewhere", "")
    elsewhere["spec"] |= {"region": "us-east-1"}
    del elsewhere["spec"]["seedName"]
    garden.put(elsewhere)
    await garden.run(20)
    assert garden.scaler.status.pending_shoots == 0
    assert garden.condition(names.SCALING_ACTIVE) == ("False", "FailedGetResourceMetric")


async def test_mode_recommend_writes_the_status_only(garden: AutoscaledGarden) -> None:
    await garden.grow(mode="Recommend")
    await garden.add(15)
    await garden.run(60)
    assert garden.replicas == 1
    assert garden.scaler.status.desired_replicas == 2
    assert garden.scaler.status.last_scale_time is None


async def test_a_set_at_its_maximum_is_reported_as_limited(garden: AutoscaledGarden) -> None:
    await garden.grow(maxReplicas=2)
    await garden.add(60)
    await garden.run(120)
    assert garden.replicas == 2
    assert garden.condition(names.SCALING_LIMITED) == ("True", "TooManyReplicas")


async def test_stabilization_survives_a_change_of_leaders(garden: AutoscaledGarden) -> None:
    await garden.grow()
    await garden.add(20)
    await garden.run(100)
    assert garden.replicas == 2
    await garden.remove(19)
    await garden.run(20)
    assert garden.replicas == 2
    assert garden.condition(names.ABLE_TO_SCALE) == ("True", "ScaleDownStabilized")
    garden.start()
    await garden.run(20)
    assert garden.replicas == 2
    await garden.run(60)
    assert garden.replicas == 1


async def test_seeds_are_cordoned_first_and_uncordoned_if_demand_returns(
    garden: AutoscaledGarden,
) -> None:
    down = {"stabilizationWindowSeconds": 0, "cordon": True}
    await garden.grow(behavior={**QUICK, "scaleDown": down})
    await garden.add(30)
    await garden.run(120)
    assert garden.replicas == 3
    await garden.remove(19)
    await garden.remove(9, start=20)
    await garden.run(20)
    assert len(garden.cordoned) == 1
    assert garden.replicas == 2
    await garden.add(24, start=100)
    await garden.run(60)
    assert garden.cordoned == []


async def test_hidden_and_protected_seeds_are_not_cordoned(
    garden: AutoscaledGarden,
) -> None:
    down = {"stabilizationWindowSeconds": 0, "cordon": True}
    await garden.grow(behavior={**QUICK, "scaleDown": down})
    await garden.add(30)
    await garden.run(120)
    assert garden.replicas == 3
    hidden = {"spec": {"settings": {"scheduling": {"visible": False}}}}
    await garden.change(Seed, "leaf-0", hidden)
    protected = {"metadata": {"annotations": {names.PROTECT_FROM_DELETION: "true"}}}
    await garden.change(ManagedSeed, "leaf-1", protected)
    await garden.remove(29)
    await garden.run(20)
    assert {*garden.cordoned} <= {"leaf-2"}


async def test_a_missing_set_is_reported(garden: AutoscaledGarden) -> None:
    garden.put(make_autoscaler())
    await garden.run(5)
    assert garden.condition(names.ABLE_TO_SCALE) == ("False", "FailedGetScale")


async def test_a_pending_shoot_counts_for_the_first_set_that_could_host_it() -> None:
    garden = AutoscaledGarden()
    for name in ("alpha", "beta"):
        garden.put(make_set(name, replicas=1))
        garden.put(make_autoscaler(name, mode="Auto"))
    await garden.add(3)
    garden.reconcilers = [pair for pair in garden.reconcilers if pair[0] is SEED_AUTOSCALER]
    await garden.turn()
    found = {name: garden.get(SeedAutoscaler, name).status for name in ("alpha", "beta")}
    assert found["alpha"].pending_shoots == 3
    assert found["beta"].pending_shoots == 0


def test_an_instant_vector_is_parsed_by_seed() -> None:
    sample = {"metric": {"seed": "a"}, "value": [0, "3.5"]}
    nothing = {"metric": {"seed": "b"}, "value": [0, "NaN"]}
    data = {"resultType": "vector", "result": [sample, nothing]}
    assert prometheus.read({"status": "success", "data": data}) == {"a": Decimal("3.5")}
    unlabelled = {"resultType": "vector", "result": [{"metric": {}, "value": [0, "1"]}]}
    with pytest.raises(ValueError, match="label 'seed'"):
        prometheus.read({"status": "success", "data": unlabelled})
