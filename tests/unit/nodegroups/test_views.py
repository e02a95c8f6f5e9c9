"""Views change with events and with time, and metrics export them."""

import time
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from tests.support.builders import make_object
from tests.support.clocks import FakeClock
from tests.support.machine_objects import SHOOT_NAMESPACE
from tests.unit.nodegroups.fake_seed import NAMESPACE, Seed, SeedServer, group_id, zone_key
from webhook.api import names
from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import MachineDeployment
from webhook.api.pool_records import PoolRecordObject
from webhook.domain.pools import pool_record, record_encoding
from webhook.domain.pools.pool_record import PoolRecord, ZoneState
from webhook.domain.pools.sizing import Bounds
from webhook.nodegroups.metrics import GroupCollector, GroupMetrics

ADAPTIVE: dict[str, Any] = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}


def _with(*replicas: int) -> tuple[Seed, SeedServer, FakeClock]:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(*replicas, **ADAPTIVE)
    server = SeedServer(seed, clock)
    server.deliver()
    return seed, server, clock


async def test_a_view_is_kept_until_an_object_of_its_namespace_changes() -> None:
    seed, server, _clock = _with(1, 0, 0)
    view = server.views.get(SHOOT_NAMESPACE)
    assert server.views.get(SHOOT_NAMESPACE) is view
    seed.put(MachineDeployment, make_object("x", "y", "other-z1", "elsewhere", spec={}))
    server.deliver()
    assert server.views.get(SHOOT_NAMESPACE) is view
    seed.add_machines(0, "Running")
    server.deliver()
    assert server.group(0).ready == 1


async def test_a_backoff_starts_with_the_record_and_ends_with_time() -> None:
    seed, server, clock = _with(0, 0, 0)
    key = server.group(0).pool.key
    bad = ZoneState(until="2026-03-01T12:05:00Z", strikes=1, on_trial=True)
    record = pool_record.with_zone_state(PoolRecord(key), zone_key(0).name, bad)
    seed.put(PoolRecordObject, record_encoding.encode(record, NAMESPACE))
    server.deliver()
    assert [server.group(zone).bounds for zone in range(3)] == [(0, 4), (2, 4), (1, 4)]
    clock.pass_time(299)
    assert server.group(0).health == "bad"
    clock.pass_time(1)
    assert (server.group(0).health, server.group(0).bounds) == ("trial", Bounds(0, 1))


async def test_missing_fields_of_a_zone_come_from_worker_and_cluster() -> None:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(0, 0, bounds=None)  # as an actuator makes them
    pool = {"name": "pool", "minimum": 2, "maximum": 5, "zones": ["zone-0", "zone-1", "zone-2"]}
    worker = make_object("x", "Worker", "w", SHOOT_NAMESPACE, spec={"pools": [pool]})
    kubernetes = {"version": "1", "clusterAutoscaler": {"sizingStrategy": "Adaptive"}}
    shoot = {"metadata": {"name": "s"}, "spec": {"kubernetes": kubernetes}}
    server = SeedServer(seed, clock)
    server.deliver()
    assert [each.why[:16] for each in server.views.get(SHOOT_NAMESPACE).unusable] == [
        "spec.poolMaximum"
    ] * 2
    seed.put(Worker, worker)
    seed.put(Cluster, make_object("x", "Cluster", SHOOT_NAMESPACE, spec={"shoot": shoot}))
    server.deliver()
    found = server.group(1).pool
    assert (found.minimum, found.maximum, found.zone_count, found.strategy) == (2, 5, 3, "Adaptive")


async def test_metrics_hold_the_sizes_of_every_group() -> None:
    seed, server, _clock = _with(2, 0, 0)
    seed.add_machines(0, "Running")
    server.deliver()
    registry = CollectorRegistry()
    calls = GroupMetrics(registry)
    registry.register(GroupCollector(server, server.views))
    calls.for_method("Refresh").record_call("OK", time.perf_counter())
    calls.record_increase(3, 1)
    exported = generate_latest(registry).decode()
    where = f'group="{zone_key(0).name}",namespace="{SHOOT_NAMESPACE}",pool="pool"'
    for name, value in (("target", 2), ("ready", 1), ("minimum", 1), ("maximum", 4), ("bad", 0)):
        assert f"espalier_nodegroup_{name}{{{where}}} {float(value)}" in exported
    assert 'espalier_nodegroups_calls_total{code="OK",method="Refresh"} 1.0' in exported
    assert "espalier_nodegroups_nodes_asked_total 3.0" in exported
    assert "espalier_nodegroups_nodes_granted_total 1.0" in exported
    assert group_id(0) in server.views.get(SHOOT_NAMESPACE).groups
