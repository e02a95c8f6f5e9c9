import asyncio
import gc
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.clocks import FakeClock, settle
from webhook.runtime.familiar import Familiar
from webhook.runtime.metrics import CacheCollector, Metrics
from webhook.runtime.pulse import watch_loop, watching_gc


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


@dataclass
class Status:
    name: str
    synced: bool = True
    served: bool = True
    staleness: float = 0.5
    objects: int = 3
    malformed: int = 0
    relists: int = 1
    restarts: Mapping[str, int] = field(default_factory=lambda: {"expired": 2})


def test_the_cache_is_read_at_the_scrape() -> None:
    kinds: list[Status] = []

    class Source:
        def statuses(self) -> list[Status]:
            return kinds

    metrics = Metrics()
    metrics.registry.register(CacheCollector(Source()))
    kinds += [Status("shoots.core.gardener.cloud"), Status("seeds", synced=False)]
    found = samples(metrics)
    assert found['espalier_cache_synced{kind="shoots.core.gardener.cloud"}'] == 1
    assert found['espalier_cache_synced{kind="seeds"}'] == 0
    assert found['espalier_cache_staleness_seconds{kind="seeds"}'] == 0.5
    assert found['espalier_cache_objects{kind="seeds"}'] == 3
    assert found['espalier_cache_relists_total{kind="seeds"}'] == 1
    assert found['espalier_watch_restarts_total{kind="seeds",reason="expired"}'] == 2


def test_what_controller_runtime_exports_is_exported_under_its_names() -> None:
    metrics = Metrics()
    metrics.registry.register(Familiar(metrics))
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


def test_pauses_of_the_garbage_collector_are_measured_only_while_watched() -> None:
    metrics = Metrics()
    with watching_gc(metrics):
        gc.collect(2)
    gc.collect(2)
    assert samples(metrics)['espalier_gc_pause_seconds_count{generation="2"}'] == 1


async def test_the_loop_is_measured_by_how_late_it_wakes_a_sleeper() -> None:
    metrics, clock = Metrics(), FakeClock()
    task = asyncio.create_task(watch_loop(clock, metrics))
    await settle()
    clock.pass_time(0.45)
    await settle()
    task.cancel()
    found = samples(metrics)
    assert found["espalier_loop_lag_seconds_count"] == 1
    assert round(found["espalier_loop_lag_seconds_sum"], 3) == 0.2
