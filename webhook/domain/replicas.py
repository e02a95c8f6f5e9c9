"""What the replicas of a set are: which objects are its own, and how far each replica has come."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from webhook.api import conditions, names
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.selectors import LabelSelector, from_struct
from webhook.api.shoots import Shoot
from webhook.domain import health, ordinals
from webhook.domain.health import NOBODY, Hosted

DEFAULT_PRIORITY: Final = 3
NEVER_READY: Final = "SeedNeverReady"
"""The reason of SeedReady until the seed has been ready once."""

Half: TypeAlias = Shoot | ManagedSeed
"""A replica is a Shoot and the ManagedSeed that registers it, under one name."""


class Stage(IntEnum):
    """How far a replica has come, from the least to the most useful."""

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
    """One replica with all that is known about it; either half may be missing.

    What it says of itself is worked out once: a pass over a set asks for it again and again.
    """

    name: str
    ordinal: int
    shoot: Shoot | None = None
    managed_seed: ManagedSeed | None = None
    seed: Seed | None = None
    hosted: Hosted = NOBODY
    users: int = 0
    """Shoots that count on its seed, those that are leaving or on their way included."""

    @cached_property
    def halves(self) -> tuple[Half, ...]:
        pair = (self.shoot, self.managed_seed)
        return tuple(half for half in pair if half is not None)

    @cached_property
    def stage(self) -> Stage:
        if self.managed_seed is not None:
            return _stage_of_managed_seed(self.managed_seed)
        return Stage.UNKNOWN if self.shoot is None else _stage_of_shoot(self.shoot)

    @cached_property
    def is_ready(self) -> bool:
        """Whether it serves: registered, its seed ready, its Shoot well."""
        return (
            self.stage is Stage.MANAGED_SEED_REGISTERED
            and self.is_seed_ready
            and self.shoot is not None
            and health.of_shoot(self.shoot) == "healthy"
        )

    @cached_property
    def is_seed_ready(self) -> bool:
        return self.seed is not None and health.is_seed_ready(self.seed)

    @property
    def is_settled(self) -> bool:
        """Whether it serves and nothing of its present spec is still to be done."""
        return self.is_ready and self.shoot is not None and health.is_reconciled(self.shoot)

    @cached_property
    def was_ready(self) -> bool:
        """Whether it has served before, so that its trouble is no part of making it."""
        if self.managed_seed is None:
            return False
        told = conditions.get(self.managed_seed.status.conditions, names.SEED_READY)
        return told is not None and (
            told.status == conditions.TRUE or told.reason not in ("", NEVER_READY)
        )

    @cached_property
    def is_leaving(self) -> bool:
        """Whether it was chosen for scale-in."""
        return any(names.SCALE_IN in half.metadata.annotations for half in self.halves)

    @cached_property
    def is_deleting(self) -> bool:
        return any(half.is_deleting for half in self.halves)

    @cached_property
    def is_living(self) -> bool:
        """Whether it counts as one of the replicas that are wanted."""
        return not self.is_leaving and not (self.shoot is not None and self.shoot.is_deleting)

    @cached_property
    def is_creating(self) -> bool:
        return not (self.is_leaving or self.is_deleting or self.was_ready or self.is_ready)

    @cached_property
    def is_in_flight(self) -> bool:
        """Whether it is being made or removed."""
        return self.is_leaving or self.is_deleting or self.is_creating

    @cached_property
    def has_failed(self) -> bool:
        """Whether the last operation on its Shoot was given up."""
        operation = self.shoot.status.last_operation if self.shoot is not None else None
        if self.shoot is None or operation is None or operation.state != health.FAILED:
            return False
        return (operation.type == health.DELETE) == self.shoot.is_deleting and (
            self.shoot.is_deleting or health.is_observed(self.shoot)
        )

    @property
    def is_protected(self) -> bool:
        told = (half.metadata.annotations.get(names.PROTECT_FROM_DELETION) for half in self.halves)
        return any(value is not None and value != "false" for value in told)

    @property
    def priority(self) -> int:
        """Lower goes first when the set shrinks."""
        for half in (self.managed_seed, self.shoot):
            told = half.metadata.annotations.get(names.DELETION_PRIORITY) if half else None
            if told is not None:
                return _number(told, DEFAULT_PRIORITY)
        return DEFAULT_PRIORITY

    @property
    def retries(self) -> int:
        """How often a failed operation on its Shoot was tried again, without success since."""
        told = self.shoot.metadata.annotations.get(names.SHOOT_RETRIES) if self.shoot else None
        return max(0, _number(told, 0)) if told is not None else 0

    @property
    def created(self) -> str:
        """When it was made; one that cannot tell is taken for new."""
        first: Half | None = self.shoot or self.managed_seed
        stamp = first.metadata.creation_timestamp if first is not None else None
        return stamp or "9999"

    def is_at(self, revision: str) -> bool:
        """Tell whether both halves were made from a revision."""
        return all(revision_of(half) == revision for half in self.halves)


class Claim(NamedTuple):
    """Which objects are a set's replicas, and which change hands."""

    replicas: tuple[Replica, ...]
    """The set's own, by ordinal; those that it adopts in the same breath are included."""
    adopt: tuple[Half, ...] = ()
    release: tuple[Half, ...] = ()
    highest: int = -1
    """The highest ordinal that any object of the series has, whoever owns it."""


