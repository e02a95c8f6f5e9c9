"""Metrics of scheduled scaling."""

from prometheus_client.core import CollectorRegistry

from tests.support.fake_cache import FakeCache
from tests.support.fake_scaling_cluster import (
    AUTOSCALER,
    FakeScalingCluster,
    make_autoscaler,
    make_scaling,
    make_tortoise,
)
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.scaling import ScheduledScaling
from webhook.controllers.scheduledscaling.collector import ScheduledScalingCollector
from webhook.kube.meta import ObjectKey
from webhook.runtime.metrics import PREFIX


def _samples(world: FakeScalingCluster) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(ScheduledScalingCollector(FakeCache(world.snapshot)))
    return {
        "/".join(
            (sample.name.removeprefix(f"{PREFIX}scheduled_scaling_"), *sample.labels.values())
        ): (sample.value)
        for metric in registry.collect()
        for sample in metric.samples
    }


def test_before_in_and_after_a_window() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling()).reconcile()
    assert _samples(world) == {"windows_active": 0, "next_edge_seconds": 60, "notes_unsettled": 0}
    world.at(1).reconcile()
    assert _samples(world) == {
        "windows_active": 1,
        "next_edge_seconds": 300,
        "floors_applied/minReplicas": 1,
        "floors_applied/maxReplicas": 1,
        "floors_applied/minAllocatedResources/memory": 1,
        "notes_unsettled": 0,
    }
    world.at(6).reconcile()
    assert _samples(world) == {"windows_active": 0, "notes_unsettled": 0}


def test_raised_values_without_a_window_are_counted() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling()).at(2).reconcile()
    world.drop(ScheduledScaling, ObjectKey("shop", "campaign"))
    assert _samples(world)["notes_unsettled"] == 2
    world.drop(HorizontalPodAutoscaler, AUTOSCALER)
    assert _samples(world)["notes_unsettled"] == 1
