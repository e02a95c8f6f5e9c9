"""A SeedAutoscaler over a set whose replicas a Gardener makes and Espalier rolls."""

from typing import Any

import pytest

from tests.gardens import Garden
from tests.landscapes import raw_seed
from tests.sets import make_guest, make_set
from tests.unit.controllers.test_seedautoscaler import make_autoscaler
from webhook.api import conditions, names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft, ObjectKey
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER
from webhook.domain.options import Options

BESIDE = Options(beside_gardener=True)
AT_ONCE = {
    "scaleUp": {"policies": [{"type": "Seeds", "value": 10, "periodSeconds": 1}]},
    "scaleDown": {"stabilizationWindowSeconds": 0},
}


def make_garden(replicas: int, guests: int, status: Draft) -> Garden:
    """A set of seeds that can take ten shoots each, with so many on the first."""
    garden = Garden(BESIDE, [SEED_AUTOSCALER])
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
    for number in range(guests):
        garden.put(make_guest(f"guest-{number}", "leaf-0"))
    garden.put(make_autoscaler(utilization=50, behavior=AT_ONCE))
    return garden


def told(garden: Garden) -> tuple[str, str, str]:
    autoscaler = garden.get(SeedAutoscaler, "leaf")
    found = conditions.get(autoscaler.status.conditions, names.ABLE_TO_SCALE)
    assert found is not None
    return found.status, found.reason, found.message


def rolling(reason: str) -> Draft:
    told = {"type": names.PROGRESSING, "status": "True", "reason": reason}
    return {"currentRevision": "a", "updateRevision": "b", "conditions": [told]}


@pytest.mark.parametrize(
    ("status", "noted", "replicas", "reason"),
    [
        pytest.param({}, "true", 1, "SucceededRescale", id="nothing rolls: surplus goes"),
        pytest.param(rolling("Updating"), "true", 2, "RollingUpdate", id="one is about to change"),
        pytest.param(rolling("ShootReconciling"), "true", 2, "RollingUpdate", id="one changes"),
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
            id="one is undone",
        ),
        pytest.param(
            rolling("PartitionReached"), "true", 1, "SucceededRescale", id="the rest is held back"
        ),
        pytest.param(rolling("Paused"), "true", 1, "SucceededRescale", id="all is held back"),
        pytest.param(
            rolling("Updating"), "false", 1, "SucceededRescale", id="nobody rolls it any longer"
        ),
    ],
)
async def test_nothing_is_lowered_while_a_replica_rolls(
    status: dict[str, Any], noted: str, replicas: int, reason: str
) -> None:
    garden = make_garden(2, 0, status)
    note = {"metadata": {"annotations": {names.ROLLOUT: noted}}}
    await garden.change(ManagedSeedSet, "leaf", note)
    await garden.turn()
    assert garden.get(ManagedSeedSet, "leaf").spec.replicas == replicas
    assert told(garden)[1] == reason


async def test_a_scale_that_a_rollout_overtakes_is_not_written() -> None:
    garden = make_garden(2, 0, rolling("Complete"))
    note = {"metadata": {"annotations": {names.ROLLOUT: "true"}}}
    await garden.change(ManagedSeedSet, "leaf", note)
    begun: list[str] = []

    def begin() -> None:
        if not begun:
            owner = garden.api.objects["ManagedSeedSet", ObjectKey("garden", "leaf")]
            begun.append("Updating")
            garden.put({**owner, "status": {**owner["status"], **rolling("Updating")}})

    garden.api.before_write = begin
    await garden.turn()
    await garden.turn()
    assert (begun, garden.get(ManagedSeedSet, "leaf").spec.replicas) == (["Updating"], 2)
    assert told(garden)[1] == "RollingUpdate"


async def test_a_raise_that_a_pending_replica_blocks_is_told_with_its_reason() -> None:
    pending = {"name": "leaf-0", "reason": "SeedNotReady", "since": "2026-01-01T00:00:00Z"}
    garden = make_garden(1, 9, {"pendingReplica": pending})
    await garden.turn()
    assert garden.get(ManagedSeedSet, "leaf").spec.replicas == 2
    status, reason, message = told(garden)
    assert (status, reason) == ("False", "PendingReplica")
    assert message == "the set waits for leaf-0: SeedNotReady"
