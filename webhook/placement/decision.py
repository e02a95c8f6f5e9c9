"""What the scheduler does with a shoot, and which changes call for a new decision. No I/O."""

from typing import Any, Final, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap
from webhook.api.event_reasons import Reason
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options
from webhook.domain.seeds import usage, zones
from webhook.domain.shoots import ha, unscheduled
from webhook.kube.meta import Object, ObjectKey
from webhook.placement.placer import Placement
from webhook.runtime.actions import Emit
from webhook.scheduling import candidates, explain, profiles, region_strategy
from webhook.scheduling.framework import Profile
from webhook.scheduling.pipeline import place
from webhook.scheduling.result import ScheduleResult
from webhook.scheduling.seed_table import SeedTable
from webhook.state.indexes import SHOOTS_BY_ZONES, WAITING_SHOOTS, zones_key
from webhook.state.snapshot import Snapshot

SUCCESSFUL: Final = "SchedulingSuccessful"
FAILED: Final = "SchedulingFailed"
WEAKENED: Final = "SchedulingWeakened"

WATCHED_KINDS: Final[tuple[type[Object], ...]] = (
    Shoot,
    Seed,
    ManagedSeed,
    CloudProfile,
    NamespacedCloudProfile,
    ConfigMap,
    Project,
)
"""Kinds whose changes may make a pending shoot schedulable."""

_ZONES: Final = (3, 5)
"""The numbers of zones that a control plane can need: 2n + 1 to survive one or two failures."""

_SHOOT: Final = kind_of_model(Shoot)
_RANKS: Final = {"infrastructure": 0, "production": 1}

Rank: TypeAlias = tuple[int, str, ObjectKey]
"""The order in which shoots are scheduled: purpose, creation time, key."""


class Bind(NamedTuple):
    """Assign the shoot to a seed, for the first time or to move it."""

    placement: Placement
    message: str


class Unschedulable(NamedTuple):
    """No seed fits an unassigned shoot."""

    message: str
    nearest_only: bool = False
    """Whether farther seeds were left out: they are offered once the nearest ones are full."""


class Stay(NamedTuple):
    """No seed fits an assigned shoot better: it stays where it is."""

    message: str
    nearest_only: bool = False


class Weaken(NamedTuple):
    """The shoot stays on its seed with a control plane in one zone, which it allows."""

    message: str


SchedulingDecision: TypeAlias = Bind | Unschedulable | Stay | Weaken | None


def decide(shoot: Shoot, seeds: SeedTable, snapshot: Snapshot) -> SchedulingDecision:
    """Decide what to do with a shoot; None if nothing, or if another scheduler is responsible."""
    profile = profiles.find(shoot.spec.scheduler_name, snapshot.options)
    if profile is None or shoot.is_deleting or unscheduled.is_self_hosted(shoot):
        return None
    if shoot.spec.seed_name:
        return _decide_move(shoot, seeds, snapshot, profile)
    if snapshot.options.scheduling.engine != "built-in":
        return None  # kube-scheduler decides, through the bridge and the extender
    result = place(shoot, seeds, snapshot, profile)
    if result.seed is None:
        return Unschedulable(explain.summarise(result), _nearest_only(result))
    message = f"placed on seed {result.seed} (profile {profile.name})"
    if result.weakened:
        message = f"{message}: {'; '.join(result.notes)}"
    return Bind(Placement(shoot, result.seed, result.weakened), message)


def event(shoot: Shoot, reason: Reason, message: str, *, failed: bool = False) -> Emit:
    """Return the Event on a shoot that reports a decision."""
    return Emit(_SHOOT, shoot, reason, message, "Warning" if failed else "Normal")


def rank(shoot: Shoot) -> Rank:
    """Return the rank of a shoot: the highest purpose first, then the oldest, then by name."""
    purpose = _RANKS.get(shoot.spec.purpose, len(_RANKS))
    return purpose, shoot.metadata.creation_timestamp or "", shoot.key


