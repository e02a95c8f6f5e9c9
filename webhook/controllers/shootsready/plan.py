"""plan(): the condition ShootsReady of a ManagedSeed."""

from collections.abc import Iterable
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.controllers.status_patch import ConditionDraft, patch_status, set_conditions
from webhook.domain.seeds import shoot_counts, usage
from webhook.domain.seeds.shoot_counts import HostedShoots
from webhook.kube import conditions
from webhook.kube.meta import Draft, ObjectKey
from webhook.placement import hosted_shoots
from webhook.runtime.actions import NOTHING, Plan
from webhook.state.indexes import MANAGED_SEEDS_BY_NAME
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_HEALTH

_KIND: Final = kind_of_model(ManagedSeed)


def plan(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    """Patch the condition if its numbers changed."""
    if not snapshot.options.reconciles_managed_seeds:
        return NOTHING
    hosted = shoot_counts.from_totals(snapshot.total(SEED_HEALTH, managed_seed.name))
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    old: Draft = raw.get("status") or {}
    draft = ConditionDraft(names.SHOOTS_READY, *describe(hosted))
    new = {**old, "conditions": set_conditions(old, (draft,), snapshot.taken_at)}
    return Plan(tuple(patch_status(_KIND, managed_seed, old, new)))


def describe(hosted: HostedShoots) -> tuple[str, str, str]:
    """Return status, reason and message for a number of ready shoots."""
    if not hosted.total:
        return conditions.TRUE, "NoShoots", "the seed carries no shoots"
    share = hosted.ready * 100 // hosted.total
    message = f"{hosted.ready} of {hosted.total} shoots are ready ({share}%)"
    if hosted.unready:
        return conditions.FALSE, "ShootsNotReady", message
    return conditions.TRUE, "AllShootsReady", message


def of_hosted(old: Shoot | None, new: Shoot | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Map a shoot to the ManagedSeeds of its seeds when its readiness there changes."""
    if hosted_shoots.watched_state(old) == hosted_shoots.watched_state(new):
        return
    for seed in {*_seeds(old), *_seeds(new)}:
        yield from (found.key for found in snapshot.by_index(MANAGED_SEEDS_BY_NAME, seed))


def _seeds(shoot: Shoot | None) -> tuple[str, ...]:
    return usage.seeds_of(shoot) if shoot is not None else ()
