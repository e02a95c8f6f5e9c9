"""Windows open and close on a clock that a test moves: floors hold, and nothing stays behind."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.support.fake_scaling_cluster import (
    AUTOSCALER,
    OPTIONS,
    SHOP,
    START,
    TORTOISE,
    FakeScalingCluster,
    make_autoscaler,
    make_definition,
    make_scaling,
    make_tortoise,
)
from tests.support.steps import count_steps
from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler, Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.controllers.scheduledscaling.controller import RETRIES, SCHEDULED_SCALING_FLOORS
from webhook.domain.options import ScalingOptions
from webhook.domain.scaling import raised_values
from webhook.kube.meta import ObjectKey
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import MetricUpdate, Patch

TORTOISES = kind_of_model(Tortoise)
AUTOSCALERS = kind_of_model(HorizontalPodAutoscaler)
SCALINGS = kind_of_model(ScheduledScaling)
RECORD = [{"name": "ScheduledScaling", "responsibleFor": ["Constraints"]}]


def _world(*more: Any, **options: Any) -> FakeScalingCluster:
    changed = replace(OPTIONS, scaling=ScalingOptions(**options))
    return FakeScalingCluster(make_tortoise(), make_autoscaler(), *more, options=changed)


def _bounds(world: FakeScalingCluster) -> tuple[int, int]:
    spec = world.autoscaler["spec"]
    return spec["minReplicas"], spec["maxReplicas"]


def _floor(world: FakeScalingCluster) -> str | None:
    policy = world.tortoise["spec"].get("resourcePolicy") or [{}]
    memory: str | None = policy[0].get("minAllocatedResources", {}).get("memory")
    return memory


def _constraints(world: FakeScalingCluster) -> Any:
    return world.tortoise["status"]["recommendations"].get("constraints")


def _is_clean(world: FakeScalingCluster) -> bool:
    kept = [world.tortoise["metadata"], world.autoscaler["metadata"]]
    return (
        _bounds(world) == (3, 20)
        and "resourcePolicy" not in world.tortoise["spec"]
        and "recommenders" not in world.tortoise["spec"]
        and _constraints(world) is None
        and not any(raised_values.ANNOTATION in each.get("annotations", {}) for each in kept)
    )


@pytest.mark.parametrize(
    ("seconds", "phase", "held"),
    [
        pytest.param(59, "Pending", False, id="a second before the start"),
        pytest.param(60, "Active", True, id="at the start"),
        pytest.param(61, "Active", True, id="a second after the start"),
        pytest.param(359, "Active", True, id="a second before the finish"),
        pytest.param(360, "Completed", False, id="at the finish"),
        pytest.param(361, "Completed", False, id="a second after the finish"),
    ],
)
def test_edges_to_the_second(seconds: int, phase: str, held: bool) -> None:
    world = _world(make_scaling())
    for at in (0, 60, seconds) if seconds > 60 else (seconds,):
        world.at(at / 60).reconcile()
    assert world.scaling()["status"]["phase"] == phase
    assert _bounds(world) == ((50, 50) if held else (3, 20))
    assert _floor(world) == ("5Gi" if held else None)
    assert (_constraints(world) is not None) == held
    assert _is_clean(world) == (not held)


def test_start_and_finish_are_reported() -> None:
    world = _world(make_scaling(replicas=150)).at(1).reconcile()
    assert world.events == ["ScheduledScalingUp", "ScheduledScalingLimited"]
    status = world.scaling()["status"]
    assert status["observedGeneration"] == 1
    assert status["window"] == {"start": "2026-03-01T00:01:00Z", "finish": "2026-03-01T00:06:00Z"}
    assert status["floors"] == {
        "minimumMinReplicas": 100,
        "minAllocatedResources": [{"containerName": "app", "resources": {"memory": "5Gi"}}],
    }
    assert world.condition(names.EFFECTIVE) == ("True", "Limited")
    assert world.condition(names.CONSTRAINTS_STORED) == ("True", "Stored")
    assert world.condition(names.RESOURCES_REACHED) == ("False", "Rising")
    assert world.tortoise["spec"]["recommenders"] == RECORD
    assert _constraints(world) == {
        "minimumMinReplicas": 150,
        "minAllocatedResources": [
            {"containerName": "app", "minAllocatedResources": {"memory": "5Gi"}}
        ],
    }
    world.at(6).reconcile()
    assert world.events[2:] == ["ScheduledScalingDown"]
    assert "floors" not in {key: value for key, value in world.scaling()["status"].items() if value}
    assert world.condition(names.EFFECTIVE) == ("False", "NotActive")


def test_the_order_at_an_edge_is_autoscaler_tortoise_record_and_own_status() -> None:
    world = _world(make_scaling()).at(0).reconcile()
    world.at(1)
    written: list[str] = []
    for _ in range(6):
        for _name, plan in world.plans():
            for action in plan.actions:
                if isinstance(action, Patch):
                    assert isinstance(action.change, dict)
                    written.append("/".join(filter(None, (action.kind.name, action.subresource))))
                    world.write(action.kind, action.key, action.change, action.subresource)
    shown = [each for each in dict.fromkeys(written) if each not in ("Namespace",)]
    finalizer = "ScheduledScaling"
    assert [each for each in shown if each != finalizer] == [
        "HorizontalPodAutoscaler",
        "Tortoise",
        "Tortoise/status",
        "ScheduledScaling/status",
    ]


@pytest.mark.parametrize(
    ("replicas", "memory"),
    [
        pytest.param(50, "5Gi", id="both floors"),
        pytest.param(50, "", id="replicas only"),
        pytest.param(None, "5Gi", id="resources only"),
    ],
)
@pytest.mark.parametrize("stores", [True, False])
def test_at_both_edges_every_effect_happens_in_that_second(
    replicas: int | None, memory: str, stores: bool
) -> None:
    """Nobody waits for Tortoise's interval, although nothing is written that changes nothing."""
    scaling = make_scaling(replicas=replicas, memory=memory)
    world = _world(scaling, make_definition(stores=stores)).at(0).reconcile()
    for minute, floors in ((1, True), (6, False)):
        world.at(minute).reconcile()
        assert _bounds(world) == ((50, 50) if floors and replicas else (3, 20))
        assert _floor(world) == ((memory or None) if floors else None)
        assert (_constraints(world) is not None) == (floors and stores)
        written = world.writes
        world.reconcile()
        assert world.writes == written


