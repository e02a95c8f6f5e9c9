"""Sets and autoscalers are exported by name; deleted ones leave no series."""

from prometheus_client import CollectorRegistry, generate_latest

from tests.support.fake_cache import FakeCache
from tests.support.fake_gardener import FakeGardener
from tests.support.landscape_objects import read
from tests.support.set_objects import make_autoscaler, make_set
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.controllers.managedseedset.collector import ManagedSeedSetCollector
from webhook.controllers.seedautoscaler.collector import SeedAutoscalerCollector
from webhook.kube.meta import Draft
from webhook.state.snapshot import Snapshot


def snapshot() -> Snapshot:
    stuck = {"type": "Progressing", "status": "False", "reason": "TemplateRefused"}
    status = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "conditions": [stuck]}
    limited = {"type": "ScalingLimited", "status": "True"}
    scaler_status: Draft = {"desiredReplicas": 10, "currentReplicas": 3, "pendingShoots": 7}
    scaler_status["conditions"] = [limited]
    return Snapshot.of(
        [
            read(ManagedSeedSet, make_set(replicas=4) | {"status": status}),
            read(
                SeedAutoscaler,
                make_autoscaler() | {"status": scaler_status},
            ),
        ]
    )


def expose(synced: bool) -> str:
    registry = CollectorRegistry()
    registry.register(ManagedSeedSetCollector(FakeCache(snapshot, synced=synced)))
    registry.register(SeedAutoscalerCollector(FakeCache(snapshot, synced=synced)))
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


async def test_updated_replicas_without_a_status_are_counted_by_their_labels() -> None:
    garden = FakeGardener()
    await garden.settle()
    await garden.template(purpose="production")
    await garden.run(10, lambda: garden.updates() == ["leaf-2"])
    (numbers, *_) = ManagedSeedSetCollector(FakeCache(garden.api.snapshot)).collect()
    found = {sample.labels["state"]: sample.value for sample in numbers.samples}
    assert (found["updated"], garden.status.get("updatedReplicas")) == (1, None)


def test_nothing_is_exported_before_the_cache_is_synced() -> None:
    assert "namespace=" not in expose(synced=False)
