"""The status of a set: counters, revisions, the pending replica and conditions."""

from collections.abc import Iterator
from typing import Any, Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.controllers.managedseedset import scaling
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.managedseedset.plan_draft import PlanDraft
from webhook.controllers.status_patch import (
    ConditionDraft,
    describe_refusal,
    patch_status,
    set_conditions,
)
from webhook.domain.sets import rollout, scale_in
from webhook.domain.sets.replicas import Replica, Stage
from webhook.kube import conditions
from webhook.kube.meta import Draft
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import Patch, WriteRefusal

_KIND: Final = kind_of_model(ManagedSeedSet)
_REASONS: Final = {
    Stage.UNKNOWN: "ShootReconciling",
    Stage.SHOOT_RECONCILE_FAILED: "ShootReconcileFailed",
    Stage.SHOOT_DELETE_FAILED: "ShootDeleteFailed",
    Stage.SHOOT_RECONCILING: "ShootReconciling",
    Stage.SHOOT_DELETING: "ShootDeleting",
    Stage.SHOOT_RECONCILED: "ManagedSeedPreparing",
    Stage.MANAGED_SEED_PREPARING: "ManagedSeedPreparing",
    Stage.MANAGED_SEED_DELETING: "ManagedSeedDeleting",
}


def write(
    view: Observation, draft: PlanDraft, refusal: WriteRefusal | None = None
) -> Iterator[Patch]:
    """Patch what changed in the status, if anything."""
    old: Draft = view.raw.get("status") or {}
    new: Draft = {**old, **_counters(view), "pendingReplica": _pending(view, old)}
    progress = _refused(refusal) if refusal is not None else _progressing(view, draft)
    drafts = (_available(view), progress, _blocked(draft))
    new["conditions"] = set_conditions(old, drafts, view.now)
    # A refused plan may have written the set before the write that was refused.
    yield from patch_status(_KIND, view.owner, old, new, any_version=refusal is not None)


def announce(view: Observation, draft: PlanDraft) -> Iterator[Patch]:
    """Report that a rollout starts before its first write, unless that is reported already.

    If it is undone at once, the status shows that replicas may have to be updated back.
    """
    is_reported = view.owner.status.update_revision == view.revisions.update
    if draft.updates and not (is_reported and rollout.is_progressing(view.owner)):
        yield from write(view, draft)


def has_rolled_out(view: Observation) -> bool:
    """Return whether every replica is reconciled with the present templates and ready.

    A health label alone does not count: it may be older than the update.
    """
    revision = view.revisions.update
    return len(view.active) == view.target and all(
        replica.is_at(revision) and replica.is_stable for replica in view.active
    )


def _counters(view: Observation) -> Draft:
    revisions = view.revisions
    current = revisions.update if has_rolled_out(view) else revisions.current
    counters: Draft = {
        "observedGeneration": view.owner.metadata.generation,
        "replicas": len(view.replicas),
        "readyReplicas": sum(replica.is_ready for replica in view.replicas),
        "nextReplicaNumber": view.next_ordinal,
        "currentReplicas": sum(replica.is_at(current) for replica in view.replicas),
        "updatedReplicas": sum(replica.is_at(revisions.update) for replica in view.replicas),
        "currentRevision": current,
        "updateRevision": revisions.update,
        "selector": _selector_text(view.raw),
    }
    if revisions.collisions:
        counters["collisionCount"] = revisions.collisions
    return counters


def _pending(view: Observation, old: Draft) -> Draft | None:
    """Report the lowest replica in flight, and since when it waits for the same reason."""
    if not view.in_flight:
        return None
    replica = view.in_flight[0]
    pending: Draft = {"name": replica.name, "reason": _reason(replica)}
    if replica.retries:
        pending["retries"] = replica.retries
    before = old.get("pendingReplica") or {}
    same = all(before.get(key) == pending[key] for key in ("name", "reason"))
    pending["since"] = (before.get("since") if same else None) or format_time(view.now)
    return pending


