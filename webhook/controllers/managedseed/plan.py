"""plan(): the next writes for a ManagedSeed."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final

from webhook.api import names
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import (
    deletion,
    deployer,
    registration,
    secrets,
    seed_manifest,
    status,
)
from webhook.controllers.managedseed.registration import Registration
from webhook.controllers.status_patch import ConditionDraft, describe_refusal
from webhook.kube import conditions
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.actions import Action, Emit, Patch, Plan, WriteRefusal
from webhook.state.snapshot import Snapshot

_KIND: Final = kind_of_model(ManagedSeed)


def plan(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    """Plan the next writes: register the Shoot as a Seed, keep it registered, or delete it."""
    if not snapshot.options.reconciles_managed_seeds:
        return Plan(tuple(deletion.hand_over(managed_seed, snapshot)))
    if managed_seed.is_deleting:
        return deletion.plan(managed_seed, snapshot)
    if names.GARDENER_FINALIZER not in managed_seed.metadata.finalizers:
        finalizers = [*managed_seed.metadata.finalizers, names.GARDENER_FINALIZER]
        change = {"metadata": {"finalizers": finalizers}}
        version = managed_seed.resource_version
        return Plan((Patch(_KIND, managed_seed.key, change, managed_seed.uid, version),))
    return _plan_registration(managed_seed, snapshot)


def _plan_registration(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    shoot = _shoot_of(managed_seed, snapshot)
    seed = snapshot.get(Seed, ObjectKey("", managed_seed.name))
    reconciled = status.of_shoot(managed_seed, shoot)
    if shoot is None or reconciled.status != conditions.TRUE:
        result = Registration(registration.unchanged(managed_seed, seed, reconciled.message))
    elif managed_seed.spec.seed_template is not None:
        result = _register(managed_seed, raw, shoot, seed, snapshot)
    else:
        result = deployer.deploy(managed_seed, raw, shoot, seed, snapshot)
    drafts = (reconciled, result.condition, status.of_seed(managed_seed, seed))
    old: Draft = raw.get("status") or {}
    now = snapshot.taken_at
    if result.actions:
        return Plan(
            result.actions,
            result.requeue_after,
            partial(_on_refusal, managed_seed, old, drafts, now),
        )
    writes = status.write(managed_seed, old, drafts, now, observed=result.observed)
    return Plan(tuple(writes), result.requeue_after)


def _shoot_of(managed_seed: ManagedSeed, snapshot: Snapshot) -> Shoot | None:
    reference = managed_seed.spec.shoot
    if reference is None or not reference.name:
        return None
    return snapshot.get(Shoot, ObjectKey(managed_seed.namespace, reference.name))


def _register(
    managed_seed: ManagedSeed, raw: Draft, shoot: Shoot, seed: Seed | None, snapshot: Snapshot
) -> Registration:
    """Create the Seed of a template and keep it up to date."""
    if seed is not None and not deletion.is_ours(seed, managed_seed):
        message = (
            f"Seed {seed.name} exists and is not this ManagedSeed's: to hand it over annotate it"
            f" with {names.MANAGED_SEED}={managed_seed.key}"
        )
        return Registration(status.not_registered("SeedConflict", message))
    if seed is not None and seed.is_deleting:
        condition = status.not_registered("SeedDeleting", f"Seed {seed.name} is being deleted")
        return Registration(condition, tuple(deletion.release_seed(seed, snapshot)))
    template = seed_manifest.template_of(raw)
    write = seed_manifest.apply(
        managed_seed, seed_manifest.complete(template, managed_seed, shoot), seed
    )
    existing = snapshot.raw(Seed, ObjectKey("", managed_seed.name))
    actions: list[Action] = [*registration.copy_secrets(managed_seed, shoot, snapshot)]
    if existing is None or not seed_manifest.is_current(existing, write):
        actions.append(write)
        if seed is None:
            message = f"registering Seed {managed_seed.name}"
            actions.append(Emit(_KIND, managed_seed, "RegisteringSeed", message))
        condition = status.not_registered("Registering", message="the Seed is being written")
        return Registration(condition, tuple(actions))
    note = _missing_kubeconfig(managed_seed, shoot, snapshot)
    condition = status.registered(managed_seed, note)
    again = registration.WAIT_SECONDS if note else registration.SYNC_SECONDS
    return Registration(condition, tuple(actions), observed=True, requeue_after=again)


def _missing_kubeconfig(managed_seed: ManagedSeed, shoot: Shoot, snapshot: Snapshot) -> str:
    # The Seed is registered without it: Gardener no longer issues static kubeconfigs.
    template = managed_seed.spec.seed_template
    if template is None or template.spec.secret_ref is None:
        return ""
    key = secrets.kubeconfig_key(managed_seed, shoot)
    if snapshot.look_up(Secret, key) is not None:
        return ""
    return f", without a kubeconfig: Secret {key} does not exist yet"


def _on_refusal(
    managed_seed: ManagedSeed,
    old: Draft,
    drafts: tuple[ConditionDraft, ...],
    now: datetime,
    refusal: WriteRefusal,
) -> Iterator[Action]:
    """Report which write was refused and why."""
    what = f"{refusal.action.kind.name} {refusal.action.key}"
    message = f"{what} was refused: {describe_refusal(refusal)}"
    refused = status.not_registered("Refused", message)
    kept = tuple(each for each in drafts if each.type != refused.type)
    yield from status.write(managed_seed, old, (*kept, refused), now, any_version=True)
    yield Emit(_KIND, managed_seed, "Refused", message, "Warning")
