"""What a gardenlet would do to its Seed, played: a lease, a report, and a farewell.

It writes only what it plays, and nothing over what somebody else wrote.
"""

from datetime import timedelta
from typing import Final

from webhook import __version__
from webhook.api import names
from webhook.api.core import Lease
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.api.seeds import Seed
from webhook.api.timestamps import format_micro_time
from webhook.cli.dev import playing
from webhook.cli.dev.authorship import Authors
from webhook.cli.dev.playing import DARK, MARK, Reports, add
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
GARDENLETS_OWN: Final = (names.GARDENLET_READY, names.SEED_SYSTEM_COMPONENTS_HEALTHY)
"""What gardenlets themselves report; the rest a real Gardener's controllers write."""

_SEED: Final = kind_of_model(Seed)
_LEASE: Final = kind_of_model(Lease)


def plan_seed(seed: Seed, snapshot: Snapshot) -> Plan:
    """Renew the seed's lease and report that it is ready, or fall silent when it is dark."""
    if seed.is_deleting:
        return _plan_farewell(seed, snapshot)
    dark = playing.simulated(seed) == DARK
    actions: list[Action] = [] if dark else _renew(seed, snapshot)
    steps = _report(seed, snapshot, dark=dark)
    if steps:
        version = seed.resource_version
        actions.append(Patch(_SEED, seed.key, steps, seed.uid, version, subresource="status"))
    return Plan(tuple(actions), RENEW_SECONDS)


def _report(seed: Seed, snapshot: Snapshot, *, dark: bool) -> list[Draft]:
    raw: Raw = snapshot.raw(Seed, seed.key) or {}
    authors = Authors(raw)
    beside = snapshot.options.beside_gardener
    steps = Reports(raw, authors).set(
        GARDENLETS_OWN if beside else SEED_CONDITIONS,
        "Unknown" if dark else "True",
        snapshot.taken_at,
        # A real Gardener takes a silent gardenlet for lost and says so itself: whoever is back
        # says that, too.
        insists=beside and not dark,
    )
    if not dark:
        steps += _introduce(seed, authors, snapshot)
    if steps and not raw.get("status"):
        return [add("/status", {}), *steps]
    return steps


def _introduce(seed: Seed, authors: Authors, snapshot: Snapshot) -> list[Draft]:
    """Say what a gardenlet says of itself and of what it has seen."""
    said: Draft = {}
    if seed.status.observed_generation != seed.metadata.generation:
        said["observedGeneration"] = seed.metadata.generation
    if seed.status.last_operation is None:
        operation = playing.operation("Reconcile", "Succeeded", snapshot.taken_at)
        said["lastOperation"] = operation | {"description": MARK}
        said["kubernetesVersion"] = KUBERNETES_VERSION
        said["gardener"] = {"id": seed.uid, "name": "local-provider", "version": __version__}
    return [
        add(f"/status/{field}", value)
        for field, value in said.items()
        if authors.may_write("status", field)
    ]


def _plan_farewell(seed: Seed, snapshot: Snapshot) -> Plan:
    """Let a deleted seed go once no shoot needs it any more."""
    finalizers = [name for name in seed.metadata.finalizers if name != names.GARDENER_FINALIZER]
    if len(finalizers) == len(seed.metadata.finalizers):
        return NOTHING
    if snapshot.by_index(SHOOTS_BY_SEED, seed.name):
        return Plan(requeue_after=RENEW_SECONDS)
    change = {"metadata": {"finalizers": finalizers}}
    return Plan((Patch(_SEED, seed.key, change, seed.uid, seed.resource_version),))


def _renew(seed: Seed, snapshot: Snapshot) -> list[Action]:
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
    if playing.age(lease.spec.renew_time or "", snapshot.taken_at) < timedelta(
        seconds=RENEW_SECONDS
    ):
        return []
    return [Patch(_LEASE, key, {"spec": {"renewTime": stamp}}, lease.uid)]
