"""plan(): capacity and allocatable in the status of a seed."""

from collections.abc import Iterable, Mapping
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.domain.seeds import capacity
from webhook.domain.seeds.capacity import Capacity, CapacityError
from webhook.kube.meta import ObjectKey, Quantity
from webhook.runtime.actions import NOTHING, Emit, Patch, Plan
from webhook.state.snapshot import Snapshot

MALFORMED: Final = "CapacityMalformed"

_SEED: Final = kind_of_model(Seed)


def plan(seed: Seed, snapshot: Snapshot) -> Plan:
    """Patch capacity and allocatable of a seed, if they are configured.

    They are configured by the seed's ManagedSeed or by the settings. Other seeds keep what their
    gardenlet wrote, and beside a Gardener all seeds do.
    """
    if snapshot.options.beside_gardener or seed.is_deleting:
        return NOTHING
    try:
        wanted = _wanted(seed, snapshot)
    except CapacityError as error:
        message = f"the capacity of the seed cannot be read: {error}"
        return Plan((Emit(_SEED, seed, MALFORMED, message, "Warning"),))
    if wanted is None or _has(seed, wanted):
        return NOTHING
    change = {
        "status": {
            "capacity": _difference(seed.status.capacity, wanted.capacity),
            "allocatable": _difference(seed.status.allocatable, wanted.allocatable),
        }
    }
    return Plan(
        (Patch(_SEED, seed.key, change, seed.uid, seed.resource_version, subresource="status"),)
    )


def _wanted(seed: Seed, snapshot: Snapshot) -> Capacity | None:
    options = snapshot.options
    named = options.capacity.seeds.get(seed.name)
    if named is not None:
        return capacity.calculate(named)
    managed_seed = snapshot.get(ManagedSeed, managed_seed_of(seed, options.garden_namespace))
    if managed_seed is None:
        return None
    return capacity.configured(managed_seed, options.capacity)


def managed_seed_of(seed: Seed, garden_namespace: str) -> ObjectKey:
    """Return the key of the ManagedSeed that registers a seed, if there is one."""
    annotated = seed.metadata.annotations.get(names.MANAGED_SEED, "")
    namespace, _, name = annotated.partition("/")
    return ObjectKey(namespace, name) if name else ObjectKey(garden_namespace, seed.name)


def _has(seed: Seed, wanted: Capacity) -> bool:
    try:
        return capacity.parse(seed.status.capacity) == capacity.parse(
            wanted.capacity
        ) and capacity.parse(seed.status.allocatable) == capacity.parse(wanted.allocatable)
    except CapacityError:
        return False


def _difference(
    present: Mapping[str, Quantity], wanted: Mapping[str, str]
) -> dict[str, str | None]:
    """Return a merge patch that leaves only what is wanted."""
    return {**dict.fromkeys(present), **wanted}


def seeds_of(
    old: ManagedSeed | None, new: ManagedSeed | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a ManagedSeed to its seed."""
    changed = new or old
    return () if changed is None else (ObjectKey("", changed.name),)
