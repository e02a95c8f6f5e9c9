"""The replicas of a ManagedSeedSet: the objects that belong to it, and the state of each."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.seeds import readiness
from webhook.domain.seeds.shoot_counts import NO_HOSTED_SHOOTS, HostedShoots
from webhook.domain.sets import ordinals
from webhook.domain.shoots import health
from webhook.kube import conditions
from webhook.kube.selectors import LabelSelector, from_struct

DEFAULT_PRIORITY: Final = 3
NEVER_READY: Final = "SeedNeverReady"
"""The reason of the condition SeedReady until the seed has been ready once."""

ReplicaObject: TypeAlias = Shoot | ManagedSeed
"""A replica consists of a Shoot and the ManagedSeed that registers it, with the same name."""


class Stage(IntEnum):
    """The state of a replica, from the least to the most advanced."""

    UNKNOWN = 0
    SHOOT_RECONCILE_FAILED = 1
    SHOOT_DELETE_FAILED = 2
    SHOOT_RECONCILING = 3
    SHOOT_DELETING = 4
    SHOOT_RECONCILED = 5
    MANAGED_SEED_PREPARING = 6
    MANAGED_SEED_DELETING = 7
    MANAGED_SEED_REGISTERED = 8


@dataclass(frozen=True)
class Replica:
    """One replica; either of its objects may be missing.

    Properties are cached, because one reconciliation of a set reads them many times.
    """

    name: str
    ordinal: int
    shoot: Shoot | None = None
    managed_seed: ManagedSeed | None = None
    seed: Seed | None = None
    hosted: HostedShoots = NO_HOSTED_SHOOTS
    users: int = 0
    """The shoots that use its seed, including those that are migrating or being deleted."""

    @cached_property
    def objects(self) -> tuple[ReplicaObject, ...]:
        pair = (self.shoot, self.managed_seed)
        return tuple(obj for obj in pair if obj is not None)

    @cached_property
    def stage(self) -> Stage:
        if self.managed_seed is not None:
            return _stage_of_managed_seed(self.managed_seed)
        return Stage.UNKNOWN if self.shoot is None else _stage_of_shoot(self.shoot)

    @cached_property
    def is_ready(self) -> bool:
        """Whether it is registered, its seed is ready and its Shoot is healthy."""
        return (
            self.stage is Stage.MANAGED_SEED_REGISTERED
            and self.is_seed_ready
            and self.shoot is not None
            and health.shoot_health(self.shoot) == "healthy"
        )

    @cached_property
    def is_seed_ready(self) -> bool:
        return self.seed is not None and readiness.is_seed_ready(self.seed)

    @property
    def is_stable(self) -> bool:
        """Whether it is ready and its Shoot is reconciled."""
        return self.is_ready and self.shoot is not None and health.is_reconciled(self.shoot)

    @cached_property
    def was_ready(self) -> bool:
        """Whether it has been ready before, so that it is no longer being created."""
        if self.managed_seed is None:
            return False
        ready = conditions.get(self.managed_seed.status.conditions, names.SEED_READY)
        return ready is not None and (
            ready.status == conditions.TRUE or ready.reason not in ("", NEVER_READY)
        )

    @cached_property
    def is_scaling_in(self) -> bool:
        """Whether it was chosen for scale-in."""
        return any(names.SCALE_IN in obj.metadata.annotations for obj in self.objects)

    @cached_property
    def is_deleting(self) -> bool:
        return any(obj.is_deleting for obj in self.objects)

    @cached_property
    def is_active(self) -> bool:
        """Whether it counts towards `spec.replicas`."""
        return not self.is_scaling_in and not (self.shoot is not None and self.shoot.is_deleting)

    @cached_property
    def is_creating(self) -> bool:
        return not (self.is_scaling_in or self.is_deleting or self.was_ready or self.is_ready)

    @cached_property
    def is_in_flight(self) -> bool:
        """Whether it is being created or removed."""
        return self.is_scaling_in or self.is_deleting or self.is_creating

    @cached_property
    def has_failed(self) -> bool:
        """Whether the last operation on its Shoot failed for good."""
        operation = self.shoot.status.last_operation if self.shoot is not None else None
        if self.shoot is None or operation is None or operation.state != health.FAILED:
            return False
        return (operation.type == health.DELETE) == self.shoot.is_deleting and (
            self.shoot.is_deleting or health.is_observed(self.shoot)
        )

    @property
    def is_protected(self) -> bool:
        values = (obj.metadata.annotations.get(names.PROTECT_FROM_DELETION) for obj in self.objects)
        return any(value is not None and value != "false" for value in values)

    @property
    def priority(self) -> int:
        """The deletion priority: on scale-in, lower ones are removed first."""
        for obj in (self.managed_seed, self.shoot):
            value = obj.metadata.annotations.get(names.DELETION_PRIORITY) if obj else None
            if value is not None:
                return _number(value, DEFAULT_PRIORITY)
        return DEFAULT_PRIORITY

    @property
    def retries(self) -> int:
        """How often a failed operation on its Shoot has been retried since the last success."""
        value = self.shoot.metadata.annotations.get(names.SHOOT_RETRIES) if self.shoot else None
        return max(0, _number(value, 0)) if value is not None else 0

    @property
    def created(self) -> str:
        """Its creation timestamp; without one it counts as new."""
        first: ReplicaObject | None = self.shoot or self.managed_seed
        stamp = first.metadata.creation_timestamp if first is not None else None
        return stamp or "9999"

    def is_at(self, revision: str) -> bool:
        """Return whether all its objects are at a revision."""
        return all(revision_of(obj) == revision for obj in self.objects)


class Claim(NamedTuple):
    """The replicas of a set, and the objects to adopt and release."""

    replicas: tuple[Replica, ...]
    """The set's replicas by ordinal, including those to adopt."""
    adopt: tuple[ReplicaObject, ...] = ()
    release: tuple[ReplicaObject, ...] = ()
    highest: int = -1
    """The highest ordinal of all objects with a name of the set, whoever owns them."""


