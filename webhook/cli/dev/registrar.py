"""The gardenlet that turns Shoots into seeds beside a real Gardener, played.

A real one brings a gardenlet into the Shoot's cluster, which registers the Seed. Nobody has such
a cluster on a laptop, so the Seed is registered right away.
"""

from collections.abc import Iterable
from typing import Any, Final

from webhook.api import conditions, names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, ObjectKey
from webhook.api.patches import merge_diff
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cli.dev.playing import MARK
from webhook.domain import health
from webhook.runtime.actions import NOTHING, Action, Apply, Delete, Patch, Plan
from webhook.state.snapshot import Snapshot

_LOOK_AGAIN: Final = 1.0
_MANAGER: Final = "gardenlet"
_SEED: Final = kind_of_model(Seed)
_MANAGED_SEED: Final = kind_of_model(ManagedSeed)


def plan_managed_seed(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    """Register the Seed once the Shoot is reconciled, and take it away with the ManagedSeed."""
    if managed_seed.is_deleting:
        return _plan_farewell(managed_seed, snapshot)
    if names.GARDENER_FINALIZER not in managed_seed.metadata.finalizers:
        finalizers = [*managed_seed.metadata.finalizers, names.GARDENER_FINALIZER]
        return Plan((_patch(managed_seed, finalizers),), 0)
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    reference = managed_seed.spec.shoot
    key = ObjectKey(managed_seed.namespace, reference.name if reference is not None else "")
    shoot = snapshot.get(Shoot, key)
    if shoot is None or not health.is_reconciled(shoot):
        told = _status(raw, managed_seed, snapshot, reconciled=False)
        return Plan(tuple(told), _LOOK_AGAIN)
    registered = [*_register(managed_seed, raw, snapshot)]
    return Plan(
        (*registered, *_status(raw, managed_seed, snapshot, reconciled=True)),
        _LOOK_AGAIN if registered else None,
    )


def _register(managed_seed: ManagedSeed, raw: Draft, snapshot: Snapshot) -> Iterable[Action]:
    config = ((raw.get("spec") or {}).get("gardenlet") or {}).get("config") or {}
    template = config.get("seedConfig") or {}
    key = ObjectKey("", managed_seed.name)
    seed = snapshot.get(Seed, key)
    generation = str(managed_seed.metadata.generation)
    given = template.get("metadata") or {}
    if seed is None or seed.metadata.annotations.get(names.GARDENLET_APPLIED) != generation:
        metadata = {
            "name": key.name,
            "labels": {**(given.get("labels") or {}), names.ROLE: names.ROLE_SEED},
            "annotations": {
                **(given.get("annotations") or {}),
                names.GARDENLET_APPLIED: generation,
            },
        }
        body = {"apiVersion": _SEED.api_version, "kind": _SEED.name, "metadata": metadata}
        yield Apply(_SEED, key, {**body, "spec": template.get("spec") or {}}, manager=_MANAGER)
        return
    resources = config.get("resources") or {}
    capacity: dict[str, Any] = resources.get("capacity") or {}
    if capacity and not seed.status.capacity:
        change = {"status": {"capacity": capacity, "allocatable": dict(capacity)}}
        yield Patch(_SEED, key, change, seed.uid, subresource="status")


def _plan_farewell(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    seed = snapshot.get(Seed, ObjectKey("", managed_seed.name))
    if seed is not None:
        gone = () if seed.is_deleting else (Delete(_SEED, seed.key, seed.uid),)
        return Plan(gone, _LOOK_AGAIN)
    kept = [name for name in managed_seed.metadata.finalizers if name != names.GARDENER_FINALIZER]
    if len(kept) == len(managed_seed.metadata.finalizers):
        return NOTHING
    return Plan((_patch(managed_seed, kept),))


def _status(
    raw: Draft, managed_seed: ManagedSeed, snapshot: Snapshot, *, reconciled: bool
) -> Iterable[Action]:
    old: Draft = raw.get("status") or {}
    told: list[Draft] = [dict(each) for each in old.get("conditions") or ()]
    status, reason = ("True", "Reconciled") if reconciled else ("False", "Reconciling")
    types = (names.SHOOT_RECONCILED, names.SEED_REGISTERED) if reconciled else ()
    for name in types or (names.SHOOT_RECONCILED,):
        conditions.set(told, name, status, reason=reason, message=MARK, now=snapshot.taken_at)
    new = {
        **old,
        "conditions": told,
        "observedGeneration": managed_seed.metadata.generation,
    }
    if change := merge_diff(old, new):
        key = managed_seed.key
        body = {"status": change}
        yield Patch(_MANAGED_SEED, key, body, managed_seed.uid, subresource="status")


def _patch(managed_seed: ManagedSeed, finalizers: list[str]) -> Patch:
    change = {"metadata": {"finalizers": finalizers}}
    version = managed_seed.resource_version
    return Patch(_MANAGED_SEED, managed_seed.key, change, managed_seed.uid, version)
