"""The built-in scheduler's judgement: what is to be done about a shoot, and what may help it."""

from typing import Any, Final, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Object, ObjectKey
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.placement import Placement
from webhook.domain import ha, hosting, usage, zones
from webhook.domain.options import Options
from webhook.scheduling import candidates, explain, profiles, strategy
from webhook.scheduling.framework import Profile
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.pipeline import place
from webhook.scheduling.verdict import Verdict
from webhook.state.indexes import SHOOTS_BY_ZONES, WAITING_SHOOTS, zones_on
from webhook.state.snapshot import Snapshot

SUCCESSFUL: Final = "SchedulingSuccessful"
FAILED: Final = "SchedulingFailed"
WEAKENED: Final = "SchedulingWeakened"

HELPFUL: Final[tuple[type[Object], ...]] = (
    Shoot,
    Seed,
    ManagedSeed,
    CloudProfile,
    NamespacedCloudProfile,
    ConfigMap,
    Project,
)
"""Kinds whose changes may give a waiting shoot a seed."""

_ZONES: Final = (3, 5)
"""How many zones control planes can need: 2n + 1 for one or two failures."""

_RANKS: Final = {"infrastructure": 0, "production": 1}

Rank: TypeAlias = tuple[int, str, ObjectKey]


class Bind(NamedTuple):
    """Place the shoot, for the first time or anew."""

    placement: Placement
    message: str


class Wait(NamedTuple):
    """No seed fits an unassigned shoot.

    `shifts` tells that it was only offered the nearest seeds that have room: once those are full,
    farther ones become the nearest.
    """

    message: str
    shifts: bool = False


class Stay(NamedTuple):
    """No seed fits better: the shoot stays where it is."""

    message: str
    shifts: bool = False


class Weaken(NamedTuple):
    """The shoot stays where it is, with a control plane in one zone, as it allows."""

    message: str


Judgement: TypeAlias = Bind | Wait | Stay | Weaken | None


def judge(shoot: Shoot, landscape: Landscape, snapshot: Snapshot) -> Judgement:
    """Say what is to be done about a shoot; None if nothing is, or if it is not ours."""
    profile = profiles.find(shoot.spec.scheduler_name, snapshot.options)
    if profile is None or shoot.is_deleting or hosting.is_self_hosted(shoot):
        return None
    if shoot.spec.seed_name:
        return _judge_move(shoot, landscape, snapshot, profile)
    if snapshot.options.scheduling.engine != "built-in":
        return None  # kube-scheduler's business, through the bridge and the extender
    verdict = place(shoot, landscape, snapshot, profile)
    if verdict.seed is None:
        return Wait(explain.summarise(verdict), _shifts(verdict))
    told = f"placed on seed {verdict.seed} (profile {profile.name})"
    if verdict.weakened:
        told = f"{told}: {'; '.join(verdict.notes)}"
    return Bind(Placement(shoot, verdict.seed, verdict.weakened), told)


def rank(shoot: Shoot) -> Rank:
    """Order shoots: the highest purpose first, then the oldest, then by name."""
    purpose = _RANKS.get(shoot.spec.purpose, len(_RANKS))
    return purpose, shoot.metadata.creation_timestamp or "", shoot.key


def waiting(snapshot: Snapshot) -> list[Shoot]:
    """List the shoots that wait for us: those without a seed, and those on an unfit one."""
    schedulers = (*profiles.PROFILES, *profiles.UNNAMED, names.SCHEDULER_NAME)
    ours = [name for name in schedulers if profiles.find(name, snapshot.options) is not None]
    unassigned = [shoot for name in ours for shoot in snapshot.by_index(WAITING_SHOOTS, name)]
    misplaced = [
        shoot
        for seed in snapshot.list(Seed)
        for needed in _ZONES
        if not _offers(seed, needed)
        for shoot in snapshot.by_index(SHOOTS_BY_ZONES, zones_on(seed.name, needed))
        if profiles.find(shoot.spec.scheduler_name, snapshot.options) is not None
    ]
    return sorted([*unassigned, *misplaced], key=rank)


def concerns(old: Shoot | None, new: Shoot | None, options: Options) -> bool:
    """Tell whether a change of a shoot asks for a new judgement about itself."""
    if new is None or profiles.find(new.spec.scheduler_name, options) is None:
        return False
    if old is None:
        return not new.spec.seed_name or ha.effective(new).type == ha.MULTI_ZONE
    return (
        old.spec != new.spec
        or _said(old) != _said(new)
        or old.status.seed_name != new.status.seed_name
    )


def _said(shoot: Shoot) -> dict[str, str]:
    """Return a shoot's annotations but for our own touch, which would make every failure a wish."""
    annotations = dict(shoot.metadata.annotations)
    annotations.pop(names.TOUCHED, None)
    return annotations


def may_help(old: Any, new: Any) -> bool:
    """Tell whether a change may give waiting shoots a seed; the rest needs no new decision."""
    obj = new if new is not None else old
    if isinstance(obj, Shoot):
        return _frees(old, new)
    if isinstance(obj, Seed):
        # One that goes may have been nearer than those that fit.
        return old is None or new is None or not candidates.is_same(old, new)
    if isinstance(obj, CloudProfile):
        return new is not None and (old is None or old.spec.seed_selector != new.spec.seed_selector)
    return True


def fills(old: Any, new: Any) -> bool:
    """Tell whether a shoot has come to a seed, which may be full now."""
    if not isinstance(new, Shoot):
        return False
    before = usage.seeds(old) if isinstance(old, Shoot) else ()
    return not set(usage.seeds(new)) <= set(before)


def _frees(old: Shoot | None, new: Shoot | None) -> bool:
    """Tell whether a shoot has left a seed, or uses less of it."""
    if old is None:
        return False
    before = usage.seeds(old)
    if new is None or not set(before) <= set(usage.seeds(new)):
        return bool(before)
    return bool(before) and ha.effective(old) != ha.effective(new)


def _judge_move(
    shoot: Shoot, landscape: Landscape, snapshot: Snapshot, profile: Profile
) -> Judgement:
    """Judge a shoot that asks for more zones than its seed has (document 003, case 2)."""
    if not profile.moves or not _wants_to_move(shoot, snapshot):
        return None
    present = shoot.spec.seed_name
    verdict = place(shoot, landscape, snapshot, profile)
    if verdict.seed is None:
        told = f"stays on seed {present}, which is not multi-zonal: {explain.summarise(verdict)}"
        return Stay(told, _shifts(verdict))
    if verdict.weakened:
        return Weaken(f"stays on seed {present}: {'; '.join(verdict.notes)}")
    told = f"moved from seed {present} to {verdict.seed} for a multi-zone control plane"
    return Bind(Placement(shoot, verdict.seed), told)


def _wants_to_move(shoot: Shoot, snapshot: Snapshot) -> bool:
    availability = ha.effective(shoot)
    if availability.type != ha.MULTI_ZONE or shoot.status.seed_name != shoot.spec.seed_name:
        return False
    seed = snapshot.get(Seed, ObjectKey("", shoot.spec.seed_name))
    if seed is None:
        return False
    return not _offers(seed, availability.zones_needed)


def _offers(seed: Seed, needed: int) -> bool:
    return zones.is_multi_zonal(seed) and len(zones.seed_zones(seed)) >= needed


def _shifts(verdict: Verdict) -> bool:
    return any(rejection is strategy.FARTHER for _step, rejection in verdict.rejected.values())
