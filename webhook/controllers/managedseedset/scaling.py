"""Scaling: creates, retries and chooses replicas, as many at a time as the set allows."""

from datetime import timedelta
from typing import Final

from webhook.api import names
from webhook.api.event_reasons import Reason
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset import manifests, removal
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.managedseedset.plan_draft import PlanDraft
from webhook.domain.sets import ordinals, replicas, scale_in
from webhook.domain.sets.replicas import Replica, Stage
from webhook.domain.shoots import health
from webhook.kube.timestamps import TimestampError, parse_time
from webhook.runtime.actions import Patch

_SET: Final = kind_of_model(ManagedSeedSet)
_LONGEST_RETRY_SECONDS: Final = 3600.0


def advance(view: Observation, draft: PlanDraft) -> None:
    """Take every other replica that is in flight or has failed one step further."""
    for replica in view.replicas:
        if replica.name in draft.decided:
            continue
        if replica.has_failed and not (replica.is_scaling_in and not replica.is_deleting):
            _retry(replica, view, draft)
        elif replica.is_scaling_in:
            removal.advance(replica, view, draft)
        elif not replica.is_deleting and not view.owner.is_deleting:
            _complete(replica, view, draft)


def scale(view: Observation, draft: PlanDraft) -> None:
    """Create missing replicas or choose surplus ones, within the limit of replicas in flight."""
    surplus = len(view.active) - view.target
    if surplus < 0:
        missing = _keep(view, -surplus, draft)
        _create(view, missing, draft)
    elif surplus > 0:
        _shrink(view, surplus, draft)


def is_given_up(replica: Replica, view: Observation) -> bool:
    """Return whether a failed replica has used up its retries."""
    return replica.has_failed and replica.retries >= view.options.retry_limit


def _complete(replica: Replica, view: Observation, draft: PlanDraft) -> None:
    name = replica.name
    revision = _revision_of(replica, view)
    data = view.revisions.data.get(revision) or {}
    if replica.shoot is None:
        draft.add(manifests.shoot(view.owner, name, revision, data, new=True))
        draft.emit("RecreatingShoot", f"Shoot {name} is gone, creating it again", "Warning")
        return
    if names.SHOOT_RETRIES in replica.shoot.metadata.annotations and health.is_reconciled(
        replica.shoot
    ):
        draft.add(
            manifests.patch_metadata(replica.shoot, {"annotations": {names.SHOOT_RETRIES: None}})
        )
    if replica.stage is Stage.SHOOT_RECONCILED:
        draft.add(manifests.managed_seed(view.owner, name, revision, data, new=True))
        draft.emit("CreatingManagedSeed", f"creating ManagedSeed {name}")


def _revision_of(replica: Replica, view: Observation) -> str:
    """Return the revision that the other object of a replica is created from."""
    for obj in replica.objects:
        if replicas.revision_of(obj) in view.revisions.data:
            return replicas.revision_of(obj)
    return view.wanted_revision(replica.ordinal)


def _retry(replica: Replica, view: Observation, draft: PlanDraft) -> None:
    shoot = replica.shoot
    if shoot is None or is_given_up(replica, view):
        return
    if names.OPERATION in shoot.metadata.annotations:
        return
    pause = view.options.retry_seconds * 2**replica.retries
    seconds = min(pause, _LONGEST_RETRY_SECONDS) - _failed_for(shoot, view)
    if seconds > 0:
        draft.requeue_within(seconds)
        return
    number = replica.retries + 1
    wanted = {names.OPERATION: names.OPERATION_RETRY, names.SHOOT_RETRIES: str(number)}
    draft.add(manifests.patch_metadata(shoot, {"annotations": wanted}))
    limit = view.options.retry_limit
    reason: Reason = "RetryingShootDeletion" if shoot.is_deleting else "RetryingShootReconciliation"
    draft.emit(reason, f"trying Shoot {replica.name} again ({number} of {limit})")


def _failed_for(shoot: Shoot, view: Observation) -> float:
    operation = shoot.status.last_operation
    try:
        since = parse_time(operation.last_update_time if operation is not None else "")
    except TimestampError:
        return _LONGEST_RETRY_SECONDS
    return max(timedelta(0), view.now - since).total_seconds()


def _keep(view: Observation, missing: int, draft: PlanDraft) -> int:
    """Keep replicas that were chosen for removal instead of creating new ones."""
    for replica in reversed(view.replicas):
        going = replica.shoot is None or replica.shoot.is_deleting
        if missing > 0 and replica.is_scaling_in and not going:
            draft.add(*removal.undo(replica))
            draft.decided.add(replica.name)
            draft.emit("ScaleInUndone", f"{replica.name} stays: it is wanted again")
            missing -= 1
    return missing


def _create(view: Observation, missing: int, draft: PlanDraft) -> None:
    slots = view.settings.max_parallel - len(view.in_flight)
    count = min(missing, slots)
    if count <= 0:
        return
    first = view.next_ordinal
    draft.add(_reserve(view.owner, first + count))
    for ordinal in range(first, first + count):
        name = ordinals.name_of(view.owner.name, ordinal)
        revision = view.wanted_revision(ordinal)
        data = view.revisions.data.get(revision) or {}
        draft.add(manifests.shoot(view.owner, name, revision, data, new=True))
        draft.emit("CreatingShoot", f"creating Shoot {name}")


def _reserve(owner: ManagedSeedSet, following: int) -> Patch:
    """Record the next ordinal before the ones below it are used."""
    change = {"metadata": {"annotations": {names.NEXT_REPLICA_NUMBER: str(following)}}}
    return Patch(_SET, owner.key, change, owner.uid, owner.resource_version)


def _shrink(view: Observation, surplus: int, draft: PlanDraft) -> None:
    choice = scale_in.choose(view.replicas, surplus)
    draft.blocked = choice.blocked
    slots = view.settings.max_parallel - len(view.in_flight)
    for replica in choice.chosen:
        # A replica that is being created is in flight already: removing it takes no slot.
        if not replica.is_in_flight:
            slots -= 1
            if slots < 0:
                continue
        draft.add(*removal.choose(replica, view.now))
        draft.decided.add(replica.name)
        draft.emit("ScalingIn", f"{replica.name} is chosen for removal")
