"""What is measured about node groups and about the calls that ask for them."""

import time
from collections.abc import Iterable
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.api.machines import MachineDeployment
from webhook.nodegroups.views import Views
from webhook.state.snapshot import Snapshot

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 3)


class Cached(Protocol):
    """The part of the cache that names the namespaces."""

    @property
    def synced(self) -> bool: ...

    def snapshot(self) -> Snapshot: ...


class GroupMetrics:
    """Counts calls, and what increases were granted."""

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
            "nodes that increases got; the rest would have passed a maximum",
            registry=registry,
        )

    def begin(self) -> float:
        """Start to measure a call."""
        return time.perf_counter()

    def tally(self, method: str) -> "Tally":
        """Give what counts the calls of one method."""
        return Tally(method, self._calls, self._seconds)

    def granted(self, asked: int, granted: int) -> None:
        """Count what an increase asked for and what it got."""
        self._asked.inc(asked)
        self._granted.inc(granted)


class Tally:
    """Counts the calls of one method."""

    def __init__(self, method: str, calls: Counter, seconds: Histogram) -> None:
        self._method = method
        self._calls = calls
        self._well = calls.labels(method, "OK")
        self._seconds = seconds.labels(method)

    def note(self, code: str, started: float) -> None:
        """Count a call that has ended."""
        well = code == "OK"
        (self._well if well else self._calls.labels(self._method, code)).inc()
        self._seconds.observe(time.perf_counter() - started)


class GroupCollector(Collector):
    """Tells the numbers of every group when somebody asks for them."""

    def __init__(self, cache: Cached, views: Views) -> None:
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
                families["bad"].add_metric(where, group.standing == "bad")
                families["rolling"].add_metric(where, group.is_rolling)
        return families.values()

    def _namespaces(self) -> Iterable[str]:
        if not self._cache.synced:
            return ()
        found = self._cache.snapshot().list(MachineDeployment)
        return sorted({deployment.namespace for deployment in found})