@pytest.mark.parametrize("stores", [True, False])
def test_floors_hold_whether_or_not_constraints_can_be_stored(stores: bool) -> None:
    world = _world(make_scaling(), make_definition(stores=stores)).at(1).reconcile()
    assert _bounds(world) == (50, 50)
    assert world.condition(names.EFFECTIVE) == ("True", "Held")
    assert world.condition(names.CONSTRAINTS_STORED)[0] == str(stores)
    assert _is_clean(world.at(6).reconcile())


def test_with_the_effect_left_to_tortoise_only_the_record_is_written() -> None:
    world = _world(make_scaling(), effect="none").at(1).reconcile()
    assert _bounds(world) == (3, 20)
    assert _floor(world) is None
    assert _constraints(world)["minimumMinReplicas"] == 50
    assert world.condition(names.EFFECTIVE) == ("True", "LeftToTortoise")
    assert _is_clean(world.at(6).reconcile())


def test_suspending_ends_the_effect_at_once() -> None:
    world = _world(make_scaling()).at(2).reconcile()
    key = ObjectKey(SHOP, "campaign")
    world.write(SCALINGS, key, {"spec": {"suspend": True}})
    assert _is_clean(world.reconcile())
    assert world.scaling()["status"]["phase"] == "Pending"
    world.write(SCALINGS, key, {"spec": {"suspend": False}})
    assert _bounds(world.reconcile()) == (50, 50)


@pytest.mark.parametrize(
    ("change", "subresource", "reason"),
    [
        pytest.param({"spec": {"updateMode": "Off"}}, "", "Idle", id="updateMode Off"),
        pytest.param(
            {
                "status": {
                    "conditions": {
                        "tortoiseConditions": [
                            {"type": "EffectiveModeOverridden", "status": "True"}
                        ]
                    }
                }
            },
            "status",
            "Idle",
            id="its mode is overridden",
        ),
    ],
)
def test_values_of_a_tortoise_that_stops_acting_are_restored(
    change: dict[str, Any], subresource: str, reason: str
) -> None:
    world = _world(make_scaling()).at(2).reconcile()
    world.write(TORTOISES, TORTOISE, change, subresource)
    world.reconcile()
    assert _bounds(world) == (3, 20)
    assert _floor(world) is None
    assert world.condition(names.EFFECTIVE) == ("False", reason)


