"""SeedAutoscalers: demand, metrics, memory, draining, and sets that follow."""

from decimal import Decimal
from typing import Any

import pytest

from tests.builders import CORE
from tests.gardens import OURS, PLAYED, Garden
from tests.sets import make_guest, make_parent, make_set
from webhook.api import conditions, names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, Object
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.seedautoscaler import prometheus
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER
from webhook.domain.options import CapacityOptions, Options
from webhook.runtime.actions import Patch, Plan
from webhook.runtime.rows import Controller
from webhook.scheduling.pipeline import place
from webhook.state.snapshot import Snapshot

SHOOTS = kind_of_model(Shoot)


def schedule(shoot: Shoot, snapshot: Snapshot) -> Plan:
    """Place a shoot as the built-in scheduler would."""
    if shoot.spec.seed_name or shoot.is_deleting:
        return Plan()
    seed = place(shoot, snapshot.list(Seed), snapshot).seed
    if seed is None:
        return Plan()
    return Plan((Patch(SHOOTS, shoot.key, {"spec": {"seedName": seed}}, shoot.uid),))


ROWS = (*OURS, *PLAYED, SEED_AUTOSCALER, Controller("schedule", Shoot, schedule))


def make_autoscaler(
    target: str = "leaf", utilization: int = 50, most: int = 10, **spec: Any
) -> Draft:
    metric = {
        "name": "shoots",
        "target": {"type": "Utilization", "averageUtilization": utilization},
    }
    return {
        "apiVersion": "seedmanagement.gardener.cloud/v1beta1",
        "kind": "SeedAutoscaler",
        "metadata": {"name": target, "namespace": "garden"},
        "spec": {
            "scaleTargetRef": {"kind": "ManagedSeedSet", "name": target},
            "minReplicas": 1,
            "maxReplicas": most,
            "metrics": [{"type": "Resource", "resource": metric}],
            **spec,
        },
    }


QUICK = {
    "scaleUp": {"policies": [{"type": "Seeds", "value": 10, "periodSeconds": 1}]},
    "scaleDown": {"stabilizationWindowSeconds": 60},
}


class Landscape(Garden):
    """A garden where a set of small seeds is scaled by how full they are."""

    def __init__(self) -> None:
        options = Options(capacity=CapacityOptions(default=20))
        super().__init__(options, ROWS)
        profile = {"apiVersion": CORE, "kind": "CloudProfile", "metadata": {"name": "aws"}}
        self.put({**profile, "spec": {"type": "aws"}})

    async def grow(self, **spec: Any) -> None:
        parent = make_parent()
        parent["spec"]["taints"] = [{"key": names.SEED_PROTECTED}]
        self.put(parent)
        tolerant = {"spec": {"tolerations": [{"key": names.SEED_PROTECTED}]}}
        self.put(make_set(replicas=1, maxParallel=5, shootTemplate=tolerant))
        self.put(make_autoscaler(**{"behavior": QUICK, **spec}))
        await self.run(40)

    async def add(self, count: int, start: int = 0) -> None:
        for number in range(start, start + count):
            guest = make_guest(f"guest-{number}", "")
            guest["spec"] |= {"cloudProfile": {"name": "aws"}}
            del guest["spec"]["seedName"]
            self.put(guest)

    async def remove(self, count: int, start: int = 0) -> None:
        for number in range(start, start + count):
            await self.delete(Shoot, f"guest-{number}", "garden-dev")

    @property
    def scaler(self) -> SeedAutoscaler:
        return self.get(SeedAutoscaler, "leaf")

    @property
    def replicas(self) -> int | None:
        return self.get(ManagedSeedSet, "leaf").spec.replicas

    def told(self, kind: str) -> tuple[str, str]:
        found = conditions.get(self.scaler.status.conditions, kind)
        assert found is not None
        return found.status, found.reason


@pytest.fixture
def garden() -> Landscape:
    return Landscape()


async def test_a_set_follows_its_shoots_up_and_down(garden: Landscape) -> None:
    await garden.grow()
    assert garden.replicas == 1
    assert garden.told(names.SCALING_ACTIVE) == ("True", "ValidMetricFound")
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
    assert garden.told(names.ABLE_TO_SCALE)[0] == "True"


@pytest.mark.parametrize("kind", [Shoot, Seed, ManagedSeed])
async def test_nothing_is_scaled_while_a_kind_that_tells_of_demand_is_not_served(
    garden: Landscape, kind: type[Object]
) -> None:
    await garden.grow()
    await garden.add(40)
    await garden.run(200)
    before = garden.replicas
    memory = garden.api.memory
    kept = {
        obj.key: garden.api.objects[kind.__name__, obj.key] for obj in memory.store(kind).list()
    }
    memory.adopt(memory.stage(kind), "")
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


