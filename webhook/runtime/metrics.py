"""All metrics of the program, on one registry."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, Protocol

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

from webhook.cluster.errors import Permission
from webhook.cluster.watch_state import KindStatus
from webhook.runtime.actions import MetricUpdate

PREFIX: Final = "espalier_"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_PAUSE_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
_REQUEST_BUCKETS: Final = (*_PAUSE_BUCKETS, 2.5, 5.0, 10.0)
_WORK_BUCKETS: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0)


class _BeforeScrape(Collector):
    """Runs callbacks before a scrape; it is registered first and has no metrics of its own."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []

    @override
    def collect(self) -> Iterable[Metric]:
        for callback in self.callbacks:
            callback()
        return ()

    def describe(self) -> Iterable[Metric]:
        """Describe no metrics, so that registering does not collect."""
        return ()


class Metrics:
    """The metrics. Label values come from tables, never from object names."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        # The creation times of series are of no use and double the size of a scrape.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # as the library has it
        self.registry = registry or CollectorRegistry()
        self._before_scrape = _BeforeScrape()
        self.registry.register(self._before_scrape)
        self._make_request_metrics()
        self._make_admission_metrics()
        self._make_certificate_metrics()
        self._make_work_metrics()
        self._make_scheduling_metrics()
        self._make_scaling_metrics()
        self._make_process_metrics()

    def expose(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self.registry)

    def apply(self, update: MetricUpdate, now: datetime) -> None:
        """Apply the metric update of a plan whose writes have succeeded now."""
        if update.metric == "floors_missing":
            self.floors_missing.labels(update.label).inc()
        elif update.since is not None:
            late = max(0.0, (now - update.since).total_seconds())
            self.edge_lateness.labels(update.label).observe(late)

    def count_missing(self, permission: Permission) -> bool:
        """Count a call that failed for lack of a permission; True for the first one."""
        first = permission not in self._missing
        self._missing.add(permission)
        self.missing_permissions.labels(*permission).inc()
        return first

    def before_scrape(self, callback: Callable[[], None]) -> None:
        """Call a function before each scrape, which updates counters from cheaper counts.

        A counter takes a lock, which costs as much as a whole policy.
        """
        self._before_scrape.callbacks.append(callback)

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
        self.incomplete_requests = self._counter(
            "incomplete_requests_total",
            "Requests that their client did not complete: hung-up, late-handshake, late-head,"
            " late-body, malformed",
            "reason",
        )
        self.panics = self._counter("panics_total", "Requests that failed with a bug", "path")

    def _make_admission_metrics(self) -> None:
        self.decisions = self._counter(
            "admission_decisions_total",
            "Admission decisions",
            *("path", "operation", "kind", "allowed", "code"),
        )
        self.verdicts = self._counter(
            "admission_verdicts_total",
            "Verdicts by policy: allow, mutate, warn or deny",
            *("policy", "operation", "verdict"),
        )
        self.patch_operations = self._counter(
            "admission_patch_operations_total", "JSON patch operations sent", "kind"
        )
        self.live_reads = self._counter(
            "admission_live_reads_total",
            "Live reads from the API server during a decision",
            "result",
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
        self.missing_permissions = self._counter(
            "missing_rights_total",
            "Calls that failed because we lack a right",
            "verb",
            "resource",
            "group",
        )
        self._missing: set[Permission] = set()

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


_CACHE_GAUGES: Final = (
    ("synced", "cache_synced", "1 once the kind's first list is complete"),
    ("served", "cache_served", "1 while the API server has the kind"),
    ("staleness", "cache_staleness_seconds", "Seconds since the kind's watch was lost, else 0"),
    ("objects", "cache_objects", "Objects held"),
    ("malformed", "cache_malformed_objects", "Objects held back because they do not decode"),
)
_CACHE_COUNTERS: Final = (("relists", "cache_relists", "Whole lists read"),)


class KindStatuses(Protocol):
    """The cache, as far as it reports the status of its kinds."""

    def statuses(self) -> Iterable[KindStatus]: ...


class CacheCollector(Collector):
    """Reads the state of the cache when metrics are scraped."""

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
