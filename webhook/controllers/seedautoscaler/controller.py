"""The row of SeedAutoscalers in the table of controllers, and what wakes them."""

from collections.abc import Iterable
from typing import Final

from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import ObjectKey
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.seedautoscaler.plan import plan
from webhook.runtime.rows import Controller, Watch
from webhook.state.indexes import AUTOSCALERS_BY_TARGET
from webhook.state.snapshot import Snapshot


def of_set(
    old: ManagedSeedSet | None, new: ManagedSeedSet | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Wake an autoscaler when somebody else scales its set, or the set is made."""
    if old is not None and new is not None and old.spec.replicas == new.spec.replicas:
        return ()
    owner = new or old
    found = snapshot.by_index(AUTOSCALERS_BY_TARGET, str(owner.key)) if owner is not None else ()
    return [autoscaler.key for autoscaler in found]


SEED_AUTOSCALER: Final = Controller(
    "seedautoscaler",
    SeedAutoscaler,
    plan,
    watches=(Watch(ManagedSeedSet, of_set),),
    reads=(ManagedSeed, Seed, Shoot),
    needs=(ManagedSeedSet, ManagedSeed, Seed, Shoot),
)
"""Woken by time: numbers that change with every shoot are looked at every few seconds."""
