"""Metrics of node groups and of the calls of autoscalers."""

import time
from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.api.machines import MachineDeployment
from webhook.nodegroups.views import Views
from webhook.state.views import CacheReader

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 3)


class GroupMetrics:
    """Counts calls, and the nodes that increases requested and got."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "espalier_nodegroups_calls",
            "calls of autoscalers by method and how they ended",
            ["method", "code"],
            registry=registry,
        )
        self._seconds = Histogram(
            "espalier_nodegroups_call_seconds",
            "how long calls of autoscalers took",
            ["method"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._asked = Counter(
            "espalier_nodegroups_nodes_asked", "nodes that increases asked for", registry=registry
        )
        self._granted = Counter(
            "espalier_nodegroups_nodes_granted",
            "nodes that increases got, at once or at the next refresh",
            registry=registry,
        )

    def for_method(self, method: str) -> "MethodMetrics":
        """Return the metrics of one method."""
        return MethodMetrics(method, self._calls, self._seconds)

    def record_increase(self, asked: int, granted: int) -> None:
        """Count the nodes that an increase requested and got."""
        self._asked.inc(asked)
        self._granted.inc(granted)


class MethodMetrics:
    """Counts the calls of one method."""

    def __init__(self, method: str, calls: Counter, seconds: Histogram) -> None:
        self._method = method
        self._calls = calls
        self._ok = calls.labels(method, "OK")
        self._seconds = seconds.labels(method)

    def record_call(self, code: str, started: float) -> None:
        """Count a call that has ended; `started` is a time of `time.perf_counter`."""
        (self._ok if code == "OK" else self._calls.labels(self._method, code)).inc()
        self._seconds.observe(time.perf_counter() - started)


class GroupCollector(Collector):
    """Collects the sizes and states of all groups at each scrape."""

    def __init__(self, cache: CacheReader, views: Views) -> None:
        self._cache = cache
        self._views = views

    @override
    def collect(self) -> Iterable[GaugeMetricFamily]:
        labels = ["namespace", "pool", "group"]
        families = {
            name: GaugeMetricFamily(f"espalier_nodegroup_{name}", about, labels=labels)
            for name, about in (
                ("target", "machines that are wanted"),
                ("ready", "machines that serve"),
                ("minimum", "the smallest size offered to the autoscaler"),
                ("maximum", "the largest size offered to the autoscaler"),
                ("bad", "1 while the zone is avoided for want of resources"),
                ("rolling", "1 while the zone has machines of two templates"),
            )
        }
        for namespace in self._namespaces():
            for group in self._views.get(namespace).groups.values():
                where = [namespace, group.pool.key.name, group.zone.name]
                families["target"].add_metric(where, group.target)
                families["ready"].add_metric(where, group.ready)
                families["minimum"].add_metric(where, group.bounds.minimum)
                families["maximum"].add_metric(where, group.bounds.maximum)
                families["bad"].add_metric(where, group.health == "bad")
                families["rolling"].add_metric(where, group.is_rolling)
        return families.values()

    def _namespaces(self) -> Iterable[str]:
        if not self._cache.synced:
            return ()
        found = self._cache.snapshot().list(MachineDeployment)
        return sorted({deployment.namespace for deployment in found})