def claim(
    owner: ManagedSeedSet, shoots: Iterable[Shoot], managed_seeds: Iterable[ManagedSeed]
) -> Claim:
    """Return which objects belong to a set.

    A replica belongs to the set if the selector matches all its objects and none of them has
    another controller. It is adopted and released as a whole: one object that no longer matches
    releases both. A set that is being deleted adopts nothing.

    Only objects named `<set>-<ordinal>` are adopted, as by StatefulSets: without an ordinal a
    replica has no place in a rollout, and a Shoot of somebody else that matches by chance must
    never be deleted.
    """
    selector = from_struct(owner.spec.selector)
    replicas: list[Replica] = []
    adopt: list[ReplicaObject] = []
    release: list[ReplicaObject] = []
    highest = -1
    for name, pair in sorted(_pairs(shoots, managed_seeds).items()):
        ordinal = ordinals.ordinal_of(owner.name, name)
        objects = [obj for obj in pair if obj is not None]
        owned = [obj for obj in objects if is_owned(obj, owner)]
        if ordinal is not None:
            highest = max(highest, ordinal)
        if ordinal is None or not _fits(objects, owner, selector):
            release += owned
            continue
        orphans = [obj for obj in objects if obj.controller is None and not obj.is_deleting]
        if owner.is_deleting:
            pair, orphans = _only(owned, *pair), []
        adopt += orphans
        if owned or orphans:
            replicas.append(Replica(name, ordinal, *pair))
    replicas.sort(key=lambda replica: replica.ordinal)
    return Claim(tuple(replicas), tuple(adopt), tuple(release), highest)


def _only(
    owned: Iterable[ReplicaObject], shoot: Shoot | None, managed_seed: ManagedSeed | None
) -> tuple[Shoot | None, ManagedSeed | None]:
    kept = {id(obj) for obj in owned}
    return shoot if id(shoot) in kept else None, managed_seed if id(managed_seed) in kept else None


def is_owned(obj: ReplicaObject, owner: ManagedSeedSet) -> bool:
    """Return whether a set controls an object; an earlier set of the same name does not count."""
    controller = obj.controller
    return controller is not None and controller.uid == owner.uid


def revision_of(obj: ReplicaObject) -> str:
    """Return the revision of an object; empty if it has none."""
    return obj.metadata.labels.get(names.CONTROLLER_REVISION_HASH, "")


def _pairs(
    shoots: Iterable[Shoot], managed_seeds: Iterable[ManagedSeed]
) -> dict[str, tuple[Shoot | None, ManagedSeed | None]]:
    pairs: dict[str, tuple[Shoot | None, ManagedSeed | None]] = {
        shoot.name: (shoot, None) for shoot in shoots
    }
    for managed_seed in managed_seeds:
        shoot = pairs.get(managed_seed.name, (None, None))[0]
        pairs[managed_seed.name] = (shoot, managed_seed)
    return pairs


def _fits(objects: Iterable[ReplicaObject], owner: ManagedSeedSet, selector: LabelSelector) -> bool:
    return all(
        (obj.controller is None or is_owned(obj, owner))
        and selector.matches(obj.metadata.labels)
        and _registers_its_shoot(obj)
        for obj in objects
    )


def _registers_its_shoot(obj: ReplicaObject) -> bool:
    """Return whether an object is a Shoot, or a ManagedSeed of the Shoot with its own name."""
    if isinstance(obj, Shoot):
        return True
    return obj.spec.shoot is not None and obj.spec.shoot.name == obj.name


def _stage_of_managed_seed(managed_seed: ManagedSeed) -> Stage:
    if managed_seed.is_deleting:
        return Stage.MANAGED_SEED_DELETING
    status = managed_seed.status
    observed = status.observed_generation == managed_seed.metadata.generation
    if observed and conditions.is_true(status.conditions, names.SEED_REGISTERED):
        return Stage.MANAGED_SEED_REGISTERED
    return Stage.MANAGED_SEED_PREPARING


def _stage_of_shoot(shoot: Shoot) -> Stage:
    operation = shoot.status.last_operation
    failed = operation is not None and operation.state == health.FAILED
    if shoot.is_deleting:
        delete_failed = failed and operation is not None and operation.type == health.DELETE
        return Stage.SHOOT_DELETE_FAILED if delete_failed else Stage.SHOOT_DELETING
    if health.is_reconciled(shoot):
        return Stage.SHOOT_RECONCILED
    if failed and health.is_observed(shoot):
        return Stage.SHOOT_RECONCILE_FAILED
    return Stage.SHOOT_RECONCILING


def _number(text: str, default: int) -> int:
    try:
        return int(text)
    except ValueError:
        return default
