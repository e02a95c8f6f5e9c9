"""Removes replicas step by step: hide the seed, wait until it is empty, delete; or undo."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset import manifests
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.managedseedset.plan_draft import PlanDraft
from webhook.domain.sets import scale_in
from webhook.domain.sets.replicas import Replica, ReplicaObject
from webhook.kube.meta import Draft
from webhook.kube.timestamps import TimestampError, format_micro_time, parse_time
from webhook.runtime.actions import Action, Delete, Patch

_SEED: Final = kind_of_model(Seed)
_SEED_SECONDS: Final = 30.0


def choose(replica: Replica, now: datetime) -> Iterator[Action]:
    """Mark a replica for removal and hide its seed from schedulers.

    The mark comes first: our scheduler skips marked seeds, and an interrupted removal is resumed.
    """
    stamp = format_micro_time(now)
    yield from (
        manifests.patch_metadata(obj, {"annotations": {names.SCALE_IN: stamp}})
        for obj in replica.objects
    )
    yield from _hide(replica)


def undo(replica: Replica) -> Iterator[Action]:
    """Undo the choice of a replica; the mark goes last, so that an interrupted undo is resumed."""
    if replica.seed is not None:
        yield from show(replica.seed)
    for obj in (replica.managed_seed, replica.shoot):
        if obj is not None and names.SCALE_IN in obj.metadata.annotations:
            yield manifests.patch_metadata(obj, {"annotations": {names.SCALE_IN: None}})


def show(seed: Seed) -> Iterator[Action]:
    """Show a seed to schedulers again if we have hidden it."""
    if names.SCALE_IN in seed.metadata.annotations:
        shown: Draft = {
            "metadata": {"annotations": {names.SCALE_IN: None}},
            "spec": {"settings": {"scheduling": {"visible": True}}},
        }
        yield Patch(_SEED, seed.key, shown, seed.uid)


def advance(replica: Replica, view: Observation, draft: PlanDraft) -> None:
    """Take the next step of removing a chosen replica, or undo the choice."""
    if replica.managed_seed is not None and not replica.managed_seed.is_deleting:
        _remove(replica, replica.managed_seed, view, draft)
    elif replica.managed_seed is None and replica.shoot is not None:
        _delete_shoot(replica, replica.shoot, draft)


def _remove(
    replica: Replica, managed_seed: ManagedSeed, view: Observation, draft: PlanDraft
) -> None:
    obstacle = scale_in.removal_blocker(replica)
    if obstacle is not None:
        draft.add(*undo(replica))
        draft.emit("ScaleInUndone", f"{replica.name} stays: {obstacle}")
        return
    marked = all(_marked_at(obj) is not None for obj in replica.objects)
    if not marked or (replica.seed is not None and replica.seed.is_visible):
        draft.add(*choose(replica, view.now))
        return
    seconds = _settle_seconds(replica.objects, view)
    if seconds > 0:
        draft.requeue_within(seconds)
        return
    # With the version: a replica that was changed since, or is wanted again, must stay.
    draft.add(
        Delete(
            manifests.MANAGED_SEED,
            managed_seed.key,
            managed_seed.uid,
            managed_seed.resource_version,
        )
    )
    draft.emit("DeletingManagedSeed", f"deleting ManagedSeed {replica.name}")


def _delete_shoot(replica: Replica, shoot: Shoot, draft: PlanDraft) -> None:
    if shoot.is_deleting:
        return
    if replica.users:
        draft.add(*undo(replica))
        return
    if replica.seed is not None:
        # The Seed was deleted before its ManagedSeed; the watch has yet to show that.
        draft.requeue_within(_SEED_SECONDS)
        return
    if shoot.metadata.annotations.get(names.DELETION_CONFIRMATION) != "true":
        draft.add(
            manifests.patch_metadata(shoot, {"annotations": {names.DELETION_CONFIRMATION: "true"}})
        )
        return
    # With the version: if the garbage collector has just orphaned the Shoot, it must stay.
    draft.add(Delete(manifests.SHOOT, shoot.key, shoot.uid, shoot.resource_version))
    draft.emit("DeletingShoot", f"deleting Shoot {shoot.name}")


def _hide(replica: Replica) -> Iterator[Action]:
    seed = replica.seed
    if seed is None or not seed.is_visible:
        return
    hidden: Draft = {
        "metadata": {"annotations": {names.SCALE_IN: scale_in.HIDDEN}},
        "spec": {"settings": {"scheduling": {"visible": False}}},
    }
    yield Patch(_SEED, seed.key, hidden, seed.uid, seed.resource_version)


def _settle_seconds(objects: Iterable[ReplicaObject], view: Observation) -> float:
    """Return how many seconds a choice still has to wait before the deletion."""
    marks = [mark for obj in objects if (mark := _marked_at(obj)) is not None]
    settled = max(marks) + timedelta(seconds=view.options.settle_seconds)
    return (settled - view.now).total_seconds()


def _marked_at(obj: ReplicaObject) -> datetime | None:
    try:
        return parse_time(obj.metadata.annotations.get(names.SCALE_IN, ""))
    except TimestampError:
        return None
