"""Our metrics a second time, under the names of controller-runtime.

Existing dashboards and alerts for webhooks use those names.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.runtime.metrics import Metrics

_WEBHOOK: Final = "controller_runtime_webhook_"
_LABELS: Final = {"path": "webhook"}


class ControllerRuntimeMetrics(Collector):
    """Renames metrics when they are scraped, at no cost for requests."""

    def __init__(self, metrics: Metrics) -> None:
        self._renamed: Mapping[str, MetricWrapperBase] = {
            f"{_WEBHOOK}latency_seconds": metrics.request_duration,
            f"{_WEBHOOK}requests": metrics.requests,
            f"{_WEBHOOK}requests_in_flight": metrics.requests_in_flight,
            f"{_WEBHOOK}panics": metrics.panics,
            "certwatcher_read_certificate": metrics.certificate_reads,
            "certwatcher_read_certificate_errors": metrics.certificate_errors,
        }

    @override
    def collect(self) -> Iterable[Metric]:
        for name, instrument in self._renamed.items():
            for ours in instrument.collect():
                yield _renamed(name, ours)


def _renamed(name: str, ours: Metric) -> Metric:
    theirs = Metric(name, ours.documentation, ours.type)
    for sample in ours.samples:
        labels = {_LABELS.get(label, label): value for label, value in sample.labels.items()}
        theirs.add_sample(name + sample.name.removeprefix(ours.name), labels, sample.value)
    return theirs
