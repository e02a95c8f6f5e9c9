"""What one pass over a set looks at: its replicas, its revisions, its wishes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers import guests
from webhook.controllers.managedseedset import revisions
from webhook.controllers.managedseedset.revisions import Revisions
from webhook.domain import health, ordinals, replicas, rollout
from webhook.domain.options import SeedsOptions
from webhook.domain.replicas import Claim, Replica
from webhook.domain.rollout import Settings
from webhook.state.indexes import NUMBERED_MANAGED_SEEDS, NUMBERED_SHOOTS, Index
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_HEALTH

DEFAULT_REPLICAS = 1


@dataclass(frozen=True)
class Observation:
    """A set as it is now; plain values, so that it outlives the snapshot."""

    owner: ManagedSeedSet
    raw: Draft
    now: datetime
    options: SeedsOptions
    settings: Settings
    claim: Claim
    replicas: tuple[Replica, ...]
    revisions: Revisions
    next_ordinal: int

    @property
    def target(self) -> int:
        """How many replicas are wanted."""
        if self.owner.is_deleting:
            return 0
        wanted = self.owner.spec.replicas
        return DEFAULT_REPLICAS if wanted is None else max(0, wanted)

    @cached_property
    def living(self) -> tuple[Replica, ...]:
        return tuple(replica for replica in self.replicas if replica.is_living)

    @cached_property
    def in_flight(self) -> tuple[Replica, ...]:
        return tuple(replica for replica in self.replicas if replica.is_in_flight)

    def wanted_revision(self, ordinal: int) -> str:
        """Name the revision that a replica with this ordinal is made from."""
        known = self.revisions
        return rollout.wanted_revision(ordinal, self.settings, known.current, known.update)


def observe(owner: ManagedSeedSet, snapshot: Snapshot) -> Observation:
    """Gather all that a pass needs; costs as much as the set has replicas."""
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
        revisions=revisions.judge(owner, rollout.data_of(raw), known, is_taken, complete),
        next_ordinal=_next_ordinal(owner, claim.highest, snapshot),
    )


def _gather(
    model: type[Any], index: Index[Any], series: str, owner: Object, snapshot: Snapshot
) -> Mapping[str, Any]:
    """Find what is named like a replica and what says that the set owns it."""
    named = {obj.name: obj for obj in snapshot.by_index(index, series)}
    owned = snapshot.children(model, owner)
    return {**named, **{obj.name: obj for obj in owned if obj.namespace == owner.namespace}}


def _complete(replica: Replica, snapshot: Snapshot) -> Replica:
    """Add what is known of a replica's seed: itself, its shoots, those on their way to it."""
    name = replica.name
    users = guests.count_all if replica.is_leaving else guests.count
    return replace(
        replica,
        seed=snapshot.get(Seed, ObjectKey("", name)),
        hosted=health.hosted(snapshot.total(SEED_HEALTH, name)),
        users=users(name, snapshot),
    )


def _next_ordinal(owner: ManagedSeedSet, highest: int, snapshot: Snapshot) -> int:
    """Find the ordinal of the next replica: never one that was used, whatever was lost."""
    noted = owner.metadata.annotations.get(names.NEXT_REPLICA_NUMBER, "")
    by_annotation = int(noted) if noted.isascii() and noted.isdigit() else 0
    ordinal = max(owner.status.next_replica_number, by_annotation, highest + 1)
    # Seeds have no namespace: one of that name may belong to somebody else.
    while snapshot.get(Seed, ObjectKey("", ordinals.name_of(owner.name, ordinal))) is not None:
        ordinal += 1
    return ordinal
