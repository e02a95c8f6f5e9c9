"""seed.status, managedseed.status, managedseedset.status: status updates are consistent."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet, PendingReplica
from webhook.api.seeds import Seed
from webhook.domain.sets import ordinals
from webhook.state.snapshot import Snapshot

_COUNTS: Final = (
    ("observed_generation", "observedGeneration"),
    ("replicas", "replicas"),
    ("ready_replicas", "readyReplicas"),
    ("current_replicas", "currentReplicas"),
    ("updated_replicas", "updatedReplicas"),
    ("next_replica_number", "nextReplicaNumber"),
)
_REASONS: Final = (
    "ShootReconciling",
    "ShootDeleting",
    "ShootReconcileFailed",
    "ShootDeleteFailed",
    "ManagedSeedPreparing",
    "ManagedSeedDeleting",
    "SeedNotReady",
    "ShootNotHealthy",
)
"""The reasons why a replica may be pending."""
_SOME_OF_REPLICAS: Final = ("readyReplicas", "currentReplicas", "updatedReplicas")


def validate_seed(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    """Reject a change of the cluster identity: names of control planes derive from it."""
    new, old = request.object_as(Seed).status, request.old_as(Seed)
    if old is not None and old.status.cluster_identity not in ("", new.cluster_identity):
        yield Finding.immutable("status.clusterIdentity", new.cluster_identity)


def validate_managed_seed(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    """Reject a negative generation."""
    generation = request.object_as(ManagedSeed).status.observed_generation
    yield from _not_negative("status.observedGeneration", generation)


def validate_managed_seed_set(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    """Reject impossible counts, and numbers that decrease and would be used twice."""
    new, old = request.object_as(ManagedSeedSet).status, request.old_as(ManagedSeedSet)
    for attribute, name in _COUNTS:
        count = getattr(new, attribute)
        yield from _not_negative(f"status.{name}", count)
        if name in _SOME_OF_REPLICAS and count > new.replicas:
            yield Finding.invalid(f"status.{name}", count, "may not exceed status.replicas")
    if new.collision_count is not None:
        yield from _not_negative("status.collisionCount", new.collision_count)
    if new.pending_replica is not None:
        yield from _pending(new.pending_replica, request.key.name)
    if old is not None:
        before = old.status
        yield from _not_lower(
            "nextReplicaNumber", before.next_replica_number, new.next_replica_number
        )
        yield from _not_lower("collisionCount", before.collision_count, new.collision_count)


def _not_negative(field: str, value: int) -> Iterator[Finding]:
    if value < 0:
        yield Finding.invalid(field, value, "must be at least 0")


def _not_lower(name: str, before: int | None, after: int | None) -> Iterator[Finding]:
    if before is not None and (after is None or after < before):
        yield Finding.invalid(f"status.{name}", after or 0, f"must not decrease, it was {before}")


def _pending(replica: PendingReplica, name: str) -> Iterator[Finding]:
    field = "status.pendingReplica"
    if ordinals.ordinal_of(name, replica.name) is None:
        yield Finding.invalid(f"{field}.name", replica.name, f"must be {name}- and a number")
    if replica.reason not in _REASONS:
        yield Finding.not_supported(f"{field}.reason", replica.reason, _REASONS)
    if replica.retries is not None:
        yield from _not_negative(f"{field}.retries", replica.retries)
