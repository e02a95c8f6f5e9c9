"""Look up the ManagedSeed of a seed, and the Shoot of a ManagedSeed."""

from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.kube.meta import ObjectKey
from webhook.state.snapshot import Snapshot


def managed_seed_of(seed: str, snapshot: Snapshot) -> ManagedSeed | None:
    """Return the ManagedSeed of a seed, which has the same name.

    The ManagedSeed is in the garden namespace. Document 003 restricts the label of multi-zonal
    seeds for these seeds only.
    """
    if not snapshot.serves(ManagedSeed):
        return None
    key = ObjectKey(snapshot.options.garden_namespace, seed)
    return snapshot.look_up(ManagedSeed, key)


def shoot_of(managed_seed: ManagedSeed, snapshot: Snapshot, namespace: str = "") -> Shoot | None:
    """Return the Shoot of a ManagedSeed, which is in the same namespace."""
    reference = managed_seed.spec.shoot
    if reference is None or not reference.name:
        return None
    return snapshot.look_up(Shoot, ObjectKey(namespace or managed_seed.namespace, reference.name))


def shoot_of_seed(seed: str, snapshot: Snapshot) -> Shoot | None:
    """Return the Shoot of a managed seed; None for other seeds."""
    managed_seed = managed_seed_of(seed, snapshot)
    return shoot_of(managed_seed, snapshot) if managed_seed is not None else None
