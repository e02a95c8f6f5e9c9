"""Maps changes of other objects to the ManagedSeeds that have to be reconciled."""

from collections.abc import Iterable
from typing import Any

from webhook.api import names
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.seeds import readiness, usage, zones
from webhook.domain.shoots import health
from webhook.kube.meta import ObjectKey
from webhook.state.indexes import MANAGED_SEEDS_BY_NAME, MANAGED_SEEDS_BY_SHOOT
from webhook.state.snapshot import Snapshot


def of_shoot(old: Shoot | None, new: Shoot | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Map a Shoot to its ManagedSeed, and to those in deletion whose seed it leaves."""
    shoot = new or old
    if shoot is None:
        return
    if _shoot_state(old) != _shoot_state(new):
        for found in snapshot.by_index(MANAGED_SEEDS_BY_SHOOT, str(shoot.key)):
            yield found.key
    before, after = _seeds(old), _seeds(new)
    for seed in before - after:
        yield from (
            found.key
            for found in snapshot.by_index(MANAGED_SEEDS_BY_NAME, seed)
            if found.is_deleting
        )


def of_seed(old: Seed | None, new: Seed | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Map a Seed to its ManagedSeed when its spec, readiness, labels or annotations change."""
    seed = new or old
    if seed is None or _seed_state(old) == _seed_state(new):
        return ()
    return [found.key for found in snapshot.by_index(MANAGED_SEEDS_BY_NAME, seed.name)]


def _seeds(shoot: Shoot | None) -> frozenset[str]:
    return frozenset(usage.seeds_of(shoot)) if shoot is not None else frozenset()


def _shoot_state(shoot: Shoot | None) -> Any:
    """Return what the plan of a ManagedSeed reads of its Shoot."""
    if shoot is None:
        return None
    return (
        health.is_reconciled(shoot),
        shoot.is_deleting,
        health.pending_readiness_gates(shoot),
        zones.shoot_zones(shoot),
        shoot.status.last_operation,
        shoot.metadata.generation,
    )


def _seed_state(seed: Seed | None) -> Any:
    """Return what the plan of a ManagedSeed reads of its Seed."""
    if seed is None:
        return None
    metadata = seed.metadata
    return (
        metadata.generation,
        metadata.labels,
        metadata.annotations.get(names.MANAGED_SEED),
        metadata.annotations.get(names.TEMPLATE_CHECKSUM),
        metadata.finalizers,
        seed.is_deleting,
        [*readiness.unready_reasons(seed)],
    )
