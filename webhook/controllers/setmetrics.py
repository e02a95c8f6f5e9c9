"""How sets of seeds and their autoscalers stand, for Prometheus."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from webhook.api.conditions import TRUE, Condition
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.shoots import Shoot
from webhook.controllers.seedmetrics import Remembering
from webhook.domain import replicas
from webhook.runtime.metrics import PREFIX
from webhook.state.snapshot import Snapshot

_SET: Final = ("namespace", "managedseedset")
_SCALER: Final = ("namespace", "seedautoscaler")


class SetCollector(Collector):
    """Reads sets when metrics are scraped, so that gone ones leave no series behind."""

    def __init__(self, cache: Remembering) -> None:
        self._cache = cache

    @override
    def collect(self) -> Iterable[Metric]:
        sets: tuple[ManagedSeedSet, ...] = ()
        scalers: tuple[SeedAutoscaler, ...] = ()
        updated: dict[str, int] = {}
        if self._cache.synced:
            snapshot = self._cache.snapshot()
            sets = tuple(snapshot.list(ManagedSeedSet))
            scalers = tuple(snapshot.list(SeedAutoscaler))
            updated = {owner.uid: _updated(owner, snapshot) for owner in sets}
        yield from _of_sets(sets, updated)
        yield from _of_scalers(scalers)


def _updated(owner: ManagedSeedSet, snapshot: Snapshot) -> int:
    """Count what has the present templates; beside a Gardener no status does."""
    children = (snapshot.children(Shoot, owner), snapshot.children(ManagedSeed, owner))
    claimed = replicas.claim(owner, *children).replicas
    return sum(each.is_at(owner.status.update_revision) for each in claimed)


def _of_sets(sets: Iterable[ManagedSeedSet], updated: Mapping[str, int]) -> Iterator[Metric]:
    numbers = _family("managedseedset_replicas", "Replicas of a set, by state", *_SET, "state")
    told = _family(
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
        _add(numbers, name, counts)
        _add(told, name, _truths(status.conditions))
    return iter((numbers, told))


def _of_scalers(scalers: Iterable[SeedAutoscaler]) -> Iterator[Metric]:
    replicas = _family(
        "seedautoscaler_replicas", "What an autoscaler may, has and wants", *_SCALER, "state"
    )
    pending = _family("seedautoscaler_pending_shoots", "Shoots that wait for its set", *_SCALER)
    told = _family(
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
        _add(replicas, name, counts)
        pending.add_metric([*name], status.pending_shoots)
        _add(told, name, _truths(status.conditions))
    return iter((replicas, pending, told))


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(PREFIX + name, text, labels=labels)


def _add(family: GaugeMetricFamily, name: Iterable[str], values: Mapping[str, int]) -> None:
    for label, value in values.items():
        family.add_metric([*name, label], value)


def _truths(conditions: Iterable[Condition]) -> Mapping[str, int]:
    return {each.type: int(each.status == TRUE) for each in conditions}
