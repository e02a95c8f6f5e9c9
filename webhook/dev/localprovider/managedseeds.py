"""Simulates the gardenlet that registers the Seeds of ManagedSeeds, beside a real Gardener.

A real gardenlet deploys another one into the shoot's cluster, which registers the Seed. There is no
such cluster on a laptop, so the Seed is registered directly.
"""

from collections.abc import Iterable
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.dev.localprovider.finalizers import add_finalizer, remove_finalizer
from webhook.dev.localprovider.simulation import MARK
from webhook.domain.shoots import health
from webhook.kube import conditions
from webhook.kube.meta import Draft, ObjectKey
from webhook.kube.patches import merge_diff
from webhook.runtime.actions import NOTHING, Action, Apply, Delete, Patch, Plan
from webhook.state.snapshot import Snapshot

_REQUEUE_SECONDS: Final = 1.0
_MANAGER: Final = "gardenlet"
_SEED: Final = kind_of_model(Seed)
_MANAGED_SEED: Final = kind_of_model(ManagedSeed)


def plan_managed_seed(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    """Register the Seed once the Shoot is reconciled; delete it with the ManagedSeed."""
    if managed_seed.is_deleting:
        return _plan_deletion(managed_seed, snapshot)
    if names.GARDENER_FINALIZER not in managed_seed.metadata.finalizers:
        added = add_finalizer(_MANAGED_SEED, managed_seed, names.GARDENER_FINALIZER)
        return Plan((added,), 0)
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    reference = managed_seed.spec.shoot
    key = ObjectKey(managed_seed.namespace, reference.name if reference is not None else "")
    shoot = snapshot.get(Shoot, key)
    if shoot is None or not health.is_reconciled(shoot):
        status = _status(raw, managed_seed, snapshot, reconciled=False)
        return Plan(tuple(status), _REQUEUE_SECONDS)
    registered = [*_register(managed_seed, raw, snapshot)]
    return Plan(
        (*registered, *_status(raw, managed_seed, snapshot, reconciled=True)),
        _REQUEUE_SECONDS if registered else None,
    )


def _register(managed_seed: ManagedSeed, raw: Draft, snapshot: Snapshot) -> Iterable[Action]:
    config = ((raw.get("spec") or {}).get("gardenlet") or {}).get("config") or {}
    template = config.get("seedConfig") or {}
    key = ObjectKey("", managed_seed.name)
    seed = snapshot.get(Seed, key)
    generation = str(managed_seed.metadata.generation)
    template_metadata = template.get("metadata") or {}
    if seed is None or seed.metadata.annotations.get(names.GARDENLET_APPLIED) != generation:
        metadata = {
            "name": key.name,
            "labels": {**(template_metadata.get("labels") or {}), names.ROLE: names.ROLE_SEED},
            "annotations": {
                **(template_metadata.get("annotations") or {}),
                names.GARDENLET_APPLIED: generation,
            },
        }
        body = {"apiVersion": _SEED.api_version, "kind": _SEED.name, "metadata": metadata}
        yield Apply(_SEED, key, {**body, "spec": template.get("spec") or {}}, manager=_MANAGER)
        return
    resources = config.get("resources") or {}
    capacity: Draft = resources.get("capacity") or {}
    if capacity and not seed.status.capacity:
        change = {"status": {"capacity": capacity, "allocatable": dict(capacity)}}
        yield Patch(_SEED, key, change, seed.uid, subresource="status")


def _plan_deletion(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    seed = snapshot.get(Seed, ObjectKey("", managed_seed.name))
    if seed is not None:
        deleted = () if seed.is_deleting else (Delete(_SEED, seed.key, seed.uid),)
        return Plan(deleted, _REQUEUE_SECONDS)
    if names.GARDENER_FINALIZER not in managed_seed.metadata.finalizers:
        return NOTHING
    return Plan((remove_finalizer(_MANAGED_SEED, managed_seed, names.GARDENER_FINALIZER),))


def _status(
    raw: Draft, managed_seed: ManagedSeed, snapshot: Snapshot, *, reconciled: bool
) -> Iterable[Action]:
    old: Draft = raw.get("status") or {}
    updated: list[Draft] = [dict(each) for each in old.get("conditions") or ()]
    status, reason = ("True", "Reconciled") if reconciled else ("False", "Reconciling")
    types = (names.SHOOT_RECONCILED, names.SEED_REGISTERED) if reconciled else ()
    for name in types or (names.SHOOT_RECONCILED,):
        conditions.set(updated, name, status, reason=reason, message=MARK, now=snapshot.taken_at)
    new = {
        **old,
        "conditions": updated,
        "observedGeneration": managed_seed.metadata.generation,
    }
    if change := merge_diff(old, new):
        key = managed_seed.key
        body = {"status": change}
        yield Patch(_MANAGED_SEED, key, body, managed_seed.uid, subresource="status")
