"""Metrics of SeedAutoscalers."""

from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.controllers.gauges import add_values, condition_values, gauge
from webhook.state.views import CacheReader

_SCALER: Final = ("namespace", "seedautoscaler")


class SeedAutoscalerCollector(Collector):
    """Reads autoscalers when metrics are scraped, so that deleted ones leave no series behind."""

    def __init__(self, cache: CacheReader) -> None:
        self._cache = cache

    @override
    def collect(self) -> Iterable[Metric]:
        scalers: tuple[SeedAutoscaler, ...] = ()
        if self._cache.synced:
            scalers = tuple(self._cache.snapshot().list(SeedAutoscaler))
        return _of_scalers(scalers)


def _of_scalers(scalers: Iterable[SeedAutoscaler]) -> Iterator[Metric]:
    replicas = gauge(
        "seedautoscaler_replicas", "What an autoscaler may, has and wants", *_SCALER, "state"
    )
    pending = gauge("seedautoscaler_pending_shoots", "Shoots that wait for its set", *_SCALER)
    conditions = gauge(
        "seedautoscaler_condition", "1 while a condition of it is True", *_SCALER, "condition"
    )
    for scaler in scalers:
        name = (scaler.namespace, scaler.name)
        spec, status = scaler.spec, scaler.status
        counts = {
            "min": 1 if spec.min_replicas is None else spec.min_replicas,
            "max": spec.max_replicas,
            "current": status.current_replicas,
            "desired": status.desired_replicas,
        }
        add_values(replicas, name, counts)
        pending.add_metric([*name], status.pending_shoots)
        add_values(conditions, name, condition_values(status.conditions))
    return iter((replicas, pending, conditions))
