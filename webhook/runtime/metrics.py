"""Every metric that the program exports, on one registry, named in one place."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.cluster.errors import Right
from webhook.runtime.actions import Measure

PREFIX = "espalier_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WORK_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0)
_PAUSE_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


class _Late(Collector):
    """Has no metrics of its own; it is registered first, so it is asked before all others."""

    def __init__(self) -> None:
        self.tellers: list[Callable[[], None]] = []

    @override
    def collect(self) -> Iterable[Metric]:
        for tell in self.tellers:
            tell()
        return ()

    def describe(self) -> Iterable[Metric]:
        """Say without collecting that there is nothing."""
        return ()


class Metrics:
    """The instruments. Labels come from tables, never from object names."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        # When a series was created is of no use to anybody, and doubles what is scraped.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # as the library has it
        self.registry = registry or CollectorRegistry()
        self._late = _Late()
        self.registry.register(self._late)
        self._make_request_metrics()
        self._make_admission_metrics()
        self._make_certificate_metrics()
        self._make_work_metrics()
        self._make_scheduling_metrics()
        self._make_scaling_metrics()
        self._make_process_metrics()

    def expose(self) -> bytes:
        """Write all metrics in the Prometheus text format."""
        return generate_latest(self.registry)

    def measure(self, measure: Measure, now: datetime) -> None:
        """Take what a plan wants exported, its writes being answered now."""
        if measure.metric == "floors_missing":
            self.floors_missing.labels(measure.label).inc()
        elif measure.since is not None:
            late = max(0.0, (now - measure.since).total_seconds())
            self.edge_lateness.labels(measure.label).observe(late)

    def miss(self, right: Right) -> bool:
        """Count a call that a missing right has stopped; True if that is the first one."""
        first = right not in self._missed
        self._missed.add(right)
        self.missing_rights.labels(*right).inc()
        return first

    def before_reading(self, tell: Callable[[], None]) -> None:
        """Have somebody who counts by himself tell the counters before they are read."""
        self._late.tellers.append(tell)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(PREFIX + name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(PREFIX + name, text, labels, registry=self.registry)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(PREFIX + name, text, labels, buckets=buckets, registry=self.registry)

    def _make_request_metrics(self) -> None:
        self.requests = self._counter("requests_total", "Requests answered", "path", "code")
        self.request_duration = self._histogram(
            "request_duration_seconds", "Time from request to answer", _REQUEST_BUCKETS, "path"
        )
        self.requests_in_flight = self._gauge(
            "requests_in_flight", "Requests being answered now", "path"
        )
        self.requests_shed = self._counter(
            "requests_shed_total", "Requests refused early with 503", "path", "reason"
        )
        self.panics = self._counter("panics_total", "Requests that met a bug of ours", "path")

    def _make_admission_metrics(self) -> None:
        self.decisions = self._counter(
            "admission_decisions_total",
            "Admission decisions",
            *("path", "operation", "kind", "allowed", "code"),
        )
        self.verdicts = self._counter(
            "admission_verdicts_total",
            "What each policy said: allow, mutate, warn or deny",
            *("policy", "operation", "verdict"),
        )
        self.patch_operations = self._counter(
            "admission_patch_operations_total", "JSON patch operations sent", "kind"
        )
        self.live_reads = self._counter(
            "admission_live_reads_total", "Questions asked to the API during a decision", "result"
        )

    def _make_certificate_metrics(self) -> None:
        self.certificate_not_after = self._gauge(
            "cert_not_after_seconds", "When a certificate expires, as Unix time", "which"
        )
        self.certificate_reads = self._counter(
            "certificate_reads_total", "Times that a serving certificate was read"
        )
        self.certificate_errors = self._counter(
            "certificate_read_errors_total", "Times that it was torn or mismatched"
        )

    def _make_work_metrics(self) -> None:
        self.leader = self._gauge("leader", "1 while this replica leads")
        self.leader_changes = self._counter(
            "leader_changes_total", "Times that this replica started or stopped leading"
        )
        self.queue_depth = self._gauge("queue_depth", "Keys ready to be worked on", "controller")
        self.queue_wait = self._histogram(
            "queue_wait_seconds", "Time a key waited for a worker", _WORK_BUCKETS, "controller"
        )
        self.reconciles = self._counter(
            "reconciles_total", "Reconciliations by result", "controller", "result"
        )
        self.reconcile_duration = self._histogram(
            "reconcile_duration_seconds", "Time of one reconciliation", _WORK_BUCKETS, "controller"
        )
        self.writes = self._counter(
            "api_writes_total", "Writes to the API server", "action", "kind", "result"
        )
        self.events = self._counter("events_total", "Kubernetes Events", "type", "result")
        self.missing_rights = self._counter(
            "missing_rights_total",
            "Calls that failed because we lack a right",
            "verb",
            "resource",
            "group",
        )
        self._missed: set[Right] = set()

    def _make_scheduling_metrics(self) -> None:
        self.placements = self._counter(
            "placements_total", "Placements of shoots on seeds by how they ended", "result"
        )
        self.scheduling_duration = self._histogram(
            "scheduling_duration_seconds", "Time of one scheduling decision", _PAUSE_BUCKETS
        )

    def _make_scaling_metrics(self) -> None:
        self.edge_lateness = self._histogram(
            "scheduled_scaling_edge_lateness_seconds",
            "Time from the edge of a window until the write to the autoscaler was answered",
            _WORK_BUCKETS,
            "edge",
        )
        self.floors_missing = self._counter(
            "scheduled_scaling_floors_missing_total",
            "Floors that were seen missing in a window and put back",
            "kind",
        )

    def _make_process_metrics(self) -> None:
        self.loop_lag = self._histogram(
            "loop_lag_seconds", "How late the event loop runs a timer", _PAUSE_BUCKETS
        )
        self.gc_pause = self._histogram(
            "gc_pause_seconds", "Time in the garbage collector", _PAUSE_BUCKETS, "generation"
        )
        self.info = self._gauge("build_info", "Always 1", "version")
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)


