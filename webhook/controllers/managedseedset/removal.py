"""Remove replicas step by step: hide the seed, see it empty once more, delete, and undo."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.api.timestamps import TimestampError, format_micro_time, parse_time
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.managedseedset.work import Work
from webhook.domain import scalein
from webhook.domain.replicas import Half, Replica
from webhook.runtime.actions import Action, Delete, Patch

_SEED: Final = kind_of_model(Seed)
_SHOOT: Final = kind_of_model(Shoot)
_MANAGED_SEED: Final = kind_of_model(ManagedSeed)
_SEED_SECONDS: Final = 30.0


def choose(replica: Replica, now: datetime) -> Iterator[Action]:
    """Mark a replica for removal and keep new shoots off its seed.

    The mark comes first: our scheduler passes marked seeds by, and if we stop here it is found.
    """
    stamp = format_micro_time(now)
    yield from (_annotate(half, {names.SCALE_IN: stamp}) for half in replica.halves)
    yield from _hide(replica)


def undo(replica: Replica) -> Iterator[Action]:
    """Take a choice back; the mark goes last, so that half an undoing is finished later."""
    seed = replica.seed
    if seed is not None and names.SCALE_IN in seed.metadata.annotations:
        shown: Draft = {
            "metadata": {"annotations": {names.SCALE_IN: None}},
            "spec": {"settings": {"scheduling": {"visible": True}}},
        }
        yield Patch(_SEED, seed.key, shown, seed.uid)
    for half in (replica.managed_seed, replica.shoot):
        if half is not None and names.SCALE_IN in half.metadata.annotations:
            yield _annotate(half, {names.SCALE_IN: None})


def advance(replica: Replica, view: Observation, work: Work) -> None:
    """Take the next step in removing a replica that was chosen, or undo the choice."""
    if replica.managed_seed is not None and not replica.managed_seed.is_deleting:
        _leave(replica, replica.managed_seed, view, work)
    elif replica.managed_seed is None and replica.shoot is not None:
        _delete_shoot(replica, replica.shoot, work)


def _leave(replica: Replica, managed_seed: ManagedSeed, view: Observation, work: Work) -> None:
    obstacle = scalein.obstacle(replica)
    if obstacle is not None:
        work.add(*undo(replica))
        work.tell("ScaleInUndone", f"{replica.name} stays: {obstacle}")
        return
    marked = all(_marked_at(half) is not None for half in replica.halves)
    if not marked or (replica.seed is not None and replica.seed.is_visible):
        work.add(*choose(replica, view.now))
        return
    rest = _rest(replica.halves, view)
    if rest > 0:
        work.look_again(rest)
        return
    work.add(
        Delete(_MANAGED_SEED, managed_seed.key, managed_seed.uid, managed_seed.resource_version)
    )
    work.tell("DeletingManagedSeed", f"deleting ManagedSeed {replica.name}")


def _delete_shoot(replica: Replica, shoot: Shoot, work: Work) -> None:
    if shoot.is_deleting:
        return
    if replica.users:
        work.add(*undo(replica))
        return
    if replica.seed is not None:
        # Its ManagedSeed is gone, so the Seed was: the watch has yet to show that.
        work.look_again(_SEED_SECONDS)
        return
    if shoot.metadata.annotations.get(names.DELETION_CONFIRMATION) != "true":
        work.add(_annotate(shoot, {names.DELETION_CONFIRMATION: "true"}))
        return
    # With the version: if the garbage collector has just orphaned it, it is not ours to delete.
    work.add(Delete(_SHOOT, shoot.key, shoot.uid, shoot.resource_version))
    work.tell("DeletingShoot", f"deleting Shoot {shoot.name}")


def _hide(replica: Replica) -> Iterator[Action]:
    seed = replica.seed
    if seed is None or not seed.is_visible:
        return
    hidden: Draft = {
        "metadata": {"annotations": {names.SCALE_IN: "hidden"}},
        "spec": {"settings": {"scheduling": {"visible": False}}},
    }
    yield Patch(_SEED, seed.key, hidden, seed.uid, seed.resource_version)


def _annotate(half: Half, annotations: Draft) -> Patch:
    kind = _SHOOT if isinstance(half, Shoot) else _MANAGED_SEED
    change = {"metadata": {"annotations": annotations}}
    return Patch(kind, half.key, change, half.uid, half.resource_version)


def _rest(halves: Iterable[Half], view: Observation) -> float:
    """Return for how many seconds a choice still has to settle."""
    marks = [mark for half in halves if (mark := _marked_at(half)) is not None]
    settled = max(marks) + timedelta(seconds=view.options.settle_seconds)
    return (settled - view.now).total_seconds()


def _marked_at(half: Half) -> datetime | None:
    try:
        return parse_time(half.metadata.annotations.get(names.SCALE_IN, ""))
    except TimestampError:
        return None