def claim(
    owner: ManagedSeedSet, shoots: Iterable[Shoot], managed_seeds: Iterable[ManagedSeed]
) -> Claim:
    """Tell a set's own objects from foreign ones.

    A replica belongs to the set if its selector matches every half and no half is controlled by
    somebody else. It changes hands as a whole: a half that no longer matches takes the other one
    along. A set that is being deleted takes nothing new.
    """
    selector = from_struct(owner.spec.selector)
    replicas: list[Replica] = []
    adopt: list[Half] = []
    release: list[Half] = []
    highest = -1
    for name, pair in sorted(_pairs(shoots, managed_seeds).items()):
        ordinal = ordinals.ordinal_of(owner.name, name)
        halves = [half for half in pair if half is not None]
        owned = [half for half in halves if is_owned(half, owner)]
        if ordinal is not None:
            highest = max(highest, ordinal)
        if ordinal is None or not _fits(halves, owner, selector):
            release += owned
            continue
        orphans = [half for half in halves if half.controller is None and not half.is_deleting]
        if owner.is_deleting:
            pair, orphans = _only(owned, *pair), []
        adopt += orphans
        if owned or orphans:
            replicas.append(Replica(name, ordinal, *pair))
    replicas.sort(key=lambda replica: replica.ordinal)
    return Claim(tuple(replicas), tuple(adopt), tuple(release), highest)


def _only(
    owned: Iterable[Half], shoot: Shoot | None, managed_seed: ManagedSeed | None
) -> tuple[Shoot | None, ManagedSeed | None]:
    kept = {id(half) for half in owned}
    return shoot if id(shoot) in kept else None, managed_seed if id(managed_seed) in kept else None


def is_owned(half: Half, owner: ManagedSeedSet) -> bool:
    """Tell whether an object is controlled by that very set, not by an earlier one of its name."""
    controller = half.controller
    return controller is not None and controller.uid == owner.uid


def revision_of(half: Half) -> str:
    """Name the revision that an object was made from; empty if it does not tell."""
    return half.metadata.labels.get(names.CONTROLLER_REVISION_HASH, "")


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


def _fits(halves: Iterable[Half], owner: ManagedSeedSet, selector: LabelSelector) -> bool:
    return all(
        (half.controller is None or is_owned(half, owner))
        and selector.matches(half.metadata.labels)
        and _registers_its_own(half)
        for half in halves
    )


def _registers_its_own(half: Half) -> bool:
    """Tell whether a ManagedSeed is about the Shoot of its own name, as replicas are."""
    if isinstance(half, Shoot):
        return True
    return half.spec.shoot is not None and half.spec.shoot.name == half.name


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
        given_up = failed and operation is not None and operation.type == health.DELETE
        return Stage.SHOOT_DELETE_FAILED if given_up else Stage.SHOOT_DELETING
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
