"""Metrics of scheduled scaling: windows, edges, floors and values still raised."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.domain.scaling import raised_values
from webhook.domain.scaling.raised_values import RaisedValues
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.timestamps import format_time, parse_time
from webhook.runtime.metrics import PREFIX
from webhook.state.indexes import ACTIVE, SCALINGS_BY_TORTOISE
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheReader

_NAME: Final = f"{PREFIX}scheduled_scaling"


class ScheduledScalingCollector(Collector):
    """Reads schedules and raised values when metrics are scraped.

    Windows are read from statuses, which are exact to the second: computing ten thousand schedules
    would delay requests.
    """

    def __init__(self, cache: CacheReader) -> None:
        self._cache = cache

    @override
    def collect(self) -> Iterable[Metric]:
        active = GaugeMetricFamily(f"{_NAME}_windows_active", "Windows that are open now")
        edge = GaugeMetricFamily(
            f"{_NAME}_next_edge_seconds", "Time until a window opens or closes; absent if none will"
        )
        floors = GaugeMetricFamily(
            f"{_NAME}_floors_applied", "Values that are raised to a floor now", labels=["value"]
        )
        unsettled = GaugeMetricFamily(
            f"{_NAME}_notes_unsettled", "Objects with raised values though no window is open"
        )
        if self._cache.synced:
            snapshot = self._cache.snapshot()
            scalings = snapshot.list(ScheduledScaling)
            active.add_metric([], sum(each.status.phase == ACTIVE for each in scalings))
            seconds = _next_edge(scalings, snapshot.taken_at)
            if seconds is not None:
                edge.add_metric([], seconds)
            counted, leftover = _count_raised(snapshot)
            for value, number in sorted(counted.items()):
                floors.add_metric([value], number)
            unsettled.add_metric([], leftover)
        return (active, edge, floors, unsettled)


def _next_edge(scalings: Iterable[ScheduledScaling], now: datetime) -> float | None:
    written = format_time(now)
    # Timestamps in statuses have one format, so they sort as text.
    edges = [
        edge
        for scaling in scalings
        if scaling.status.window is not None and not scaling.spec.suspend
        for edge in (scaling.status.window.start, scaling.status.window.finish)
        if edge > written
    ]
    return (parse_time(min(edges)) - now).total_seconds() if edges else None


def _count_raised(snapshot: Snapshot) -> tuple[dict[str, int], int]:
    counted: dict[str, int] = {}
    leftover = 0
    models: tuple[type[Object], ...] = (HorizontalPodAutoscaler, Tortoise)
    for model in models:
        for obj in snapshot.list(model):
            found = raised_values.parse(obj.metadata.annotations.get(raised_values.ANNOTATION))
            if found is not None:
                for field in found.values:
                    value = field.split("/", 1)[-1]
                    counted[value] = counted.get(value, 0) + 1
                leftover += not _is_in_window(obj, found, snapshot)
    return counted, leftover


def _is_in_window(obj: Object, found: RaisedValues, snapshot: Snapshot) -> bool:
    tortoise = str(ObjectKey(obj.namespace, found.tortoise))
    return any(
        each.status.phase == ACTIVE for each in snapshot.by_index(SCALINGS_BY_TORTOISE, tortoise)
    )
