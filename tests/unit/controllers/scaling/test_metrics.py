"""What Prometheus is told about scheduled scaling."""

from prometheus_client.core import CollectorRegistry

from tests.scalings import AUTOSCALER, World, make_autoscaler, make_scaling, make_tortoise
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.meta import ObjectKey
from webhook.api.scaling import ScheduledScaling
from webhook.controllers.scaling.metrics import ScalingCollector
from webhook.runtime.metrics import PREFIX


class Seen:
    """A cache that has seen all of a world."""

    synced = True

    def __init__(self, world: World) -> None:
        self.snapshot = world.snapshot


def _told(world: World) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(ScalingCollector(Seen(world)))
    return {
        "/".join(
            (sample.name.removeprefix(f"{PREFIX}scheduled_scaling_"), *sample.labels.values())
        ): (sample.value)
        for metric in registry.collect()
        for sample in metric.samples
    }


def test_before_in_and_after_a_window() -> None:
    world = World(make_tortoise(), make_autoscaler(), make_scaling()).reconcile()
    assert _told(world) == {"windows_active": 0, "next_edge_seconds": 60, "notes_unsettled": 0}
    world.at(1).reconcile()
    assert _told(world) == {
        "windows_active": 1,
        "next_edge_seconds": 300,
        "floors_applied/minReplicas": 1,
        "floors_applied/maxReplicas": 1,
        "floors_applied/minAllocatedResources/memory": 1,
        "notes_unsettled": 0,
    }
    world.at(6).reconcile()
    assert _told(world) == {"windows_active": 0, "notes_unsettled": 0}


def test_what_is_owed_without_a_window_is_counted() -> None:
    world = World(make_tortoise(), make_autoscaler(), make_scaling()).at(2).reconcile()
    world.drop(ScheduledScaling, ObjectKey("shop", "campaign"))
    assert _told(world)["notes_unsettled"] == 2
    world.drop(HorizontalPodAutoscaler, AUTOSCALER)
    assert _told(world)["notes_unsettled"] == 1