async def test_waiting_shoots_count_at_once_but_not_those_of_another_region(
    garden: Landscape,
) -> None:
    await garden.grow(metrics=[])
    elsewhere = make_guest("elsewhere", "")
    elsewhere["spec"] |= {"region": "us-east-1"}
    del elsewhere["spec"]["seedName"]
    garden.put(elsewhere)
    await garden.run(20)
    assert garden.scaler.status.pending_shoots == 0
    assert garden.told(names.SCALING_ACTIVE) == ("False", "FailedGetResourceMetric")


async def test_recommend_fills_the_status_only(garden: Landscape) -> None:
    await garden.grow(mode="Recommend")
    await garden.add(15)
    await garden.run(60)
    assert garden.replicas == 1
    assert garden.scaler.status.desired_replicas == 2
    assert garden.scaler.status.last_scale_time is None


async def test_the_largest_number_is_a_limit_that_is_told(garden: Landscape) -> None:
    await garden.grow(maxReplicas=2)
    await garden.add(60)
    await garden.run(120)
    assert garden.replicas == 2
    assert garden.told(names.SCALING_LIMITED) == ("True", "TooManyReplicas")


async def test_a_drop_is_waited_out_across_a_change_of_leaders(garden: Landscape) -> None:
    await garden.grow()
    await garden.add(20)
    await garden.run(100)
    assert garden.replicas == 2
    await garden.remove(19)
    await garden.run(20)
    assert garden.replicas == 2
    assert garden.told(names.ABLE_TO_SCALE) == ("True", "ScaleDownStabilized")
    garden.start()
    await garden.run(20)
    assert garden.replicas == 2
    await garden.run(60)
    assert garden.replicas == 1


async def test_seeds_are_drained_first_and_freed_if_demand_returns(garden: Landscape) -> None:
    down = {"stabilizationWindowSeconds": 0, "cordon": True}
    await garden.grow(behavior={**QUICK, "scaleDown": down})
    await garden.add(30)
    await garden.run(120)
    assert garden.replicas == 3
    await garden.remove(19)
    await garden.remove(9, start=20)
    await garden.run(20)
    drained = [
        name
        for name in garden.names(Seed)
        if any(t.key == names.CORDON_TAINT for t in garden.get(Seed, name).spec.taints)
    ]
    assert len(drained) == 1
    assert garden.replicas == 2
    await garden.add(24, start=100)
    await garden.run(60)
    assert not any(
        taint.key == names.CORDON_TAINT
        for name in garden.names(Seed)
        for taint in garden.get(Seed, name).spec.taints
    )


async def test_seeds_that_others_hid_and_protected_ones_are_not_drained(
    garden: Landscape,
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
    drained = [
        name
        for name in garden.names(Seed)
        if any(t.key == names.CORDON_TAINT for t in garden.get(Seed, name).spec.taints)
    ]
    assert {*drained} <= {"leaf-2"}


async def test_a_missing_set_is_told(garden: Landscape) -> None:
    garden.put(make_autoscaler())
    await garden.run(5)
    assert garden.told(names.ABLE_TO_SCALE) == ("False", "FailedGetScale")


async def test_a_waiting_shoot_counts_for_the_first_set_that_would_take_it() -> None:
    garden = Landscape()
    for name in ("alpha", "beta"):
        garden.put(make_set(name, replicas=0))
        garden.put(make_autoscaler(name, mode="Auto"))
    await garden.add(3)
    garden.reconcilers = [pair for pair in garden.reconcilers if pair[0] is SEED_AUTOSCALER]
    await garden.turn()
    found = {name: garden.get(SeedAutoscaler, name).status for name in ("alpha", "beta")}
    assert found["alpha"].pending_shoots == 3
    assert found["beta"].pending_shoots == 0


def test_an_instant_vector_is_read_by_seed() -> None:
    sample = {"metric": {"seed": "a"}, "value": [0, "3.5"]}
    nothing = {"metric": {"seed": "b"}, "value": [0, "NaN"]}
    data = {"resultType": "vector", "result": [sample, nothing]}
    assert prometheus.read({"status": "success", "data": data}) == {"a": Decimal("3.5")}
    unlabelled = {"resultType": "vector", "result": [{"metric": {}, "value": [0, "1"]}]}
    with pytest.raises(ValueError, match="label 'seed'"):
        prometheus.read({"status": "success", "data": unlabelled})