def test_a_tortoise_created_in_a_window_gets_its_floors() -> None:
    world = FakeScalingCluster(make_autoscaler(), make_scaling()).at(2).reconcile()
    assert world.condition(names.EFFECTIVE) == ("False", "TortoiseNotFound")
    world.put(make_tortoise())
    assert _bounds(world.reconcile()) == (50, 50)
    world.drop(Tortoise, TORTOISE)
    assert _bounds(world.reconcile()) == (3, 20)
    world.put(make_tortoise())
    world.reconcile()
    assert _bounds(world) == (50, 50)
    assert _is_clean(world.at(6).reconcile())


def test_without_an_autoscaler_the_schedule_is_not_effective() -> None:
    world = FakeScalingCluster(make_tortoise(), make_scaling()).at(2).reconcile()
    assert world.condition(names.EFFECTIVE) == ("False", "NoAutoscaler")
    world.put(make_autoscaler())
    assert _bounds(world.reconcile()) == (50, 50)
    assert world.condition(names.EFFECTIVE) == ("True", "Held")


def test_values_of_a_copied_autoscaler_are_restored() -> None:
    world = _world(make_scaling()).at(2).reconcile()
    copied = world.autoscaler
    copied["metadata"]["name"] = "copy"
    world.put(copied)
    world.reconcile()
    spec = world.raw(HorizontalPodAutoscaler, ObjectKey(SHOP, "copy"))["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (3, 20)
    assert _bounds(world) == (50, 50)


def test_raised_values_from_a_backup_are_restored_later() -> None:
    world = _world(make_scaling()).at(2).reconcile()
    saved = (world.autoscaler, world.tortoise)
    world.at(6).reconcile()
    world.drop(ScheduledScaling, ObjectKey(SHOP, "campaign"))
    for raw in saved:
        world.put(raw)
    assert _is_clean(world.at(300).reconcile())


FAULTY = [
    pytest.param({"strategy": {"static": {}}}, "spec.strategy.static", id="no floor"),
    pytest.param({"schedule": {}}, "spec.schedule.finishAt", id="no finish"),
    pytest.param(
        {"schedule": {"cron": "* * * * *", "duration": "25h"}},
        "spec.schedule.duration",
        id="a window too long",
    ),
    pytest.param(
        {
            "strategy": {
                "static": {
                    "minimumMinReplicas": 50,
                    "minAllocatedResources": [
                        {"containerName": "app", "resources": {"memory": "5GB"}}
                    ],
                }
            }
        },
        "spec.strategy.static.minAllocatedResources[0].resources.memory",
        id="a quantity that is none, though the replicas would do",
    ),
]


@pytest.mark.parametrize(("spec", "field"), FAULTY)
def test_an_invalid_schedule_that_bypassed_admission_fails_without_effect(
    spec: dict[str, Any], field: str
) -> None:
    world = _world(make_scaling(**spec)).at(2)
    before = (world.tortoise, world.autoscaler)
    world.reconcile()
    status = world.scaling()["status"]
    assert status["phase"] == "Failed"
    assert status["message"].startswith(f"{field}: ")
    assert (world.tortoise, world.autoscaler) == before
    assert world.events == ["ScheduledScalingFailed"]


def test_nothing_is_ever_scaled_in_kube_system() -> None:
    raws = [make_tortoise(), make_autoscaler(), make_scaling()]
    for raw in raws:
        raw["metadata"]["namespace"] = names.KUBE_SYSTEM
    world = FakeScalingCluster(*raws)
    world.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names.KUBE_SYSTEM}})
    world.at(2).reconcile()
    found = world.raw(HorizontalPodAutoscaler, ObjectKey(names.KUBE_SYSTEM, AUTOSCALER.name))
    assert found["spec"] == {"minReplicas": 3, "maxReplicas": 20}
    namespace = world.raw(Namespace, ObjectKey("", names.KUBE_SYSTEM))
    assert "labels" not in namespace["metadata"]
    status = world.raw(ScheduledScaling, ObjectKey(names.KUBE_SYSTEM, "campaign"))["status"]
    reasons = {each["type"]: each["reason"] for each in status["conditions"]}
    assert reasons[names.EFFECTIVE] == "Excluded"


