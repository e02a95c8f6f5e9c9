"""Let a managed seed go: Seed, then gardenlet, then Secrets, then the finalizer."""

from collections.abc import Iterator
from typing import Final

from webhook.api import names
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers import guests
from webhook.controllers.managedseed import bootstrap, gardenlet, secrets, status
from webhook.runtime.actions import Action, Delete, Patch, Plan, Remote
from webhook.state.snapshot import Snapshot

_KIND: Final = kind_of_model(ManagedSeed)
_SEED: Final = kind_of_model(Seed)


def plan(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    """Take the next step of a deletion; none is taken while a shoot counts on the seed."""
    if names.GARDENER_FINALIZER not in managed_seed.metadata.finalizers:
        return Plan()
    seed = snapshot.get(Seed, ObjectKey("", managed_seed.name))
    if seed is not None and is_ours(seed, managed_seed):
        return Plan((*_remove_seed(managed_seed, seed, snapshot),))
    gardenlets = tuple(_remove_gardenlet(managed_seed, snapshot))
    if gardenlets and (told := tuple(_tell_gardenlet(managed_seed, snapshot))):
        return Plan(told)
    finalizers = [
        name for name in managed_seed.metadata.finalizers if name != names.GARDENER_FINALIZER
    ]
    change = {"metadata": {"finalizers": finalizers}}
    version = managed_seed.resource_version
    last = Patch(_KIND, managed_seed.key, change, managed_seed.uid, version)
    return Plan((*gardenlets, *_remove_secrets(managed_seed, snapshot), last))


def is_ours(seed: Seed, managed_seed: ManagedSeed) -> bool:
    """Tell whether a Seed belongs to a ManagedSeed; gardenlets of old did not say so."""
    told = seed.metadata.annotations.get(names.MANAGED_SEED)
    if told is None:
        return managed_seed.spec.seed_template is None
    return told == str(managed_seed.key)


def release_seed(seed: Seed, snapshot: Snapshot) -> Iterator[Action]:
    """Let a Seed that is being deleted go once nobody counts on it."""
    if names.FINALIZER in seed.metadata.finalizers and not guests.count_all(seed.name, snapshot):
        rest = [name for name in seed.metadata.finalizers if name != names.FINALIZER]
        change = {"metadata": {"finalizers": rest}}
        yield Patch(_SEED, seed.key, change, seed.uid, seed.resource_version)


def _remove_seed(managed_seed: ManagedSeed, seed: Seed, snapshot: Snapshot) -> Iterator[Action]:
    count = guests.count_all(seed.name, snapshot)
    if count:
        message = f"Seed {seed.name} is used by {count} shoots: move or delete them first"
        told = status.not_registered("SeedInUse", message)
    else:
        told = status.not_registered("Deleting", f"Seed {seed.name} is being deleted")
        if seed.is_deleting:
            yield from release_seed(seed, snapshot)
        else:
            yield Delete(_SEED, seed.key, seed.uid, seed.resource_version)
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    said = (told, status.of_seed(managed_seed, seed))
    yield from status.write(managed_seed, raw.get("status") or {}, said, snapshot.taken_at)


def _tell_gardenlet(managed_seed: ManagedSeed, snapshot: Snapshot) -> Iterator[Action]:
    """Say what the deletion waits for: somebody may have to look into the Shoot."""
    message = f"Seed {managed_seed.name} is gone, its gardenlet is being taken out of the Shoot"
    told = status.not_registered("GardenletDeleting", message)
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    yield from status.write(managed_seed, raw.get("status") or {}, (told,), snapshot.taken_at)


def _remove_gardenlet(managed_seed: ManagedSeed, snapshot: Snapshot) -> Iterator[Remote]:
    """Take the gardenlet out of the Shoot, unless the Shoot itself is gone or going."""
    reference, wanted = managed_seed.spec.shoot, managed_seed.spec.gardenlet
    if reference is None or wanted is None:
        return
    if names.GARDENLET_APPLIED not in managed_seed.metadata.annotations:
        return
    shoot = snapshot.get(Shoot, ObjectKey(managed_seed.namespace, reference.name))
    if shoot is None or shoot.is_deleting:
        return
    found = snapshot.look_up(Secret, secrets.kubeconfig_key(managed_seed, shoot))
    kubeconfig = secrets.read_kubeconfig(found)
    if kubeconfig is not None:
        account = wanted.deployment.service_account_name if wanted.deployment is not None else None
        yield from gardenlet.removals(kubeconfig, {"serviceAccountName": account})


def _remove_secrets(managed_seed: ManagedSeed, snapshot: Snapshot) -> Iterator[Action]:
    """Take back all credentials: the copies that the Seed used, and those of the first contact."""
    yield from bootstrap.removals(managed_seed)
    template = managed_seed.seed_template
    if template is None:
        return
    keys = [secrets.backup_key(managed_seed, template.spec)]
    reference = template.spec.secret_ref
    if reference is not None and reference.name:
        keys.append(ObjectKey(reference.namespace or managed_seed.namespace, reference.name))
    for key in keys:
        if key is not None:
            yield from secrets.remove(key, managed_seed, snapshot)
