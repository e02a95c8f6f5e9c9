"""The ManagedSeed behind a seed, and the Shoot behind that."""

from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.state.snapshot import Snapshot


def managed_seed_of(seed: str, snapshot: Snapshot) -> ManagedSeed | None:
    """Find the ManagedSeed that made a seed: it has the seed's name."""
    if not snapshot.serves(ManagedSeed):
        return None
    key = ObjectKey(snapshot.options.admission.garden_namespace, seed)
    return snapshot.look_up(ManagedSeed, key)


def shoot_of(managed_seed: ManagedSeed, snapshot: Snapshot, namespace: str = "") -> Shoot | None:
    """Find the Shoot that a ManagedSeed turns into a seed, in the same namespace."""
    reference = managed_seed.spec.shoot
    if reference is None or not reference.name:
        return None
    return snapshot.look_up(Shoot, ObjectKey(namespace or managed_seed.namespace, reference.name))


def shoot_of_seed(seed: str, snapshot: Snapshot) -> Shoot | None:
    """Find the Shoot that a seed stands on, if it is a managed one."""
    managed_seed = managed_seed_of(seed, snapshot)
    return shoot_of(managed_seed, snapshot) if managed_seed is not None else None
