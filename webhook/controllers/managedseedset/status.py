"""What a set tells about itself: counters, revisions, the pending replica and conditions."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from webhook.api import conditions, names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.patches import merge_diff
from webhook.api.timestamps import format_time
from webhook.controllers.managedseedset import scaling
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.managedseedset.work import Work
from webhook.domain import scalein
from webhook.domain.replicas import Replica, Stage
from webhook.runtime.actions import Patch, Refusal

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


class _Said(NamedTuple):
    """One condition."""

    type: str
    status: str
    reason: str
    message: str


def write(view: Observation, work: Work, refusal: Refusal | None = None) -> Iterator[Patch]:
    """Write what has changed of the status; nothing if it says all that already."""
    owner = view.owner
    old: Draft = view.raw.get("status") or {}
    new: Draft = {**old, **_counters(view), "pendingReplica": _pending(view, old)}
    told: list[Draft] = [dict(each) for each in old.get("conditions") or ()]
    progress = _refused(refusal) if refusal is not None else _progressing(view, work)
    for said in (_available(view), progress, _blocked(work)):
        conditions.set(
            told, said.type, said.status, reason=said.reason, message=said.message, now=view.now
        )
    new["conditions"] = told
    if change := merge_diff(old, new):
        # A refused plan may have written the set before; nobody else writes its status.
        version = owner.resource_version if refusal is None else ""
        yield Patch(_KIND, owner.key, {"status": change}, owner.uid, version, "status")


def has_rolled_out(view: Observation) -> bool:
    """Tell whether every replica has the present templates, acted on, and serves."""
    revision = view.revisions.update
    return len(view.living) == view.target and all(
        replica.is_at(revision) and replica.is_settled for replica in view.living
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
    """Name the lowest ordinal in flight; since when it waits for the same thing is kept."""
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
    if replica.is_leaving and not replica.is_deleting:
        return "ManagedSeedDeleting" if replica.managed_seed is not None else "ShootDeleting"
    if stage is not Stage.MANAGED_SEED_REGISTERED:
        return _REASONS[stage]
    return "ShootNotHealthy" if replica.is_seed_ready else "SeedNotReady"


def _available(view: Observation) -> _Said:
    ready = sum(replica.is_ready for replica in view.living)
    message = f"{ready} of {view.target} replicas are ready"
    if ready >= view.target:
        return _Said(names.AVAILABLE, conditions.TRUE, "ReplicasReady", message)
    return _Said(names.AVAILABLE, conditions.FALSE, "ReplicasNotReady", message)


def _progressing(view: Observation, work: Work) -> _Said:
    for replica in view.replicas:
        if scaling.is_given_up(replica, view):
            message = f"Shoot {replica.name} failed {replica.retries + 1} times, see its status"
            return _Said(names.PROGRESSING, conditions.FALSE, "ReplicaFailed", message)
    if view.in_flight:
        listed = ", ".join(f"{each.name}: {_reason(each)}" for each in view.in_flight)
        return _Said(names.PROGRESSING, conditions.TRUE, "Scaling", f"waiting for {listed}")
    behind = [each for each in view.living if not each.is_at(view.revisions.update)]
    if work.waits_for is not None:
        wait = work.waits_for
        stuck = wait.reason in ("HostedShootsUnready", "ShootReconcileFailed")
        status = conditions.FALSE if stuck else conditions.TRUE
        return _Said(names.PROGRESSING, status, wait.reason, wait.message)
    if behind and view.settings.paused:
        message = f"{len(behind)} replicas wait until the set is resumed (spec.paused)"
        return _Said(names.PROGRESSING, conditions.FALSE, "Paused", message)
    if behind and all(each.ordinal < view.settings.partition for each in behind):
        held = f"{len(behind)} replicas below partition {view.settings.partition} are held back"
        return _Said(names.PROGRESSING, conditions.TRUE, "PartitionReached", held)
    if behind:
        message = f"{len(behind)} replicas are to be updated"
        return _Said(names.PROGRESSING, conditions.TRUE, "Updating", message)
    message = f"all replicas have revision {view.revisions.update}"
    return _Said(names.PROGRESSING, conditions.TRUE, "Complete", message)


def _refused(refusal: Refusal) -> _Said:
    """Tell which fields of the template the API server does not take."""
    told = [f"{cause.get('field')}: {cause.get('message')}" for cause in refusal.causes]
    what = f"{refusal.action.kind.name} {refusal.action.key.name}"
    message = f"{what} was refused: {'; '.join(told) or refusal.message}"
    return _Said(names.PROGRESSING, conditions.FALSE, "TemplateRefused", message)


def _blocked(work: Work) -> _Said:
    if not work.blocked:
        message = "no replica that should go has to stay"
        return _Said(names.SCALE_IN_BLOCKED, conditions.FALSE, "NothingBlocked", message)
    message = f"cannot go yet: {scalein.tell(work.blocked)}"
    return _Said(names.SCALE_IN_BLOCKED, conditions.TRUE, "ReplicasNeeded", message)


def _selector_text(raw: Draft) -> str:
    """Write the selector as kubectl does, for the scale subresource."""
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