def list_pending(snapshot: Snapshot) -> list[Shoot]:
    """List our pending shoots by rank: those without a seed, and those whose seed lacks zones."""
    schedulers = (*profiles.PROFILES, *profiles.DEFAULT_SCHEDULER_NAMES, names.SCHEDULER_NAME)
    ours = [name for name in schedulers if profiles.find(name, snapshot.options) is not None]
    unassigned = [shoot for name in ours for shoot in snapshot.by_index(WAITING_SHOOTS, name)]
    misplaced = [
        shoot
        for seed in snapshot.list(Seed)
        for needed in _ZONES
        if not _offers(seed, needed)
        for shoot in snapshot.by_index(SHOOTS_BY_ZONES, zones_key(seed.name, needed))
        if profiles.find(shoot.spec.scheduler_name, snapshot.options) is not None
    ]
    return sorted([*unassigned, *misplaced], key=rank)


def needs_decision(old: Shoot | None, new: Shoot | None, options: Options) -> bool:
    """Return whether a change of a shoot calls for a new decision on that shoot."""
    if new is None or profiles.find(new.spec.scheduler_name, options) is None:
        return False
    if old is None:
        return not new.spec.seed_name or ha.effective(new).type == ha.MULTI_ZONE
    return (
        old.spec != new.spec
        or _annotations(old) != _annotations(new)
        or old.status.seed_name != new.status.seed_name
    )


def _annotations(shoot: Shoot) -> dict[str, str]:
    """Return the annotations without our own touch, which follows a failure and changes nothing."""
    annotations = dict(shoot.metadata.annotations)
    annotations.pop(names.TOUCHED, None)
    return annotations


def may_make_schedulable(old: Any, new: Any) -> bool:
    """Return whether a change may make pending shoots schedulable."""
    obj = new if new is not None else old
    if isinstance(obj, Shoot):
        return _frees(old, new)
    if isinstance(obj, Seed):
        # A seed that is deleted may have been nearer than those that fit.
        return old is None or new is None or not candidates.is_same(old, new)
    if isinstance(obj, CloudProfile):
        return new is not None and (old is None or old.spec.seed_selector != new.spec.seed_selector)
    return True


def fills_seed(old: Any, new: Any) -> bool:
    """Return whether a shoot was added to a seed, which may be full now."""
    if not isinstance(new, Shoot):
        return False
    before = usage.seeds_of(old) if isinstance(old, Shoot) else ()
    return not set(usage.seeds_of(new)) <= set(before)


def _frees(old: Shoot | None, new: Shoot | None) -> bool:
    """Return whether a shoot left a seed or uses less of it."""
    if old is None:
        return False
    before = usage.seeds_of(old)
    if new is None or not set(before) <= set(usage.seeds_of(new)):
        return bool(before)
    return bool(before) and ha.effective(old) != ha.effective(new)


def _decide_move(
    shoot: Shoot, seeds: SeedTable, snapshot: Snapshot, profile: Profile
) -> SchedulingDecision:
    """Decide on a shoot that needs more zones than its seed has (document 003, case 2).

    With ScheduleAnyway and without such a seed it is marked as weakened where it is: a move to
    another seed without zones gains nothing. Removing the annotation has it tried again.
    """
    if not profile.reschedules or not _has_to_move(shoot, snapshot):
        return None
    present = shoot.spec.seed_name
    result = place(shoot, seeds, snapshot, profile)
    if result.seed is None:
        message = f"stays on seed {present}, which is not multi-zonal: {explain.summarise(result)}"
        return Stay(message, _nearest_only(result))
    if result.weakened:
        return Weaken(f"stays on seed {present}: {'; '.join(result.notes)}")
    message = f"moved from seed {present} to {result.seed} for a multi-zone control plane"
    return Bind(Placement(shoot, result.seed), message)


def _has_to_move(shoot: Shoot, snapshot: Snapshot) -> bool:
    availability = ha.effective(shoot)
    if availability.type != ha.MULTI_ZONE or shoot.status.seed_name != shoot.spec.seed_name:
        return False
    seed = snapshot.get(Seed, ObjectKey("", shoot.spec.seed_name))
    if seed is None:
        return False
    return not _offers(seed, availability.zones_needed)


def _offers(seed: Seed, needed: int) -> bool:
    return zones.is_multi_zonal(seed) and len(zones.seed_zones(seed)) >= needed


def _nearest_only(result: ScheduleResult) -> bool:
    return any(
        rejection is region_strategy.FARTHER for _step, rejection in result.rejected.values()
    )
