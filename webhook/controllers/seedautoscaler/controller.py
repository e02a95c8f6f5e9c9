"""The controllers of SeedAutoscalers and of the seeds that they cordon."""

from collections.abc import Iterable
from typing import Final

from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.seedautoscaler import cordon
from webhook.controllers.seedautoscaler.plan import plan
from webhook.kube.meta import ObjectKey
from webhook.runtime.controller import Controller, Watch
from webhook.state.indexes import AUTOSCALERS_BY_TARGET
from webhook.state.snapshot import Snapshot


def of_set(
    old: ManagedSeedSet | None, new: ManagedSeedSet | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a set to its autoscaler when the set is created or scaled by others."""
    if old is not None and new is not None and old.spec.replicas == new.spec.replicas:
        return ()
    owner = new or old
    found = snapshot.by_index(AUTOSCALERS_BY_TARGET, str(owner.key)) if owner is not None else ()
    return [autoscaler.key for autoscaler in found]


def of_autoscaler(
    old: SeedAutoscaler | None, new: SeedAutoscaler | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map an autoscaler to the seeds that it has cordoned when it may no longer hold them."""
    if old is not None and new is not None and old.metadata.generation == new.metadata.generation:
        return ()
    changed = new or old
    held = cordon.held_seeds(changed, snapshot) if changed is not None else ()
    return [seed.key for seed in held]


def of_scaled_set(
    old: ManagedSeedSet | None, new: ManagedSeedSet | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a set to the seeds that its autoscalers have cordoned when it is scaled or deleted."""
    scalers = (snapshot.get(SeedAutoscaler, key) for key in of_set(old, new, snapshot))
    found = (cordon.held_seeds(each, snapshot) for each in scalers if each is not None)
    return [seed.key for seeds in found for seed in seeds]


def of_managed_seed(
    old: ManagedSeed | None, new: ManagedSeed | None, _snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a ManagedSeed to its seed when its owner changes."""
    changed = new or old
    if changed is None or (
        old is not None and new is not None and old.controller == new.controller
    ):
        return ()
    return [ObjectKey("", changed.name)]


SEED_AUTOSCALER: Final = Controller(
    "seedautoscaler",
    SeedAutoscaler,
    plan,
    watches=(Watch(ManagedSeedSet, of_set),),
    reads=(ManagedSeed, Seed, Shoot),
    needs=(ManagedSeedSet, ManagedSeed, Seed, Shoot),
    inputs=("samples",),
)
"""Mostly requeued by time: the plan reads numbers that change with every shoot."""

SEED_CORDON: Final = Controller(
    "seedautoscaler.cordon",
    Seed,
    cordon.plan_release,
    watches=(
        Watch(SeedAutoscaler, of_autoscaler),
        Watch(ManagedSeedSet, of_scaled_set),
        Watch(ManagedSeed, of_managed_seed),
    ),
    needs=(SeedAutoscaler, ManagedSeedSet, ManagedSeed),
)
"""Releases cordoned seeds."""
