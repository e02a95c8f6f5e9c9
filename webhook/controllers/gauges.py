"""Gauges of objects, by their names."""

from collections.abc import Iterable, Mapping

from prometheus_client.metrics_core import GaugeMetricFamily

from webhook.kube.conditions import TRUE, Condition
from webhook.runtime.metrics import PREFIX


def gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    """Return an empty family with our prefix."""
    return GaugeMetricFamily(PREFIX + name, text, labels=labels)


def add_values(family: GaugeMetricFamily, name: Iterable[str], values: Mapping[str, int]) -> None:
    """Add a sample for each value of the last label."""
    for label, value in values.items():
        family.add_metric([*name, label], value)


def condition_values(conditions: Iterable[Condition]) -> Mapping[str, int]:
    """Return 1 for each condition that is True, 0 for the others."""
    return {each.type: int(each.status == TRUE) for each in conditions}
