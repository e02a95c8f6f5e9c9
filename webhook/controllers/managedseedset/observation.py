"""What the plan for a set reads: its replicas, revisions and settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset import revisions
from webhook.controllers.managedseedset.revisions import Revisions
from webhook.domain.options import SeedsOptions
from webhook.domain.seeds import shoot_counts
from webhook.domain.sets import ordinals, replicas, rollout
from webhook.domain.sets.replicas import Claim, Replica, ReplicaObject
from webhook.domain.sets.rollout import RolloutSettings
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.placement import hosted_shoots
from webhook.state.indexes import NUMBERED_MANAGED_SEEDS, NUMBERED_SHOOTS, Index
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_HEALTH

DEFAULT_REPLICAS: Final = 1


@dataclass(frozen=True)
class Observation:
    """A set as it is now. It holds plain values, so it may outlive the snapshot."""

    owner: ManagedSeedSet
    raw: Draft
    now: datetime
    options: SeedsOptions
    settings: RolloutSettings
    claim: Claim
    replicas: tuple[Replica, ...]
    revisions: Revisions
    next_ordinal: int
    seeds: Mapping[str, Seed]
    """The seeds of replicas and of objects that are to be released, by name."""

    @property
    def target(self) -> int:
        """The desired number of replicas."""
        if self.owner.is_deleting:
            return 0
        wanted = self.owner.spec.replicas
        return DEFAULT_REPLICAS if wanted is None else max(0, wanted)

    @cached_property
    def active(self) -> tuple[Replica, ...]:
        return tuple(replica for replica in self.replicas if replica.is_active)

    @cached_property
    def in_flight(self) -> tuple[Replica, ...]:
        return tuple(replica for replica in self.replicas if replica.is_in_flight)

    def wanted_revision(self, ordinal: int) -> str:
        """Return the revision that a replica with this ordinal is created from."""
        known = self.revisions
        return rollout.wanted_revision(ordinal, self.settings, known.current, known.update)


def observe(owner: ManagedSeedSet, snapshot: Snapshot) -> Observation:
    """Collect what the plan reads; the cost is linear in the number of replicas."""
    raw = snapshot.raw(ManagedSeedSet, owner.key) or {}
    series = str(owner.key)
    shoots = _gather(Shoot, NUMBERED_SHOOTS, series, owner, snapshot)
    managed_seeds = _gather(ManagedSeed, NUMBERED_MANAGED_SEEDS, series, owner, snapshot)
    claim = replicas.claim(owner, shoots.values(), managed_seeds.values())
    complete = tuple(_complete(replica, snapshot) for replica in claim.replicas)
    known = snapshot.children(ControllerRevision, owner)

    def is_taken(name: str) -> bool:
        return snapshot.get(ControllerRevision, ObjectKey(owner.namespace, name)) is not None

    return Observation(
        owner=owner,
        raw=raw,
        now=snapshot.taken_at,
        options=snapshot.options.seeds,
        settings=rollout.settings_of(owner),
        claim=claim,
        replicas=complete,
        revisions=revisions.resolve(owner, rollout.revision_data(raw), known, is_taken, complete),
        next_ordinal=_next_ordinal(owner, claim.highest, snapshot),
        seeds=_seeds((*claim.replicas, *claim.release), snapshot),
    )


def _seeds(members: Iterable[Replica | ReplicaObject], snapshot: Snapshot) -> Mapping[str, Seed]:
    found = (snapshot.get(Seed, ObjectKey("", each.name)) for each in members)
    return {seed.name: seed for seed in found if seed is not None}


def _gather(
    model: type[Any], index: Index[Any], series: str, owner: Object, snapshot: Snapshot
) -> Mapping[str, Any]:
    """Return the objects that are named like a replica or owned by the set, by name."""
    named = {obj.name: obj for obj in snapshot.by_index(index, series)}
    owned = snapshot.children(model, owner)
    return {**named, **{obj.name: obj for obj in owned if obj.namespace == owner.namespace}}


def _complete(replica: Replica, snapshot: Snapshot) -> Replica:
    """Add a replica's seed, the health of its shoots and their number."""
    name = replica.name
    users = hosted_shoots.count_with_pending if replica.is_scaling_in else hosted_shoots.count
    return replace(
        replica,
        seed=snapshot.get(Seed, ObjectKey("", name)),
        hosted=shoot_counts.from_totals(snapshot.total(SEED_HEALTH, name)),
        users=users(name, snapshot),
    )


def _next_ordinal(owner: ManagedSeedSet, highest: int, snapshot: Snapshot) -> int:
    """Return the ordinal of the next replica, never one that was used before."""
    noted = owner.metadata.annotations.get(names.NEXT_REPLICA_NUMBER, "")
    by_annotation = int(noted) if noted.isascii() and noted.isdigit() else 0
    ordinal = max(owner.status.next_replica_number, by_annotation, highest + 1)
    # Seeds have no namespace: a seed of that name may belong to another set.
    while snapshot.get(Seed, ObjectKey("", ordinals.name_of(owner.name, ordinal))) is not None:
        ordinal += 1
    return ordinal