def _reason(replica: Replica) -> str:
    if replica.has_failed and replica.shoot is not None:
        return "ShootDeleteFailed" if replica.shoot.is_deleting else "ShootReconcileFailed"
    stage = replica.stage
    if replica.is_scaling_in and not replica.is_deleting:
        return "ManagedSeedDeleting" if replica.managed_seed is not None else "ShootDeleting"
    if stage is not Stage.MANAGED_SEED_REGISTERED:
        return _REASONS[stage]
    return "ShootNotHealthy" if replica.is_seed_ready else "SeedNotReady"


def _available(view: Observation) -> ConditionDraft:
    ready = sum(replica.is_ready for replica in view.active)
    message = f"{ready} of {view.target} replicas are ready"
    if ready >= view.target:
        return ConditionDraft(names.AVAILABLE, conditions.TRUE, "ReplicasReady", message)
    return ConditionDraft(names.AVAILABLE, conditions.FALSE, "ReplicasNotReady", message)


def _progressing(view: Observation, draft: PlanDraft) -> ConditionDraft:
    for replica in view.replicas:
        if scaling.is_given_up(replica, view):
            message = f"Shoot {replica.name} failed {replica.retries + 1} times, see its status"
            return ConditionDraft(names.PROGRESSING, conditions.FALSE, "ReplicaFailed", message)
    if view.in_flight:
        listed = ", ".join(f"{each.name}: {_reason(each)}" for each in view.in_flight)
        return ConditionDraft(
            names.PROGRESSING, conditions.TRUE, "Scaling", f"waiting for {listed}"
        )
    behind = [each for each in view.active if not each.is_at(view.revisions.update)]
    if draft.waits_for is not None:
        wait = draft.waits_for
        stuck = wait.reason in ("HostedShootsUnready", "ShootReconcileFailed")
        status = conditions.FALSE if stuck else conditions.TRUE
        return ConditionDraft(names.PROGRESSING, status, wait.reason, wait.message)
    if behind and view.settings.paused:
        message = f"{len(behind)} replicas wait until the set is resumed (spec.paused)"
        return ConditionDraft(names.PROGRESSING, conditions.FALSE, "Paused", message)
    if behind and all(each.ordinal < view.settings.partition for each in behind):
        held = f"{len(behind)} replicas below partition {view.settings.partition} are held back"
        return ConditionDraft(names.PROGRESSING, conditions.TRUE, "PartitionReached", held)
    if behind:
        message = f"{len(behind)} replicas are to be updated"
        return ConditionDraft(names.PROGRESSING, conditions.TRUE, "Updating", message)
    known = view.revisions
    unsettled = [each.name for each in view.active if not each.is_stable]
    if unsettled and not rollout.has_ended(view.owner, known.current, known.update):
        message = f"waiting for {', '.join(unsettled)} to become ready"
        return ConditionDraft(names.PROGRESSING, conditions.TRUE, "Updating", message)
    message = f"all replicas have revision {known.update}"
    return ConditionDraft(names.PROGRESSING, conditions.TRUE, rollout.COMPLETE, message)


def _refused(refusal: WriteRefusal) -> ConditionDraft:
    what = f"{refusal.action.kind.name} {refusal.action.key.name}"
    message = f"{what} was refused: {describe_refusal(refusal)}"
    return ConditionDraft(names.PROGRESSING, conditions.FALSE, "TemplateRefused", message)


def _blocked(draft: PlanDraft) -> ConditionDraft:
    if not draft.blocked:
        message = "no replica is kept from being removed"
        return ConditionDraft(names.SCALE_IN_BLOCKED, conditions.FALSE, "NothingBlocked", message)
    message = f"cannot be removed yet: {scale_in.describe_blocked(draft.blocked)}"
    return ConditionDraft(names.SCALE_IN_BLOCKED, conditions.TRUE, "ReplicasNeeded", message)


def _selector_text(raw: Draft) -> str:
    """Format the selector as kubectl does, for the scale subresource."""
    selector: dict[str, Any] = (raw.get("spec") or {}).get("selector") or {}
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for term in selector.get("matchExpressions") or ():
        key, values = term.get("key", ""), ",".join(sorted(term.get("values") or ()))
        match term.get("operator"):
            case "In":
                terms.append(f"{key} in ({values})")
            case "NotIn":
                terms.append(f"{key} notin ({values})")
            case "Exists":
                terms.append(key)
            case _:
                terms.append(f"!{key}")
    return ",".join(terms)
