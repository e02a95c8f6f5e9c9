"""Which sets a change concerns."""

from collections.abc import Iterable, Iterator
from typing import Any

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Object, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import health, ordinals, usage
from webhook.state.indexes import MANAGED_SEEDS_BY_NAME
from webhook.state.snapshot import Snapshot

_SET = ManagedSeedSet.__name__


def of_shoot(old: Shoot | None, new: Shoot | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Wake the set that a Shoot is or may become a replica of, and the one that hosts it."""
    keys = {*_of_replica(old, snapshot), *_of_replica(new, snapshot)}
    if _as_guest(old) != _as_guest(new):
        seeds = {seed for shoot in (old, new) if shoot is not None for seed in usage.seeds(shoot)}
        for seed in seeds:
            keys.update(of_seed_name(seed, snapshot))
    return keys


def of_managed_seed(
    old: ManagedSeed | None, new: ManagedSeed | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Wake the set that a ManagedSeed is or may become a replica of."""
    return {*_of_replica(old, snapshot), *_of_replica(new, snapshot)}


def of_seed(old: Seed | None, new: Seed | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Wake the set of a Seed when something about it changes that a set looks at."""
    changed = new or old
    if changed is None or _as_seed(old) == _as_seed(new):
        return ()
    return of_seed_name(changed.name, snapshot)


def of_revision(
    old: ControllerRevision | None, new: ControllerRevision | None, _snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Wake the set whose history a ControllerRevision belongs to."""
    return {*_owner(old), *_owner(new)}


def of_seed_name(name: str, snapshot: Snapshot) -> Iterator[ObjectKey]:
    """Name the sets that have a replica behind a seed."""
    for managed_seed in snapshot.by_index(MANAGED_SEEDS_BY_NAME, name):
        yield from _owner(managed_seed)


def _of_replica(half: Object | None, snapshot: Snapshot) -> Iterator[ObjectKey]:
    if half is None:
        return
    yield from _owner(half)
    base = ordinals.base_of(half.name)
    if base is not None:
        key = ObjectKey(half.namespace, base)
        if snapshot.get(ManagedSeedSet, key) is not None:
            yield key


def _owner(obj: Object | None) -> Iterator[ObjectKey]:
    if obj is None:
        return
    for reference in obj.metadata.owner_references:
        if reference.kind == _SET:
            yield ObjectKey(obj.namespace, reference.name)


def _as_guest(shoot: Shoot | None) -> Any:
    if shoot is None:
        return None
    return usage.seeds(shoot), shoot.is_deleting, health.is_hosted_ready(shoot)


def _as_seed(seed: Seed | None) -> Any:
    if seed is None:
        return None
    mark = seed.metadata.annotations.get(names.SCALE_IN)
    return health.is_seed_ready(seed), seed.is_deleting, seed.is_visible, mark
