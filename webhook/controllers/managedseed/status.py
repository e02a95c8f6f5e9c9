"""What a ManagedSeed tells about itself: its Shoot, its registration, its Seed."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from webhook.api import conditions, names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft
from webhook.api.patches import merge_diff
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import health
from webhook.domain.replicas import NEVER_READY
from webhook.runtime.actions import Patch

_KIND: Final = kind_of_model(ManagedSeed)


class Said(NamedTuple):
    """One condition."""

    type: str
    status: str
    reason: str
    message: str


def write(
    managed_seed: ManagedSeed,
    old: Draft,
    said: Iterable[Said],
    now: datetime,
    *,
    observed: bool = False,
    guarded: bool = True,
) -> Iterator[Patch]:
    """Write the conditions that changed; others' conditions are sent along as they are."""
    told: list[Draft] = [dict(each) for each in old.get("conditions") or ()]
    for each in said:
        conditions.set(
            told, each.type, each.status, reason=each.reason, message=each.message, now=now
        )
    new = {**old, "conditions": told}
    if observed:
        new["observedGeneration"] = managed_seed.metadata.generation
    if change := merge_diff(old, new):
        version = managed_seed.resource_version if guarded else ""
        body = {"status": change}
        yield Patch(_KIND, managed_seed.key, body, managed_seed.uid, version, "status")


def of_shoot(managed_seed: ManagedSeed, shoot: Shoot | None) -> Said:
    """Tell whether the Shoot is ready to become a seed."""
    name = names.SHOOT_RECONCILED
    if shoot is None:
        wanted = managed_seed.spec.shoot.name if managed_seed.spec.shoot is not None else ""
        message = f"Shoot {managed_seed.namespace}/{wanted} does not exist (spec.shoot.name)"
        return Said(name, conditions.FALSE, "ShootMissing", message)
    if not health.is_reconciled(shoot):
        message = f"Shoot {shoot.key} is not reconciled: {_operation(shoot)}"
        return Said(name, conditions.FALSE, "Reconciling", message)
    if gates := health.open_gates(shoot):
        message = f"readiness gates of Shoot {shoot.key} are not True: {', '.join(gates)}"
        return Said(name, conditions.FALSE, "ReadinessGates", message)
    return Said(name, conditions.TRUE, "Reconciled", f"Shoot {shoot.key} is reconciled")


def of_seed(managed_seed: ManagedSeed, seed: Seed | None) -> Said:
    """Tell whether the Seed can be relied on, and what is wrong with it if not."""
    name = names.SEED_READY
    if seed is not None and health.is_seed_ready(seed):
        return Said(name, conditions.TRUE, "SeedReady", f"Seed {seed.name} is ready")
    troubles = ["it does not exist"] if seed is None else [*health.seed_troubles(seed)]
    message = f"Seed {managed_seed.name} is not ready: {', '.join(troubles)}"
    before = conditions.get(managed_seed.status.conditions, name)
    was_ready = before is not None and before.reason not in ("", NEVER_READY)
    return Said(name, conditions.FALSE, "SeedNotReady" if was_ready else NEVER_READY, message)


def registered(managed_seed: ManagedSeed, note: str = "") -> Said:
    """Tell that the Seed is there."""
    message = f"Seed {managed_seed.name} is registered{note}"
    return Said(names.SEED_REGISTERED, conditions.TRUE, "Registered", message)


def not_registered(reason: str, message: str) -> Said:
    """Tell why there is no Seed, or not yet the right one."""
    return Said(names.SEED_REGISTERED, conditions.FALSE, reason, message)


def _operation(shoot: Shoot) -> str:
    operation = shoot.status.last_operation
    if shoot.is_deleting:
        return "it is being deleted"
    if operation is None:
        return "nothing has been done about it yet"
    if not health.is_observed(shoot):
        return "its present spec has not been acted on yet"
    return f"{operation.type} {operation.state.lower()}"
