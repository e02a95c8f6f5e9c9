"""Metrics of seeds: capacity, allocatable and use."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.api.seeds import Seed
from webhook.domain.seeds import capacity
from webhook.domain.seeds.capacity import CapacityError
from webhook.kube.meta import Quantity
from webhook.runtime.metrics import PREFIX
from webhook.state.totals import SEED_USAGE
from webhook.state.views import CacheReader

_LABELS: Final = ("seed", "resource")


class SeedCollector(Collector):
    """Reads seeds when metrics are scraped, so that deleted seeds leave no series behind."""

    def __init__(self, cache: CacheReader) -> None:
        self._cache = cache

    @override
    def collect(self) -> Iterable[Metric]:
        families = {
            name: GaugeMetricFamily(f"{PREFIX}seed_{name}", text, labels=_LABELS)
            for name, text in (
                ("capacity", "What a seed has of a resource"),
                ("allocatable", "What shoots may use of it"),
                ("used", "What shoots use of it, placements on their way included"),
            )
        }
        if self._cache.synced:
            snapshot = self._cache.snapshot()
            totals = snapshot.totals(SEED_USAGE)
            for seed in snapshot.list(Seed):
                _add(families["capacity"], seed.name, _parse(seed.status.capacity))
                _add(families["allocatable"], seed.name, _parse(seed.status.allocatable))
                _add(families["used"], seed.name, totals.get(seed.name, {}))
        return families.values()


def _add(family: GaugeMetricFamily, seed: str, amounts: Mapping[str, Decimal]) -> None:
    for resource, amount in amounts.items():
        family.add_metric([seed, resource], float(amount))


def _parse(quantities: Mapping[str, Quantity]) -> Mapping[str, Decimal]:
    try:
        return capacity.parse(quantities)
    except CapacityError:
        return {}
