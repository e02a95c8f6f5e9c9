"""What seeds have, offer and have given away, for Prometheus."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, Protocol

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.api.meta import Quantity
from webhook.api.seeds import Seed
from webhook.domain import capacity
from webhook.domain.capacity import CapacityError
from webhook.runtime.metrics import PREFIX
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

_LABELS: Final = ("seed", "resource")


class Remembering(Protocol):
    """Whoever shows the cluster as it is now."""

    @property
    def synced(self) -> bool: ...

    def snapshot(self) -> Snapshot: ...


class SeedCollector(Collector):
    """Reads seeds when metrics are scraped, so that gone seeds leave no series behind."""

    def __init__(self, cache: Remembering) -> None:
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