_CACHE_GAUGES = (
    ("synced", "cache_synced", "1 once the kind's first list is complete"),
    ("served", "cache_served", "1 while the API server has the kind"),
    ("staleness", "cache_staleness_seconds", "Seconds since the kind's watch was lost, else 0"),
    ("objects", "cache_objects", "Objects held"),
    ("malformed", "cache_malformed_objects", "Objects held back because they do not decode"),
)
_CACHE_COUNTERS = (("relists", "cache_relists", "Whole lists read"),)


class KindStatus(Protocol):
    """What the cache says about one kind, as far as it is exported."""

    @property
    def name(self) -> str:
        """The resource, such as `shoots.core.gardener.cloud`."""

    @property
    def synced(self) -> bool: ...

    @property
    def served(self) -> bool: ...

    @property
    def staleness(self) -> float: ...

    @property
    def objects(self) -> int: ...

    @property
    def malformed(self) -> int: ...

    @property
    def relists(self) -> int: ...

    @property
    def restarts(self) -> Mapping[str, int]:
        """How often the watch was begun again, by reason."""


class KindStatuses(Protocol):
    """Whoever can tell about every kind."""

    def statuses(self) -> Iterable[KindStatus]: ...


class CacheCollector(Collector):
    """Reads the cache when metrics are scraped, so that staleness needs no timer."""

    def __init__(self, source: KindStatuses) -> None:
        self._source = source

    @override
    def collect(self) -> Iterable[Metric]:
        gauges = {
            field: GaugeMetricFamily(PREFIX + name, text, labels=["kind"])
            for field, name, text in _CACHE_GAUGES
        }
        counters = {
            field: CounterMetricFamily(PREFIX + name, text, labels=["kind"])
            for field, name, text in _CACHE_COUNTERS
        }
        families: dict[str, GaugeMetricFamily | CounterMetricFamily] = {**gauges, **counters}
        restarts = CounterMetricFamily(
            PREFIX + "watch_restarts", "Watches begun again", labels=["kind", "reason"]
        )
        for status in self._source.statuses():
            for field, family in families.items():
                family.add_metric([status.name], float(getattr(status, field)))
            for reason, number in status.restarts.items():
                restarts.add_metric([status.name, reason], number)
        return (*families.values(), restarts)
