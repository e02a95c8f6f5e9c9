"""The conditions of a ManagedSeed: its Shoot, its registration and its Seed."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.status_patch import ConditionDraft, patch_status, set_conditions
from webhook.domain.seeds import readiness
from webhook.domain.sets.replicas import NEVER_READY
from webhook.domain.shoots import health
from webhook.kube import conditions
from webhook.kube.meta import Draft
from webhook.runtime.actions import Patch

_KIND: Final = kind_of_model(ManagedSeed)


def write(
    managed_seed: ManagedSeed,
    old: Draft,
    drafts: Iterable[ConditionDraft],
    now: datetime,
    *,
    observed: bool = False,
    any_version: bool = False,
) -> Iterator[Patch]:
    """Patch the conditions that changed; conditions of other controllers stay as they are."""
    new = {**old, "conditions": set_conditions(old, drafts, now)}
    if observed:
        new["observedGeneration"] = managed_seed.metadata.generation
    yield from patch_status(_KIND, managed_seed, old, new, any_version=any_version)


def of_shoot(managed_seed: ManagedSeed, shoot: Shoot | None) -> ConditionDraft:
    """Report whether the Shoot is ready to become a seed."""
    name = names.SHOOT_RECONCILED
    if shoot is None:
        wanted = managed_seed.spec.shoot.name if managed_seed.spec.shoot is not None else ""
        message = f"Shoot {managed_seed.namespace}/{wanted} does not exist (spec.shoot.name)"
        return ConditionDraft(name, conditions.FALSE, "ShootMissing", message)
    if not health.is_reconciled(shoot):
        message = f"Shoot {shoot.key} is not reconciled: {_operation(shoot)}"
        return ConditionDraft(name, conditions.FALSE, "Reconciling", message)
    if gates := health.pending_readiness_gates(shoot):
        message = f"readiness gates of Shoot {shoot.key} are not True: {', '.join(gates)}"
        return ConditionDraft(name, conditions.FALSE, "ReadinessGates", message)
    return ConditionDraft(name, conditions.TRUE, "Reconciled", f"Shoot {shoot.key} is reconciled")


def of_seed(managed_seed: ManagedSeed, seed: Seed | None) -> ConditionDraft:
    """Report whether the Seed is ready, and why not."""
    name = names.SEED_READY
    if seed is not None and readiness.is_seed_ready(seed):
        return ConditionDraft(name, conditions.TRUE, "SeedReady", f"Seed {seed.name} is ready")
    reasons = ["it does not exist"] if seed is None else [*readiness.unready_reasons(seed)]
    message = f"Seed {managed_seed.name} is not ready: {', '.join(reasons)}"
    before = conditions.get(managed_seed.status.conditions, name)
    was_ready = before is not None and before.reason not in ("", NEVER_READY)
    return ConditionDraft(
        name, conditions.FALSE, "SeedNotReady" if was_ready else NEVER_READY, message
    )


def registered(managed_seed: ManagedSeed, note: str = "") -> ConditionDraft:
    """Report that the Seed is registered."""
    message = f"Seed {managed_seed.name} is registered{note}"
    return ConditionDraft(names.SEED_REGISTERED, conditions.TRUE, "Registered", message)


def not_registered(reason: str, message: str) -> ConditionDraft:
    """Report why the Seed is not registered or not up to date."""
    return ConditionDraft(names.SEED_REGISTERED, conditions.FALSE, reason, message)


def _operation(shoot: Shoot) -> str:
    operation = shoot.status.last_operation
    if shoot.is_deleting:
        return "it is being deleted"
    if operation is None:
        return "it has not been reconciled yet"
    if not health.is_observed(shoot):
        return "its present spec has not been observed yet"
    return f"{operation.type} {operation.state.lower()}"
