import asyncio
import gc
import re

from tests.support.clocks import FakeClock, settle
from webhook.cluster.watch_state import KindStatus
from webhook.runtime.controller_runtime_metrics import ControllerRuntimeMetrics
from webhook.runtime.metrics import CacheCollector, Metrics
from webhook.runtime.pauses import measure_gc_pauses, measure_loop_lag


def samples(metrics: Metrics) -> dict[str, float]:
    lines = metrics.expose().decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def test_every_metric_of_ours_carries_our_prefix() -> None:
    names = re.findall(r"^# TYPE (\S+)", Metrics().expose().decode(), re.MULTILINE)
    foreign = {name for name in names if not name.startswith("espalier_")}
    assert all(name.startswith(("process_", "python_")) for name in foreign)
    assert {
        "espalier_request_duration_seconds",
        "espalier_requests_in_flight",
        "espalier_requests_total",
        "espalier_cert_not_after_seconds",
        "espalier_leader",
        "espalier_loop_lag_seconds",
        "espalier_gc_pause_seconds",
    } <= set(names)


def test_two_servers_in_one_process_do_not_share_their_metrics() -> None:
    one, two = Metrics(), Metrics()
    one.leader.set(1)
    assert samples(one)["espalier_leader"] == 1
    assert samples(two)["espalier_leader"] == 0


def make_status(name: str, *, synced: bool = True) -> KindStatus:
    return KindStatus(name, synced, True, 0.5, 3, 0, 1, {"expired": 2}, "")


def test_the_cache_is_read_at_the_scrape() -> None:
    kinds: list[KindStatus] = []

    class Source:
        def statuses(self) -> list[KindStatus]:
            return kinds

    metrics = Metrics()
    metrics.registry.register(CacheCollector(Source()))
    kinds += [make_status("shoots.core.gardener.cloud"), make_status("seeds", synced=False)]
    found = samples(metrics)
    assert found['espalier_cache_synced{kind="shoots.core.gardener.cloud"}'] == 1
    assert found['espalier_cache_synced{kind="seeds"}'] == 0
    assert found['espalier_cache_staleness_seconds{kind="seeds"}'] == 0.5
    assert found['espalier_cache_objects{kind="seeds"}'] == 3
    assert found['espalier_cache_relists_total{kind="seeds"}'] == 1
    assert found['espalier_watch_restarts_total{kind="seeds",reason="expired"}'] == 2


def test_metrics_are_exported_under_the_names_of_controller_runtime() -> None:
    metrics = Metrics()
    metrics.registry.register(ControllerRuntimeMetrics(metrics))
    metrics.requests.labels("/validate", "200").inc(3)
    metrics.request_duration.labels("/validate").observe(0.02)
    metrics.requests_in_flight.labels("/validate").set(2)
    metrics.panics.labels("/mutate").inc()
    metrics.certificate_reads.inc(4)
    metrics.certificate_errors.inc()
    found = samples(metrics)
    prefix = "controller_runtime_webhook_"
    assert found[prefix + 'requests_total{code="200",webhook="/validate"}'] == 3
    assert found[prefix + 'latency_seconds_count{webhook="/validate"}'] == 1
    assert found[prefix + 'latency_seconds_bucket{le="0.025",webhook="/validate"}'] == 1
    assert found[prefix + 'requests_in_flight{webhook="/validate"}'] == 2
    assert found[prefix + 'panics_total{webhook="/mutate"}'] == 1
    assert found["certwatcher_read_certificate_total"] == 4
    assert found["certwatcher_read_certificate_errors_total"] == 1


def test_garbage_collections_are_measured_inside_the_block_only() -> None:
    metrics = Metrics()
    with measure_gc_pauses(metrics):
        gc.collect(2)
    gc.collect(2)
    assert samples(metrics)['espalier_gc_pause_seconds_count{generation="2"}'] == 1


async def test_loop_lag_is_how_late_a_timer_runs() -> None:
    metrics, clock = Metrics(), FakeClock()
    task = asyncio.create_task(measure_loop_lag(clock, metrics))
    await settle()
    clock.pass_time(0.45)
    await settle()
    task.cancel()
    found = samples(metrics)
    assert found["espalier_loop_lag_seconds_count"] == 1
    assert round(found["espalier_loop_lag_seconds_sum"], 3) == 0.2