def test_in_our_own_namespace_floors_hold_without_our_webhooks() -> None:
    raws = [make_tortoise(), make_autoscaler(), make_scaling()]
    for raw in raws:
        raw["metadata"]["namespace"] = OPTIONS.namespace
    world = FakeScalingCluster(*raws)
    labels = {names.SCALING_NAMESPACE: "true"}
    metadata = {"name": OPTIONS.namespace, "labels": labels}
    world.put({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    world.at(2).reconcile()
    found = world.raw(HorizontalPodAutoscaler, ObjectKey(OPTIONS.namespace, AUTOSCALER.name))
    assert found["spec"]["minReplicas"] == 50
    assert not world.raw(Namespace, ObjectKey("", OPTIONS.namespace))["metadata"].get("labels")


@pytest.mark.parametrize(
    ("start", "seconds", "labelled"),
    [
        pytest.param(10, 539, False, id="61 s before"),
        pytest.param(10, 540, True, id="60 s before"),
        pytest.param(0, 0, True, id="at once where there is no time"),
    ],
)
def test_a_namespace_is_labelled_a_minute_ahead(start: int, seconds: int, labelled: bool) -> None:
    world = _world(make_scaling(start=start))
    world.reconcile()
    world.at(seconds / 60).reconcile()
    assert (names.SCALING_NAMESPACE in world.labels) == labelled
    finalizers = world.scaling()["metadata"].get("finalizers", [])
    assert (names.SCHEDULED_SCALING_FINALIZER in finalizers) == labelled, "it comes with the label"


def test_a_namespace_keeps_its_label_until_all_values_are_restored() -> None:
    world = _world(make_scaling()).at(2).reconcile()
    world.tortoise_works(50)
    world.reconcile()
    world.refuses = {"HorizontalPodAutoscaler"}
    world.at(6).reconcile()
    assert names.SCALING_NAMESPACE in world.labels
    world.refuses = set()
    world.at(6.1).reconcile()
    assert _is_clean(world)
    assert names.SCALING_NAMESPACE in world.labels, "replicas are still on their way down"
    world.tortoise_works(3)
    world.reconcile()
    assert names.SCALING_NAMESPACE not in world.labels


def test_while_writes_are_refused_the_effect_is_blocked() -> None:
    world = _world(make_scaling())
    world.refuses = {"HorizontalPodAutoscaler", "Tortoise"}
    world.at(1).reconcile()
    assert "status" not in world.scaling(), "a second is given to those who write first"
    world.at(1.05).reconcile()
    assert world.scaling()["status"]["phase"] == "Active"
    assert world.condition(names.EFFECTIVE) == ("False", "Blocked")
    world.refuses = set()
    world.reconcile()
    assert world.condition(names.EFFECTIVE) == ("True", "Held")
    world.refuses = {"HorizontalPodAutoscaler"}
    world.at(6.05).reconcile()
    assert world.condition(names.EFFECTIVE) == ("False", "Blocked")
    world.refuses = set()
    assert _is_clean(world.reconcile())
    assert world.condition(names.EFFECTIVE) == ("False", "NotActive")


def test_refused_writes_are_retried_with_backoff() -> None:
    assert [RETRIES.after(failures, 0.5) for failures in (1, 2, 3, 4, 5, 6, 99)] == [
        *(0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0)
    ]
    rows = {row.name: row for row in SCHEDULED_SCALING_FLOORS}
    assert rows["scaling.autoscaler"].delays == rows["scaling.tortoise"].delays == RETRIES
    world = _world(make_scaling()).at(1)
    plans = dict(world.plans())
    assert plans["scaling.autoscaler"].requeue_with_backoff


def test_edges_are_measured_and_lost_floors_counted() -> None:
    world = _world(make_scaling()).at(0).reconcile()
    world.at(1).reconcile()
    assert (
        MetricUpdate("edge_lateness", "start", START + timedelta(minutes=1)) in world.metric_updates
    )
    world.metric_updates.clear()
    world.put(make_autoscaler())  # past admission, as while our server is away
    world.at(2).reconcile()
    assert world.metric_updates == [MetricUpdate("floors_missing", "HorizontalPodAutoscaler")]
    assert _bounds(world) == (50, 50)
    world.metric_updates.clear()
    world.at(6).reconcile()
    finish = MetricUpdate("edge_lateness", "finish", START + timedelta(minutes=6))
    assert finish in world.metric_updates


def test_pods_that_stay_below_a_floor_are_reported_once() -> None:
    world = _world(make_scaling(minutes=60)).at(1).reconcile()
    status_plan = dict(world.plans())["scaling.status"]
    assert status_plan.requeue_after == 600
    world.at(10.9).reconcile()
    assert "ResourcesNotReached" not in world.events
    world.at(11).reconcile()
    assert world.condition(names.RESOURCES_REACHED) == ("False", "Late")
    world.at(12).reconcile()
    assert world.events.count("ResourcesNotReached") == 1
    given = [{"containerName": "app", "resource": {"memory": "6Gi"}}]
    change = {"status": {"conditions": {"containerResourceRequests": given}}}
    world.write(TORTOISES, TORTOISE, change, "status")
    world.reconcile()
    assert world.condition(names.RESOURCES_REACHED) == ("True", "Reached")


def test_the_deadline_for_pods_is_a_setting() -> None:
    world = _world(make_scaling(), resources_deadline_seconds=30).at(1).reconcile()
    world.at(1.5).reconcile()
    assert world.events.count("ResourcesNotReached") == 1


def _delete(world: FakeScalingCluster) -> None:
    raw = world.scaling()
    raw["metadata"]["deletionTimestamp"] = format_time(world.now)
    raw["metadata"]["generation"] += 1
    world.put(raw)


def test_a_deleted_schedule_is_released_once_values_are_restored() -> None:
    world = _world(make_scaling()).at(2).reconcile()
    assert world.scaling()["metadata"]["finalizers"] == [names.SCHEDULED_SCALING_FINALIZER]
    _delete(world)
    assert _is_clean(world.reconcile())
    assert len(world.memory.store(ScheduledScaling)) == 0


@pytest.mark.parametrize(
    ("later", "gone"),
    [
        pytest.param(59, False, id="59 s of refusals"),
        pytest.param(60, True, id="a minute of refusals"),
    ],
)
def test_no_schedule_waits_longer_than_a_minute(later: int, gone: bool) -> None:
    world = _world(make_scaling()).at(2).reconcile()
    world.refuses = {"HorizontalPodAutoscaler", "Tortoise"}
    _delete(world)
    world.now += timedelta(seconds=later)
    world.reconcile()
    assert (len(world.memory.store(ScheduledScaling)) == 0) == gone
    assert ("ScheduledScalingBlocked" in world.events) == gone
    world.refuses = set()
    assert _is_clean(world.reconcile()), "the notes settle the rest"


@pytest.mark.parametrize("what", ["tortoise gone", "tortoise deleting", "namespace terminating"])
def test_a_schedule_is_released_at_once_if_nothing_can_be_restored(what: str) -> None:
    world = _world(make_scaling()).at(2).reconcile()
    world.refuses = {"HorizontalPodAutoscaler", "Tortoise"}
    if what == "tortoise gone":
        world.drop(Tortoise, TORTOISE)
    elif what == "tortoise deleting":
        raw = world.tortoise
        raw["metadata"] |= {"deletionTimestamp": format_time(world.now), "finalizers": ["a.b/c"]}
        world.put(raw)
    else:
        namespace = world.raw(Namespace, ObjectKey("", SHOP))
        world.put({**namespace, "status": {"phase": "Terminating"}})
    _delete(world)
    world.reconcile()
    assert len(world.memory.store(ScheduledScaling)) == 0


def test_a_completed_schedule_holds_no_finalizer() -> None:
    world = _world(make_scaling()).at(2).reconcile()
    world.at(6).reconcile()
    assert not world.scaling()["metadata"].get("finalizers")


def test_tortoise_does_not_learn_from_a_window() -> None:
    world = _world(make_scaling(minutes=50)).at(0).reconcile()
    before = world.tortoise["status"]["recommendations"]["horizontal"]
    for minute in range(1, 51, 7):
        world.at(minute).reconcile()
        world.tortoise_works(50)
    replicas = 50.0
    for minute in range(51, 171, 3):
        world.at(minute).reconcile()
        replicas = max(3.0, replicas * 0.96)
        world.tortoise_works(round(replicas))
    assert world.tortoise["status"]["recommendations"]["horizontal"] == before
    for minute in range(171, 300, 3):
        replicas = max(3.0, replicas * 0.96)
        world.at(minute).reconcile()
        world.tortoise_works(round(replicas))
    assert names.SCALING_AFTERMATH not in world.reconcile().tortoise["metadata"]["annotations"]
    assert world.tortoise["status"]["recommendations"]["horizontal"] == before


@pytest.mark.parametrize(
    ("unlearn", "replicas", "learned"),
    [
        pytest.param(True, 50, 3, id="the floor is not learned"),
        pytest.param(True, 60, 30, id="more than the floor is learned"),
        pytest.param(False, 50, 25, id="switched off"),
    ],
)
def test_real_demand_in_a_window_is_learned(unlearn: bool, replicas: int, learned: int) -> None:
    world = _world(make_scaling(), unlearn=unlearn).at(2).reconcile()
    world.tortoise_works(replicas)
    assert world.tortoise["status"]["recommendations"]["horizontal"]["minReplicas"][0]["value"] == (
        learned
    )


@pytest.mark.parametrize("crash", [1, 2, 3, 4, 5, 6])
def test_a_server_that_dies_at_any_write_leaves_nothing_behind(crash: int) -> None:
    world = _world(make_scaling()).at(0).reconcile()
    world.at(1).reconcile(crash_after=crash)
    world.reconcile()
    assert _bounds(world) == (50, 50)
    world.at(6).reconcile(crash_after=crash)
    assert _is_clean(world.at(30).reconcile())


def _recurring(name: str, cron: str, **spec: Any) -> dict[str, Any]:
    return make_scaling(name, schedule={"cron": cron, "duration": "1m"}, **spec)


def test_a_window_that_never_closes_is_reported_once_a_day() -> None:
    world = _world(_recurring("campaign", "* * * * *")).at(0).reconcile()
    world.tortoise_works(50)
    world.reconcile()
    before, writes = world.scaling()["status"], world.writes
    for minutes in (1, 60, 24 * 60 - 1):
        world.at(minutes).reconcile()
    assert world.scaling()["status"] == before
    assert world.writes == writes
    world.at(24 * 60).reconcile()
    window = world.scaling()["status"]["window"]
    assert window["start"] == before["window"]["start"]
    assert window["finish"] > before["window"]["finish"]


def test_overlapping_schedules_of_every_density_hold_the_largest_floor_at_each_edge() -> None:
    world = _world(
        _recurring("always", "* * * * *", replicas=20),
        _recurring("even", "*/2 * * * *", replicas=30),
        _recurring("third", "*/3 * * * *", replicas=40),
        _recurring("hour", "0 * * * *", replicas=60),
    )
    for minute in range(7):
        for seconds in (0, 59):
            world.at(minute + seconds / 60).reconcile()
            opened = (20, 30 * (minute % 2 == 0), 40 * (minute % 3 == 0), 60 * (minute == 0))
            assert _bounds(world)[0] == max(opened)


def test_many_schedules_of_a_tortoise_are_evaluated_once_between_edges() -> None:
    def cost(count: int) -> int:
        world = _world(*(_recurring(f"s{number}", "* * * * *") for number in range(count)))
        world.at(0).reconcile().reconcile()
        return count_steps(world.plans) // (count + 4)

    assert cost(64) < 2 * cost(8)


def test_a_status_names_only_the_first_invalid_fields() -> None:
    floors = [{"containerName": "app", "resources": {"memory": "5GB"}} for _ in range(500)]
    wrong = {"static": {"minAllocatedResources": floors}}
    world = _world(make_scaling(strategy=wrong)).at(0).reconcile()
    message = world.scaling()["status"]["message"]
    assert message.endswith("and 989 more invalid fields")
    assert len(message) < 5000
