"""Views follow what happens, by event and by the clock, and metrics tell what they show."""

from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from tests.builders import make_object
from tests.clocks import FakeClock
from tests.machines import SHOOT_NAMESPACE
from tests.unit.nodegroups.seed import NAMESPACE, Seed, SeedServer, group_id, zone_key
from webhook.api import names
from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import MachineDeployment
from webhook.api.poolobjects import PoolObject
from webhook.domain import poolencoding, poolrecord
from webhook.domain.poolrecord import Record, ZoneState
from webhook.domain.sizing import Bounds
from webhook.nodegroups.metrics import GroupCollector, GroupMetrics

ADAPTIVE: dict[str, Any] = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}


class _Synced(SeedServer):
    synced = True


def _with(*replicas: int) -> tuple[Seed, _Synced, FakeClock]:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(*replicas, **ADAPTIVE)
    server = _Synced(seed, clock)
    server.look()
    return seed, server, clock


async def test_a_view_is_kept_until_something_of_its_namespace_changes() -> None:
    seed, server, _clock = _with(1, 0, 0)
    view = server.views.get(SHOOT_NAMESPACE)
    assert server.views.get(SHOOT_NAMESPACE) is view
    seed.put(MachineDeployment, make_object("x", "y", "other-z1", "elsewhere", spec={}))
    server.look()
    assert server.views.get(SHOOT_NAMESPACE) is view
    seed.add_machines(0, "Running")
    server.look()
    assert server.group(0).ready == 1


async def test_a_bad_zone_is_seen_by_the_record_and_over_by_the_clock() -> None:
    seed, server, clock = _with(0, 0, 0)
    key = server.group(0).pool.key
    bad = ZoneState(until="2026-03-01T12:05:00Z", strikes=1, on_trial=True)
    record = poolrecord.with_zone(Record(key), zone_key(0).name, bad)
    seed.put(PoolObject, poolencoding.encode(record, NAMESPACE))
    server.look()
    assert [server.group(zone).bounds for zone in range(3)] == [(0, 4), (2, 4), (1, 4)]
    clock.pass_time(299)
    assert server.group(0).standing == "bad"
    clock.pass_time(1)
    assert (server.group(0).standing, server.group(0).bounds) == ("trial", Bounds(1, 1))


async def test_what_a_zone_does_not_say_its_worker_and_cluster_do() -> None:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(0, 0, bounds=None)  # as an actuator makes them
    pool = {"name": "pool", "minimum": 2, "maximum": 5, "zones": ["zone-0", "zone-1", "zone-2"]}
    worker = make_object("x", "Worker", "w", SHOOT_NAMESPACE, spec={"pools": [pool]})
    kubernetes = {"version": "1", "clusterAutoscaler": {"sizingStrategy": "Adaptive"}}
    shoot = {"metadata": {"name": "s"}, "spec": {"kubernetes": kubernetes}}
    server = _Synced(seed, clock)
    server.look()
    assert [each.why[:16] for each in server.views.get(SHOOT_NAMESPACE).unfit] == [
        "spec.poolMaximum"
    ] * 2
    seed.put(Worker, worker)
    seed.put(Cluster, make_object("x", "Cluster", SHOOT_NAMESPACE, spec={"shoot": shoot}))
    server.look()
    found = server.group(1).pool
    assert (found.minimum, found.maximum, found.zone_count, found.strategy) == (2, 5, 3, "Adaptive")


async def test_metrics_tell_the_numbers_of_every_group() -> None:
    seed, server, _clock = _with(2, 0, 0)
    seed.add_machines(0, "Running")
    server.look()
    registry = CollectorRegistry()
    calls = GroupMetrics(registry)
    registry.register(GroupCollector(server, server.views))
    calls.tally("Refresh").note("OK", calls.begin())
    calls.granted(3, 1)
    said = generate_latest(registry).decode()
    where = f'group="{zone_key(0).name}",namespace="{SHOOT_NAMESPACE}",pool="pool"'
    for name, value in (("target", 2), ("ready", 1), ("minimum", 1), ("maximum", 4), ("bad", 0)):
        assert f"espalier_nodegroup_{name}{{{where}}} {float(value)}" in said
    assert 'espalier_nodegroups_calls_total{code="OK",method="Refresh"} 1.0' in said
    assert "espalier_nodegroups_nodes_asked_total 3.0" in said
    assert "espalier_nodegroups_nodes_granted_total 1.0" in said
    assert group_id(0) in server.views.get(SHOOT_NAMESPACE).groups
