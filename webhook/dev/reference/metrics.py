"""The page of metrics: names, types, labels and meaning, read from the instruments themselves."""

from collections.abc import Iterable, Iterator
from typing import Final, NoReturn

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from webhook.controllers.managedseedset.collector import ManagedSeedSetCollector
from webhook.controllers.scheduledscaling.collector import ScheduledScalingCollector
from webhook.controllers.seedautoscaler.collector import SeedAutoscalerCollector
from webhook.controllers.seedcapacity.collector import SeedCollector
from webhook.dev.reference import markdown
from webhook.nodegroups.metrics import GroupCollector, GroupMetrics
from webhook.runtime.controller_runtime_metrics import ControllerRuntimeMetrics
from webhook.runtime.metrics import CacheCollector, Metrics

_INTRODUCTION: Final = """# Metrics

`GET /metrics` on the plain port exports these in the Prometheus text format, with the metrics of
the process (`process_…`, `python_…`) that every Python client exports. No label holds the name of
a tenant's object, except where the metric is about that object. `manifests/monitoring` has alerts
and a dashboard.

"""
_RENAMED: Final = """
## Names of controller-runtime

Dashboards for webhooks expect the names of controller-runtime, so these are exported too, with the
same values:

"""


class _EmptyCache:
    """A cache that has not synced: collectors describe their metrics and read no object."""

    synced = False

    def statuses(self) -> Iterable[NoReturn]:
        return ()


def page() -> str:
    """Write the page."""
    metrics = Metrics()
    headings = ("metric", "type", "labels", "meaning")
    rows = sorted({*_instruments(metrics), *_families()})
    renamed = [(markdown.code(_exported(each)), each.type) for each in _renamed(metrics)]
    return (
        _INTRODUCTION
        + markdown.table(headings, rows)
        + _RENAMED
        + markdown.table(("metric", "type"), sorted(renamed))
    )


def _instruments(metrics: Metrics) -> Iterator[tuple[str, str, str, str]]:
    GroupMetrics(metrics.registry)
    for collector in metrics.registry._collector_to_names:
        if isinstance(collector, MetricWrapperBase):
            (family,) = collector.describe()
            labels = markdown.codes(collector._labelnames)
            yield markdown.code(_exported(family)), family.type, labels, family.documentation


def _families() -> Iterator[tuple[str, str, str, str]]:
    for collector in _collectors():
        for family in collector.collect():
            labels = markdown.codes(getattr(family, "_labelnames", ()))
            yield markdown.code(_exported(family)), family.type, labels, family.documentation


def _collectors() -> Iterator[Collector]:
    cache = _EmptyCache()
    yield CacheCollector(cache)
    yield SeedCollector(cache)  # type: ignore[arg-type]  # never reads a snapshot: it is not synced
    yield ManagedSeedSetCollector(cache)  # type: ignore[arg-type]  # as above
    yield SeedAutoscalerCollector(cache)  # type: ignore[arg-type]  # as above
    yield ScheduledScalingCollector(cache)  # type: ignore[arg-type]  # as above
    yield GroupCollector(cache, None)  # type: ignore[arg-type]  # as above


def _renamed(metrics: Metrics) -> Iterable[Metric]:
    return ControllerRuntimeMetrics(metrics).collect()


def _exported(family: Metric) -> str:
    """Return the name as a scrape shows it; counters end in `_total`."""
    name = family.name
    return f"{name}_total" if family.type == "counter" else name
