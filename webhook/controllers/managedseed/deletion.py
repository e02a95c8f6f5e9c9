"""Deletes a managed seed: the Seed, then the gardenlet, Secrets and the finalizer."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from webhook.api import names
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import bootstrap, gardenlet, secrets, shoot_kinds, status
from webhook.controllers.managedseed.registration import WAIT_SECONDS
from webhook.controllers.status_patch import ConditionDraft, describe_refusal
from webhook.kube.meta import Draft, ObjectKey
from webhook.placement import hosted_shoots
from webhook.runtime.actions import Action, Delete, Patch, Plan, RemoteWrite, WriteRefusal
from webhook.state.live_reads import Unreachable
from webhook.state.snapshot import Snapshot

_KIND: Final = kind_of_model(ManagedSeed)
_SEED: Final = kind_of_model(Seed)


class GardenletRemoval(NamedTuple):
    """The writes that delete a gardenlet, or why it cannot be deleted now."""

    writes: tuple[RemoteWrite, ...] = ()
    blocked: ConditionDraft | None = None


def plan(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    """Plan the next step of a deletion; there is none while the seed hosts shoots.

    Nothing is deleted while the gardenlet cannot be: it would register its Seed again.
    """
    if names.GARDENER_FINALIZER not in managed_seed.metadata.finalizers:
        return Plan()
    now = snapshot.taken_at
    seed = snapshot.get(Seed, ObjectKey("", managed_seed.name))
    removal = _remove_gardenlet(managed_seed, snapshot)
    if seed is not None and is_ours(seed, managed_seed):
        is_blocked = removal.blocked is not None and not seed.is_deleting
        if not is_blocked or hosted_shoots.count_with_pending(seed.name, snapshot):
            return Plan((*_remove_seed(managed_seed, seed, snapshot),))
    if removal.blocked is not None:
        return Plan((*_report(managed_seed, removal.blocked, snapshot),), WAIT_SECONDS)
    message = f"Seed {managed_seed.name} is gone, its gardenlet is being deleted from the Shoot"
    deleting = status.not_registered("GardenletDeleting", message)
    if removal.writes and (reported := tuple(_report(managed_seed, deleting, snapshot))):
        return Plan(reported)
    finalizers = [
        name for name in managed_seed.metadata.finalizers if name != names.GARDENER_FINALIZER
    ]
    change = {"metadata": {"finalizers": finalizers}}
    version = managed_seed.resource_version
    last = Patch(_KIND, managed_seed.key, change, managed_seed.uid, version)
    return Plan(
        (*removal.writes, *_remove_secrets(managed_seed, snapshot), last),
        refused=partial(_on_refusal, managed_seed, _status(managed_seed, snapshot), now),
    )


def is_ours(seed: Seed, managed_seed: ManagedSeed) -> bool:
    """Return whether a Seed belongs to a ManagedSeed; older gardenlets do not annotate it."""
    owner = seed.metadata.annotations.get(names.MANAGED_SEED)
    if owner is None:
        return managed_seed.spec.seed_template is None
    return owner == str(managed_seed.key)


def release_seed(seed: Seed, snapshot: Snapshot) -> Iterator[Action]:
    """Remove our finalizer from a Seed in deletion once it hosts no shoots."""
    if not hosted_shoots.count_with_pending(seed.name, snapshot):
        yield from _remove_finalizer(seed)


def hand_over(managed_seed: ManagedSeed, snapshot: Snapshot) -> Iterator[Action]:
    """Remove our finalizer from a Seed that a gardenlet reconciles: it would not remove it."""
    seed = snapshot.get(Seed, ObjectKey("", managed_seed.name))
    if seed is not None and is_ours(seed, managed_seed):
        yield from _remove_finalizer(seed)


def _remove_finalizer(seed: Seed) -> Iterator[Action]:
    if names.FINALIZER in seed.metadata.finalizers:
        rest = [name for name in seed.metadata.finalizers if name != names.FINALIZER]
        change = {"metadata": {"finalizers": rest}}
        yield Patch(_SEED, seed.key, change, seed.uid, seed.resource_version)


def _remove_seed(managed_seed: ManagedSeed, seed: Seed, snapshot: Snapshot) -> Iterator[Action]:
    count = hosted_shoots.count_with_pending(seed.name, snapshot)
    if count:
        message = f"Seed {seed.name} is used by {count} shoots: move or delete them first"
        registered = status.not_registered("SeedInUse", message)
    else:
        registered = status.not_registered("Deleting", f"Seed {seed.name} is being deleted")
        if seed.is_deleting:
            yield from release_seed(seed, snapshot)
        else:
            yield Delete(_SEED, seed.key, seed.uid, seed.resource_version)
    drafts = (registered, status.of_seed(managed_seed, seed))
    old = _status(managed_seed, snapshot)
    yield from status.write(managed_seed, old, drafts, snapshot.taken_at)


def _report(
    managed_seed: ManagedSeed, registered: ConditionDraft, snapshot: Snapshot
) -> Iterator[Action]:
    old = _status(managed_seed, snapshot)
    yield from status.write(managed_seed, old, (registered,), snapshot.taken_at)


def _status(managed_seed: ManagedSeed, snapshot: Snapshot) -> Draft:
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    return raw.get("status") or {}


def _on_refusal(
    managed_seed: ManagedSeed, old: Draft, now: datetime, refusal: WriteRefusal
) -> Iterator[Action]:
    """Report which write was refused and why."""
    what = f"{refusal.action.kind.name} {refusal.action.key}"
    refused = _blocked("Refused", managed_seed, f"{what}: {describe_refusal(refusal)}")
    yield from status.write(managed_seed, old, (refused,), now, any_version=True)


def _remove_gardenlet(managed_seed: ManagedSeed, snapshot: Snapshot) -> GardenletRemoval:
    """Delete the gardenlet from the Shoot, unless the Shoot is gone or being deleted."""
    reference, wanted = managed_seed.spec.shoot, managed_seed.spec.gardenlet
    annotations = managed_seed.metadata.annotations
    if reference is None or wanted is None or names.GARDENLET_APPLIED not in annotations:
        return GardenletRemoval()
    shoot = snapshot.get(Shoot, ObjectKey(managed_seed.namespace, reference.name))
    is_abandoned = annotations.get(names.ABANDON_GARDENLET) == "true"
    if is_abandoned or shoot is None or shoot.is_deleting:
        return GardenletRemoval()
    key = secrets.kubeconfig_key(managed_seed, shoot)
    kubeconfig = secrets.read_kubeconfig(snapshot.look_up(Secret, key))
    if kubeconfig is None:
        reason = f"Secret {key} with the kubeconfig of the Shoot does not exist or is not readable"
        return GardenletRemoval(blocked=_blocked("KubeconfigMissing", managed_seed, reason))
    kind = shoot_kinds.PRIORITY_CLASS
    priority_class = snapshot.look_up_remote(kubeconfig, kind, gardenlet.PRIORITY_CLASS)
    if isinstance(priority_class, Unreachable):
        reason = f"the cluster of Shoot {shoot.key} cannot be reached: {priority_class.reason}"
        return GardenletRemoval(blocked=_blocked("ShootUnreachable", managed_seed, reason))
    account = wanted.deployment.service_account_name if wanted.deployment is not None else None
    writes = gardenlet.removals(
        kubeconfig,
        {"serviceAccountName": account},
        priority_class=priority_class is not None and gardenlet.is_ours(priority_class),
    )
    return GardenletRemoval(tuple(writes))


def _blocked(reason: str, managed_seed: ManagedSeed, why: str) -> ConditionDraft:
    message = (
        f"the gardenlet of Seed {managed_seed.name} cannot be deleted and would register the Seed"
        f" again: {why}; restore the access, or leave the gardenlet behind: annotate the"
        f" ManagedSeed with {names.ABANDON_GARDENLET}=true"
    )
    return status.not_registered(reason, message)


def _remove_secrets(managed_seed: ManagedSeed, snapshot: Snapshot) -> Iterator[Action]:
    """Delete all credentials: the copies that the Seed used, and those of the bootstrap."""
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
