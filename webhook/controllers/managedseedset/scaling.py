"""Make, mend and choose replicas, as many at a time as the set allows."""

from datetime import timedelta
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.shoots import Shoot
from webhook.api.timestamps import TimestampError, parse_time
from webhook.controllers.managedseedset import bodies, removal
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.managedseedset.work import Work
from webhook.domain import health, ordinals, replicas, scalein
from webhook.domain.replicas import Replica, Stage
from webhook.runtime.actions import Patch

_SET: Final = kind_of_model(ManagedSeedSet)
_LONGEST_RETRY_SECONDS: Final = 3600.0


def advance(view: Observation, work: Work) -> None:
    """Take every other replica that is in flight, or broken, one step further."""
    for replica in view.replicas:
        if replica.name in work.decided:
            continue
        if replica.has_failed and not (replica.is_leaving and not replica.is_deleting):
            _retry(replica, view, work)
        elif replica.is_leaving:
            removal.advance(replica, view, work)
        elif not replica.is_deleting and not view.owner.is_deleting:
            _make(replica, view, work)


def scale(view: Observation, work: Work) -> None:
    """Start what is missing or choose what is too much, within what may be in flight."""
    surplus = len(view.living) - view.target
    if surplus < 0:
        missing = _revive(view, -surplus, work)
        _create(view, missing, work)
    elif surplus > 0:
        _shrink(view, surplus, work)


def is_given_up(replica: Replica, view: Observation) -> bool:
    """Tell whether a failed replica has used up its retries."""
    return replica.has_failed and replica.retries >= view.options.retry_limit


def _make(replica: Replica, view: Observation, work: Work) -> None:
    name = replica.name
    revision = _revision_of(replica, view)
    data = view.revisions.data.get(revision) or {}
    if replica.shoot is None:
        work.add(bodies.shoot(view.owner, name, revision, data, new=True))
        work.tell("RecreatingShoot", f"Shoot {name} is gone, making it again", "Warning")
        return
    if names.SHOOT_RETRIES in replica.shoot.metadata.annotations and health.is_reconciled(
        replica.shoot
    ):
        work.add(_annotate(replica.shoot, {names.SHOOT_RETRIES: None}))
    if replica.stage is Stage.SHOOT_RECONCILED:
        work.add(bodies.managed_seed(view.owner, name, revision, data, new=True))
        work.tell("CreatingManagedSeed", f"creating ManagedSeed {name}")


def _revision_of(replica: Replica, view: Observation) -> str:
    """Name the revision that the other half of a replica is made from."""
    for half in replica.halves:
        if replicas.revision_of(half) in view.revisions.data:
            return replicas.revision_of(half)
    return view.wanted_revision(replica.ordinal)


def _retry(replica: Replica, view: Observation, work: Work) -> None:
    shoot = replica.shoot
    if shoot is None or is_given_up(replica, view):
        return
    if names.OPERATION in shoot.metadata.annotations:
        return
    pause = view.options.retry_seconds * 2**replica.retries
    rest = min(pause, _LONGEST_RETRY_SECONDS) - _failed_for(shoot, view)
    if rest > 0:
        work.look_again(rest)
        return
    number = replica.retries + 1
    wanted = {names.OPERATION: names.OPERATION_RETRY, names.SHOOT_RETRIES: str(number)}
    work.add(_annotate(shoot, wanted))
    what = "Deletion" if shoot.is_deleting else "Reconciliation"
    limit = view.options.retry_limit
    work.tell(f"RetryingShoot{what}", f"trying Shoot {replica.name} again ({number} of {limit})")


def _failed_for(shoot: Shoot, view: Observation) -> float:
    operation = shoot.status.last_operation
    try:
        since = parse_time(operation.last_update_time if operation is not None else "")
    except TimestampError:
        return _LONGEST_RETRY_SECONDS
    return max(timedelta(0), view.now - since).total_seconds()


def _revive(view: Observation, missing: int, work: Work) -> int:
    """Keep replicas that were chosen for removal instead of making new ones."""
    for replica in reversed(view.replicas):
        going = replica.shoot is None or replica.shoot.is_deleting
        if missing > 0 and replica.is_leaving and not going:
            work.add(*removal.undo(replica))
            work.decided.add(replica.name)
            work.tell("ScaleInUndone", f"{replica.name} stays: it is wanted again")
            missing -= 1
    return missing


def _create(view: Observation, missing: int, work: Work) -> None:
    slots = view.settings.max_parallel - len(view.in_flight)
    count = min(missing, slots)
    if count <= 0:
        return
    first = view.next_ordinal
    work.add(_reserve(view.owner, first + count))
    for ordinal in range(first, first + count):
        name = ordinals.name_of(view.owner.name, ordinal)
        revision = view.wanted_revision(ordinal)
        data = view.revisions.data.get(revision) or {}
        work.add(bodies.shoot(view.owner, name, revision, data, new=True))
        work.tell("CreatingShoot", f"creating Shoot {name}")


def _reserve(owner: ManagedSeedSet, following: int) -> Patch:
    """Note which ordinal follows, before the ones below it are used."""
    change = {"metadata": {"annotations": {names.NEXT_REPLICA_NUMBER: str(following)}}}
    return Patch(_SET, owner.key, change, owner.uid, owner.resource_version)


def _shrink(view: Observation, surplus: int, work: Work) -> None:
    choice = scalein.choose(view.replicas, surplus)
    work.blocked = choice.blocked
    slots = view.settings.max_parallel - len(view.in_flight)
    for replica in choice.chosen:
        # One that is still being made is in flight already: removing it takes no other slot.
        if not replica.is_in_flight:
            slots -= 1
            if slots < 0:
                continue
        work.add(*removal.choose(replica, view.now))
        work.decided.add(replica.name)
        work.tell("ScalingIn", f"{replica.name} is chosen for removal")


def _annotate(shoot: Shoot, annotations: Draft) -> Patch:
    change = {"metadata": {"annotations": annotations}}
    return Patch(bodies.SHOOT, shoot.key, change, shoot.uid, shoot.resource_version)
