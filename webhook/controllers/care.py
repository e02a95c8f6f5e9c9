"""How the shoots on a managed seed are, as condition ShootsReady with numbers."""

from collections.abc import Iterable
from typing import Any, Final

from webhook.api import conditions, names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, ObjectKey
from webhook.api.shoots import Shoot
from webhook.domain import health, usage
from webhook.domain.health import Hosted
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.runtime.rows import Controller, Watch
from webhook.state.indexes import MANAGED_SEEDS_BY_NAME
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_HEALTH

_KIND: Final = kind_of_model(ManagedSeed)


def plan(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    """Write the condition if its numbers have changed."""
    if not snapshot.options.keeps_managed_seeds:
        return NOTHING
    hosted = health.hosted(snapshot.total(SEED_HEALTH, managed_seed.name))
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    told: list[Draft] = [dict(each) for each in (raw.get("status") or {}).get("conditions") or ()]
    status, reason, message = describe(hosted)
    now = snapshot.taken_at
    if not conditions.set(
        told, names.SHOOTS_READY, status, reason=reason, message=message, now=now
    ):
        return NOTHING
    change = {"status": {"conditions": told}}
    version = managed_seed.resource_version
    return Plan((Patch(_KIND, managed_seed.key, change, managed_seed.uid, version, "status"),))


def describe(hosted: Hosted) -> tuple[str, str, str]:
    """Put the share of ready shoots into a condition's status, reason and message."""
    if not hosted.total:
        return conditions.TRUE, "NoShoots", "the seed carries no shoots"
    share = hosted.ready * 100 // hosted.total
    message = f"{hosted.ready} of {hosted.total} shoots are ready ({share}%)"
    if hosted.unready:
        return conditions.FALSE, "ShootsNotReady", message
    return conditions.TRUE, "AllShootsReady", message


def of_hosted(old: Shoot | None, new: Shoot | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Wake the care of the seeds that a shoot is on, when its readiness there changes."""
    if _as_guest(old) == _as_guest(new):
        return
    for seed in {*_seeds(old), *_seeds(new)}:
        yield from (found.key for found in snapshot.by_index(MANAGED_SEEDS_BY_NAME, seed))


def _seeds(shoot: Shoot | None) -> tuple[str, ...]:
    return usage.seeds(shoot) if shoot is not None else ()


def _as_guest(shoot: Shoot | None) -> Any:
    if shoot is None:
        return None
    return usage.seeds(shoot), shoot.is_deleting, health.is_hosted_ready(shoot)


CARE: Final = Controller(
    "care", ManagedSeed, plan, watches=(Watch(Shoot, of_hosted),), needs=(Shoot,)
)
