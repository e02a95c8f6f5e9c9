"""Which ManagedSeeds a change concerns."""

from collections.abc import Iterable
from typing import Any

from webhook.api import names
from webhook.api.meta import ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import health, usage, zones
from webhook.state.indexes import MANAGED_SEEDS_BY_NAME, MANAGED_SEEDS_BY_SHOOT
from webhook.state.snapshot import Snapshot


def of_shoot(old: Shoot | None, new: Shoot | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Wake the ManagedSeed of a Shoot, and those that wait for it to leave their seed."""
    shoot = new or old
    if shoot is None:
        return
    if _as_base(old) != _as_base(new):
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
    """Wake the ManagedSeed of a Seed when its spec, its readiness or its marks change."""
    seed = new or old
    if seed is None or _as_seed(old) == _as_seed(new):
        return ()
    return [found.key for found in snapshot.by_index(MANAGED_SEEDS_BY_NAME, seed.name)]


def _seeds(shoot: Shoot | None) -> frozenset[str]:
    return frozenset(usage.seeds(shoot)) if shoot is not None else frozenset()


def _as_base(shoot: Shoot | None) -> Any:
    """What of a Shoot its ManagedSeed looks at."""
    if shoot is None:
        return None
    return (
        health.is_reconciled(shoot),
        shoot.is_deleting,
        health.open_gates(shoot),
        zones.shoot_zones(shoot),
        shoot.status.last_operation,
        shoot.metadata.generation,
    )


def _as_seed(seed: Seed | None) -> Any:
    """What of a Seed its ManagedSeed looks at."""
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
        [*health.seed_troubles(seed)],
    )
