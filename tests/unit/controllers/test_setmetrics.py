"""Sets and autoscalers are exported by name, and gone ones leave no series."""

from prometheus_client import CollectorRegistry, generate_latest

from tests.landscapes import read
from tests.sets import make_set
from tests.unit.controllers.gardened import Gardened
from tests.unit.controllers.test_seedautoscaler import make_autoscaler
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.controllers.setmetrics import SetCollector
from webhook.state.snapshot import Snapshot


class Cache:
    def __init__(self, synced: bool) -> None:
        self.synced = synced

    def snapshot(self) -> Snapshot:
        stuck = {"type": "Progressing", "status": "False", "reason": "TemplateRefused"}
        status = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "conditions": [stuck]}
        limited = {"type": "ScalingLimited", "status": "True"}
        told: Draft = {"desiredReplicas": 10, "currentReplicas": 3, "pendingShoots": 7}
        told["conditions"] = [limited]
        return Snapshot.of(
            [
                read(ManagedSeedSet, make_set(replicas=4) | {"status": status}),
                read(
                    SeedAutoscaler,
                    make_autoscaler() | {"status": told},
                ),
            ]
        )


class Shown:
    """A garden as a cache that has seen all of it."""

    synced = True

    def __init__(self, garden: Gardened) -> None:
        self.snapshot = garden.api.snapshot


def expose(synced: bool) -> str:
    registry = CollectorRegistry()
    registry.register(SetCollector(Cache(synced)))
    return generate_latest(registry).decode()


def test_sets_and_autoscalers_are_exported() -> None:
    lines = [line for line in expose(synced=True).splitlines() if not line.startswith("#")]
    of_set = 'managedseedset="leaf",namespace="garden"'
    of_scaler = 'namespace="garden",seedautoscaler="leaf"'
    assert {*lines} == {
        f'espalier_managedseedset_replicas{{{of_set},state="desired"}} 4.0',
        f'espalier_managedseedset_replicas{{{of_set},state="current"}} 3.0',
        f'espalier_managedseedset_replicas{{{of_set},state="ready"}} 2.0',
        f'espalier_managedseedset_replicas{{{of_set},state="updated"}} 1.0',
        f'espalier_managedseedset_condition{{condition="Progressing",{of_set}}} 0.0',
        f'espalier_seedautoscaler_replicas{{{of_scaler},state="min"}} 1.0',
        f'espalier_seedautoscaler_replicas{{{of_scaler},state="max"}} 10.0',
        f'espalier_seedautoscaler_replicas{{{of_scaler},state="current"}} 3.0',
        f'espalier_seedautoscaler_replicas{{{of_scaler},state="desired"}} 10.0',
        f"espalier_seedautoscaler_pending_shoots{{{of_scaler}}} 7.0",
        f'espalier_seedautoscaler_condition{{condition="ScalingLimited",{of_scaler}}} 1.0',
    }


async def test_replicas_that_no_status_counts_are_counted_by_their_labels() -> None:
    garden = Gardened()
    await garden.settle()
    await garden.template(purpose="production")
    await garden.run(10, lambda: garden.updates() == ["leaf-2"])
    (numbers, *_) = SetCollector(Shown(garden)).collect()
    found = {sample.labels["state"]: sample.value for sample in numbers.samples}
    assert (found["updated"], garden.status.get("updatedReplicas")) == (1, None)


def test_nothing_is_told_before_the_cache_is_filled() -> None:
    assert "namespace=" not in expose(synced=False)
