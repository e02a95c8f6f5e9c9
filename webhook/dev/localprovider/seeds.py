"""Simulates what a gardenlet does to its Seed: lease, conditions, status and finalizer.

Fields and conditions of other field managers are never overwritten.
"""

from datetime import timedelta
from typing import Final

from webhook import __version__
from webhook.api import names
from webhook.api.core import Lease
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.dev.localprovider import simulation
from webhook.dev.localprovider.finalizers import remove_finalizer
from webhook.dev.localprovider.managedfields import FieldOwners
from webhook.dev.localprovider.simulation import DARK, MARK, SimulatedConditions, add
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.kube.timestamps import format_micro_time
from webhook.runtime.actions import NOTHING, Action, Create, Patch, Plan
from webhook.state.indexes import SHOOTS_BY_SEED
from webhook.state.snapshot import Snapshot

KUBERNETES_VERSION: Final = "1.36.1"
LEASE_SECONDS: Final = 40
RENEW_SECONDS: Final = 10

SEED_CONDITIONS: Final = (
    names.GARDENLET_READY,
    names.SEED_SYSTEM_COMPONENTS_HEALTHY,
    names.BACKUP_BUCKETS_READY,
    names.EXTENSIONS_READY,
)
GARDENLET_CONDITIONS: Final = (names.GARDENLET_READY, names.SEED_SYSTEM_COMPONENTS_HEALTHY)
"""Those of SEED_CONDITIONS that gardenlets set; Gardener's own controllers set the others."""

_SEED: Final = kind_of_model(Seed)
_LEASE: Final = kind_of_model(Lease)


def plan_seed(seed: Seed, snapshot: Snapshot) -> Plan:
    """Renew the lease of a seed and report it as ready; do neither for a dark one."""
    if seed.is_deleting:
        return _plan_deletion(seed, snapshot)
    dark = simulation.simulated(seed) == DARK
    actions: list[Action] = [] if dark else _renew_lease(seed, snapshot)
    patch = _status_patch(seed, snapshot, dark=dark)
    if patch:
        version = seed.resource_version
        actions.append(Patch(_SEED, seed.key, patch, seed.uid, version, subresource="status"))
    return Plan(tuple(actions), RENEW_SECONDS)


def _status_patch(seed: Seed, snapshot: Snapshot, *, dark: bool) -> list[Draft]:
    raw: Raw = snapshot.raw(Seed, seed.key) or {}
    owners = FieldOwners(raw)
    beside_gardener = snapshot.options.beside_gardener
    patch = SimulatedConditions(raw, owners).set(
        GARDENLET_CONDITIONS if beside_gardener else SEED_CONDITIONS,
        "Unknown" if dark else "True",
        snapshot.taken_at,
        # Gardener sets the conditions of a silent gardenlet to Unknown; its return resets them.
        overwrite=beside_gardener and not dark,
    )
    if not dark:
        patch += _status_fields(seed, owners, snapshot)
    if patch and not raw.get("status"):
        return [add("/status", {}), *patch]
    return patch


def _status_fields(seed: Seed, owners: FieldOwners, snapshot: Snapshot) -> list[Draft]:
    """Return the patch of the status fields that a gardenlet writes beside conditions."""
    fields: Draft = {}
    if seed.status.observed_generation != seed.metadata.generation:
        fields["observedGeneration"] = seed.metadata.generation
    if seed.status.last_operation is None:
        operation = simulation.operation("Reconcile", "Succeeded", snapshot.taken_at)
        fields["lastOperation"] = operation | {"description": MARK}
        fields["kubernetesVersion"] = KUBERNETES_VERSION
        fields["gardener"] = {"id": seed.uid, "name": "local-provider", "version": __version__}
    return [
        add(f"/status/{field}", value)
        for field, value in fields.items()
        if owners.may_write("status", field)
    ]


def _plan_deletion(seed: Seed, snapshot: Snapshot) -> Plan:
    """Remove the finalizer of a deleted seed once it has no shoots."""
    if names.GARDENER_FINALIZER not in seed.metadata.finalizers:
        return NOTHING
    if snapshot.by_index(SHOOTS_BY_SEED, seed.name):
        return Plan(requeue_after=RENEW_SECONDS)
    return Plan((remove_finalizer(_SEED, seed, names.GARDENER_FINALIZER),))


def _renew_lease(seed: Seed, snapshot: Snapshot) -> list[Action]:
    key = ObjectKey(names.SEED_LEASE_NAMESPACE, seed.name)
    stamp = format_micro_time(snapshot.taken_at)
    lease = snapshot.get(Lease, key)
    if lease is None:
        spec = {
            "holderIdentity": seed.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": stamp,
            "renewTime": stamp,
        }
        owner = {
            "apiVersion": _SEED.api_version,
            "kind": _SEED.name,
            "name": seed.name,
            "uid": seed.uid,
        }
        metadata = {"name": key.name, "namespace": key.namespace, "ownerReferences": [owner]}
        return [Create(_LEASE, {"metadata": metadata, "spec": spec})]
    age = simulation.age(lease.spec.renew_time or "", snapshot.taken_at)
    if age < timedelta(seconds=RENEW_SECONDS):
        return []
    return [Patch(_LEASE, key, {"spec": {"renewTime": stamp}}, lease.uid)]
