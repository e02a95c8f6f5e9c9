"""Maps changes of other objects to the sets that have to be reconciled."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.seeds import readiness, usage
from webhook.domain.sets import ordinals
from webhook.kube.meta import Object, ObjectKey
from webhook.placement import hosted_shoots
from webhook.state.indexes import MANAGED_SEEDS_BY_NAME
from webhook.state.snapshot import Snapshot

_SET: Final = ManagedSeedSet.__name__


def of_shoot(old: Shoot | None, new: Shoot | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Map a Shoot to the set whose replica it is or may become, and to the one that hosts it."""
    keys = {*_of_replica(old, snapshot), *_of_replica(new, snapshot)}
    if hosted_shoots.watched_state(old) != hosted_shoots.watched_state(new):
        seeds = {
            seed for shoot in (old, new) if shoot is not None for seed in usage.seeds_of(shoot)
        }
        for seed in seeds:
            keys.update(of_seed_name(seed, snapshot))
    return keys


def of_managed_seed(
    old: ManagedSeed | None, new: ManagedSeed | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a ManagedSeed to the set whose replica it is or may become."""
    return {*_of_replica(old, snapshot), *_of_replica(new, snapshot)}


def of_seed(old: Seed | None, new: Seed | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Map a Seed to its set when something changes that the set's plan reads."""
    changed = new or old
    if changed is None or _watched_state(old) == _watched_state(new):
        return ()
    return of_seed_name(changed.name, snapshot)


def of_revision(
    old: ControllerRevision | None, new: ControllerRevision | None, _snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a ControllerRevision to its set."""
    return {*_owner(old), *_owner(new)}


def of_seed_name(name: str, snapshot: Snapshot) -> Iterator[ObjectKey]:
    """Return the sets that have a seed of this name."""
    for managed_seed in snapshot.by_index(MANAGED_SEEDS_BY_NAME, name):
        yield from _owner(managed_seed)


def _of_replica(obj: Object | None, snapshot: Snapshot) -> Iterator[ObjectKey]:
    if obj is None:
        return
    yield from _owner(obj)
    base = ordinals.base_of(obj.name)
    if base is not None:
        key = ObjectKey(obj.namespace, base)
        if snapshot.get(ManagedSeedSet, key) is not None:
            yield key


def _owner(obj: Object | None) -> Iterator[ObjectKey]:
    if obj is None:
        return
    for reference in obj.metadata.owner_references:
        if reference.kind == _SET:
            yield ObjectKey(obj.namespace, reference.name)


def _watched_state(seed: Seed | None) -> Any:
    if seed is None:
        return None
    mark = seed.metadata.annotations.get(names.SCALE_IN)
    return readiness.is_seed_ready(seed), seed.is_deleting, seed.is_visible, mark
