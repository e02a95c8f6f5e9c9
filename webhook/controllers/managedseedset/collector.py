"""Metrics of ManagedSeedSets."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.controllers.gauges import add_values, condition_values, gauge
from webhook.domain.sets import replicas
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheReader

_SET: Final = ("namespace", "managedseedset")


class ManagedSeedSetCollector(Collector):
    """Reads sets when metrics are scraped, so that deleted sets leave no series behind."""

    def __init__(self, cache: CacheReader) -> None:
        self._cache = cache

    @override
    def collect(self) -> Iterable[Metric]:
        sets: tuple[ManagedSeedSet, ...] = ()
        updated: dict[str, int] = {}
        if self._cache.synced:
            snapshot = self._cache.snapshot()
            sets = tuple(snapshot.list(ManagedSeedSet))
            updated = {owner.uid: _updated(owner, snapshot) for owner in sets}
        return _of_sets(sets, updated)


def _updated(owner: ManagedSeedSet, snapshot: Snapshot) -> int:
    """Count the replicas with the present templates; beside a Gardener no status does."""
    children = (snapshot.children(Shoot, owner), snapshot.children(ManagedSeed, owner))
    claimed = replicas.claim(owner, *children).replicas
    return sum(each.is_at(owner.status.update_revision) for each in claimed)


def _of_sets(sets: Iterable[ManagedSeedSet], updated: Mapping[str, int]) -> Iterator[Metric]:
    numbers = gauge("managedseedset_replicas", "Replicas of a set, by state", *_SET, "state")
    conditions = gauge(
        "managedseedset_condition", "1 while a condition of a set is True", *_SET, "condition"
    )
    for owner in sets:
        name = (owner.namespace, owner.name)
        status = owner.status
        wanted = owner.spec.replicas
        counts = {
            "desired": 1 if wanted is None else wanted,
            "current": status.replicas,
            "ready": status.ready_replicas,
            "updated": status.updated_replicas or updated[owner.uid],
        }
        add_values(numbers, name, counts)
        add_values(conditions, name, condition_values(status.conditions))
    return iter((numbers, conditions))
