"""The examples of the design document, its pitfalls, and overlaps in every order, end to end."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.example_manifests import example_manifests
from tests.support.fake_scaling_cluster import (
    SHOP,
    TORTOISE,
    FakeScalingCluster,
    make_autoscaler,
    make_scaling,
    make_tortoise,
)
from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.kube.meta import ObjectKey

SECOND = timedelta(seconds=1)


def _bounds(world: FakeScalingCluster) -> tuple[int, int]:
    spec = world.autoscaler["spec"]
    return spec["minReplicas"], spec["maxReplicas"]


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _example(start: str, finish: str, replicas: int) -> dict[str, Any]:
    schedule = {"startAt": f"{start}Z", "finishAt": f"{finish}Z"}
    return make_scaling(replicas=replicas, memory="5G", schedule=schedule)


@pytest.mark.parametrize(
    ("start", "finish", "replicas"),
    [
        pytest.param("2023-12-31T23:30:00", "2024-01-05T00:00:00", 100, id="a new year campaign"),
        pytest.param("2024-03-31T23:30:00", "2024-04-02T00:00:00", 50, id="a new caller comes"),
    ],
)
def test_the_examples_of_the_document(start: str, finish: str, replicas: int) -> None:
    scaling = _example(start, finish, replicas)
    scaling["metadata"]["creationTimestamp"] = "2023-12-01T00:00:00Z"
    world = FakeScalingCluster(make_tortoise(phase="PartlyWorking"), make_autoscaler(), scaling)
    opens, closes = _at(start), _at(finish)
    seen = []
    for instant in (opens - SECOND, opens, closes - SECOND, closes):
        world.now = instant
        world.reconcile()
        policy = world.tortoise["spec"].get("resourcePolicy", [])
        seen.append((world.scaling()["status"]["phase"], _bounds(world), len(policy)))
    raised = (replicas, max(20, replicas))
    assert seen == [
        ("Pending", (3, 20), 0),
        ("Active", raised, 1),
        ("Active", raised, 1),
        ("Completed", (3, 20), 0),
    ]
    # Nobody plays a VPA here, so requests never rise.
    assert world.events == ["ScheduledScalingUp", "ResourcesNotReached", "ScheduledScalingDown"]


def test_trap_1_the_quantity_of_the_document_is_refused_with_the_valid_spelling() -> None:
    documented = next(
        manifest for _, manifest in example_manifests() if manifest["kind"] == "ScheduledScaling"
    )
    static = documented["spec"]["strategy"]["static"]
    static["minAllocatedResources"][0]["resources"]["memory"] = "5GB"
    decision = validate("scheduledscaling.rules", documented)
    assert any("5G" in message and "5Gi" in message for message in decision.messages)


def test_trap_2_resources_become_min_allocated_resources() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling()).at(1).reconcile()
    (entry,) = world.tortoise["status"]["recommendations"]["constraints"]["minAllocatedResources"]
    assert entry == {"containerName": "app", "minAllocatedResources": {"memory": "5Gi"}}


def test_trap_3_a_status_put_by_tortoise_does_not_wipe_the_constraints() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling()).at(1).reconcile()
    world.tortoise_works(50)
    assert world.tortoise["status"]["recommendations"]["constraints"]["minimumMinReplicas"] == 50
    world.at(6).reconcile()
    world.tortoise_works(50)
    assert "constraints" not in world.tortoise["status"]["recommendations"]


def test_trap_4_the_record_is_where_todays_tortoise_has_recommendations() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling()).at(1).reconcile()
    assert "constraints" in world.tortoise["status"]["recommendations"]
    assert "recommendation" not in world.tortoise["status"]


@pytest.mark.parametrize(
    ("floor", "bounds", "reason"),
    [
        pytest.param(10, (10, 20), "Held", id="below the maximum"),
        pytest.param(50, (50, 50), "Held", id="beyond maximumMinReplicas and spec.maxReplicas"),
        pytest.param(100, (100, 100), "Held", id="the cluster-wide maximum"),
        pytest.param(101, (100, 100), "Limited", id="never beyond the cluster-wide maximum"),
        pytest.param(3, (3, 20), "Held", id="below the global minimum it is ignored"),
    ],
)
def test_trap_5_which_cap_wins(floor: int, bounds: tuple[int, int], reason: str) -> None:
    tortoise = make_tortoise(maxReplicas=20)
    world = (
        FakeScalingCluster(tortoise, make_autoscaler(), make_scaling(replicas=floor))
        .at(1)
        .reconcile()
    )
    assert _bounds(world) == bounds
    assert world.condition(names.EFFECTIVE) == ("True", reason)
    assert ("ScheduledScalingLimited" in world.events) == (reason == "Limited")


@pytest.mark.parametrize(
    ("memory", "reason", "message"),
    [
        pytest.param("10Gi", "Held", "the floors hold", id="the cluster-wide maximum"),
        pytest.param(
            "11Gi",
            "Limited",
            "held at 10Gi memory of container app, the most that settings allow",
            id="never beyond the cluster-wide maximum",
        ),
        pytest.param(
            "50Mi", "Held", "the floors hold", id="below the global minimum it is ignored"
        ),
    ],
)
def test_a_floor_of_resources_that_is_cut_is_reported(
    memory: str, reason: str, message: str
) -> None:
    scaling = make_scaling(replicas=None, memory=memory)
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), scaling).at(1).reconcile()
    assert world.condition(names.EFFECTIVE) == ("True", reason)
    reported = world.scaling()["status"]["conditions"]
    assert message in [each["message"] for each in reported if each["type"] == names.EFFECTIVE]
    assert ("ScheduledScalingLimited" in world.events) == (reason == "Limited")


ORDERS = [(starts, ends) for starts in permutations((1, 2, 3)) for ends in permutations((4, 5, 6))]


@pytest.mark.parametrize(("starts", "ends"), ORDERS)
def test_trap_6_three_windows_overlap_in_every_order(
    starts: tuple[int, ...], ends: tuple[int, ...]
) -> None:
    floors = (30, 40, 60)
    scalings = [
        make_scaling(f"s{number}", start, end - start, floor, "")
        for number, (start, end, floor) in enumerate(zip(starts, ends, floors, strict=True))
    ]
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), *scalings)
    for minute in range(8):
        world.at(minute).reconcile()
        open_now = [
            floor
            for start, end, floor in zip(starts, ends, floors, strict=True)
            if start <= minute < end
        ]
        least = max(open_now, default=3)
        assert _bounds(world) == (least, max(20, least))


def test_trap_7_a_missing_tortoise_is_waited_for() -> None:
    world = FakeScalingCluster(make_autoscaler(), make_scaling()).at(1).reconcile()
    assert world.scaling()["status"]["phase"] == "Active"
    assert world.condition(names.EFFECTIVE) == ("False", "TortoiseNotFound")
    world.put(make_tortoise())
    assert _bounds(world.reconcile()) == (50, 50)


def test_trap_8_the_minimum_falls_to_the_recommendation_at_once() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling()).at(1).reconcile()
    world.tortoise_works(50)
    world.at(6).reconcile()
    world.tortoise_works(49)
    assert _bounds(world) == (3, 20)
    assert world.autoscaler["status"]["currentReplicas"] == 49


def test_finishing_one_window_never_strips_another_ones_resources() -> None:
    world = FakeScalingCluster(
        make_tortoise(),
        make_autoscaler(),
        make_scaling("short", 1, 2, None, "5Gi"),
        make_scaling("long", 1, 9, None, "2Gi"),
    )
    seen = []
    for minute in (1, 3, 10):
        world.at(minute).reconcile()
        policy = world.tortoise["spec"].get("resourcePolicy")
        seen.append(policy and policy[0]["minAllocatedResources"]["memory"])
    assert seen == ["5Gi", "2Gi", None]


def test_editing_the_floor_in_a_window_takes_effect_at_once() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling()).at(2).reconcile()
    change = {"spec": {"strategy": {"static": {"minimumMinReplicas": 70}}}}
    world.write(kind_of_model(ScheduledScaling), ObjectKey(SHOP, "campaign"), change)
    assert _bounds(world.reconcile()) == (70, 70)


def test_emptying_the_policy_in_a_window_does_not_lose_the_floor() -> None:
    world = FakeScalingCluster(
        make_tortoise(phase="PartlyWorking"), make_autoscaler(), make_scaling()
    )
    world.at(2).reconcile()
    change = {"spec": {"resourcePolicy": [{"containerName": "app", "minAllocatedResources": {}}]}}
    world.write(kind_of_model(Tortoise), TORTOISE, change)
    world.reconcile()
    assert world.tortoise["spec"]["resourcePolicy"][0]["minAllocatedResources"]["memory"] == "5Gi"
