"""A SeedAutoscaler for a set whose replicas Gardener creates and Espalier updates."""

from typing import Any

import pytest

from tests.support.fake_garden import FakeGarden
from tests.support.landscape_objects import raw_seed
from tests.support.set_objects import make_autoscaler, make_hosted_shoot, make_set
from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER
from webhook.domain.options import Options
from webhook.kube import conditions
from webhook.kube.meta import Draft, ObjectKey

BESIDE = Options(beside_gardener=True)
AT_ONCE = {
    "scaleUp": {"policies": [{"type": "Seeds", "value": 10, "periodSeconds": 1}]},
    "scaleDown": {"stabilizationWindowSeconds": 0},
}


def make_garden(replicas: int, shoots: int, status: Draft) -> FakeGarden:
    """Return a set of seeds for ten shoots each, with some shoots on the first one."""
    garden = FakeGarden(BESIDE, [SEED_AUTOSCALER])
    owner = make_set(replicas=replicas)
    owner["status"] = {"replicas": replicas, **status}
    stored = garden.put(owner)
    for number in range(replicas):
        name = f"leaf-{number}"
        seed = raw_seed(name, shoots=10, labels={"set": "leaf"})
        healthy = {"type": names.SEED_SYSTEM_COMPONENTS_HEALTHY, "status": "True"}
        seed["status"] |= {"observedGeneration": 1}
        seed["status"]["conditions"].append(healthy)
        garden.put(seed)
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": "ManagedSeedSet",
            "name": "leaf",
            "uid": stored["metadata"]["uid"],
            "controller": True,
        }
        garden.put(
            {
                "apiVersion": owner["apiVersion"],
                "kind": "ManagedSeed",
                "metadata": {
                    "name": name,
                    "namespace": "garden",
                    "labels": {"set": "leaf"},
                    "ownerReferences": [reference],
                },
                "spec": {"shoot": {"name": name}},
            }
        )
    for number in range(shoots):
        garden.put(make_hosted_shoot(f"hosted-{number}", "leaf-0"))
    garden.put(make_autoscaler(utilization=50, behavior=AT_ONCE))
    return garden


def able_to_scale(garden: FakeGarden) -> tuple[str, str, str]:
    autoscaler = garden.get(SeedAutoscaler, "leaf")
    found = conditions.get(autoscaler.status.conditions, names.ABLE_TO_SCALE)
    assert found is not None
    return found.status, found.reason, found.message


def rolling(reason: str) -> Draft:
    able_to_scale = {"type": names.PROGRESSING, "status": "True", "reason": reason}
    return {"currentRevision": "a", "updateRevision": "b", "conditions": [able_to_scale]}


@pytest.mark.parametrize(
    ("status", "noted", "replicas", "reason"),
    [
        pytest.param({}, "true", 1, "SucceededRescale", id="no rollout: scaled down"),
        pytest.param(
            rolling("Updating"), "true", 2, "RollingUpdate", id="an update is about to start"
        ),
        pytest.param(
            rolling("ShootReconciling"), "true", 2, "RollingUpdate", id="a replica is updated"
        ),
        pytest.param(
            rolling("Complete") | {"currentRevision": "b"},
            "true",
            1,
            "SucceededRescale",
            id="rolled out",
        ),
        pytest.param(
            rolling("Updating") | {"currentRevision": "b"},
            "true",
            2,
            "RollingUpdate",
            id="a rollout is undone",
        ),
        pytest.param(
            rolling("PartitionReached"),
            "true",
            1,
            "SucceededRescale",
            id="the partition is reached",
        ),
        pytest.param(rolling("Paused"), "true", 1, "SucceededRescale", id="paused"),
        pytest.param(
            rolling("Updating"), "false", 1, "SucceededRescale", id="not rolled out by us any more"
        ),
    ],
)
async def test_a_set_is_not_scaled_down_while_a_replica_is_updated(
    status: dict[str, Any], noted: str, replicas: int, reason: str
) -> None:
    garden = make_garden(2, 0, status)
    note = {"metadata": {"annotations": {names.ROLLOUT: noted}}}
    await garden.change(ManagedSeedSet, "leaf", note)
    await garden.turn()
    assert garden.get(ManagedSeedSet, "leaf").spec.replicas == replicas
    assert able_to_scale(garden)[1] == reason


async def test_a_scale_down_conflicts_with_a_rollout_that_starts_meanwhile() -> None:
    garden = make_garden(2, 0, rolling("Complete"))
    note = {"metadata": {"annotations": {names.ROLLOUT: "true"}}}
    await garden.change(ManagedSeedSet, "leaf", note)
    begun: list[str] = []

    def begin() -> None:
        if not begun:
            owner = garden.api.objects[ManagedSeedSet, ObjectKey("garden", "leaf")]
            begun.append("Updating")
            garden.put({**owner, "status": {**owner["status"], **rolling("Updating")}})

    garden.api.before_write = begin
    await garden.turn()
    await garden.turn()
    assert (begun, garden.get(ManagedSeedSet, "leaf").spec.replicas) == (["Updating"], 2)
    assert able_to_scale(garden)[1] == "RollingUpdate"


async def test_a_pending_replica_that_blocks_scaling_up_is_reported() -> None:
    pending = {"name": "leaf-0", "reason": "SeedNotReady", "since": "2026-01-01T00:00:00Z"}
    garden = make_garden(1, 9, {"pendingReplica": pending})
    await garden.turn()
    assert garden.get(ManagedSeedSet, "leaf").spec.replicas == 2
    status, reason, message = able_to_scale(garden)
    assert (status, reason) == ("False", "PendingReplica")
    assert message == "the set waits for leaf-0: SeedNotReady"
