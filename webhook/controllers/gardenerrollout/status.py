"""The status of a rollout beside a Gardener: revisions and conditions, never counters."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.controllers.gardenerrollout import rolling
from webhook.controllers.gardenerrollout.replicas import LiveReplica
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.status_patch import (
    ConditionDraft,
    describe_refusal,
    patch_status,
    set_conditions,
)
from webhook.domain.sets import rollout
from webhook.domain.sets.rollout import WaitForReplica
from webhook.kube import conditions
from webhook.kube.meta import Draft
from webhook.runtime.actions import Patch, WriteRefusal

_KIND: Final = kind_of_model(ManagedSeedSet)
_STUCK: Final = ("HostedShootsUnready", "ShootReconcileFailed")
_MAX_FIELDS: Final = 5


def write(
    view: Observation,
    members: Iterable[LiveReplica],
    drifted: Mapping[str, tuple[str, ...]],
    waits_for: WaitForReplica | None = None,
    refusal: WriteRefusal | None = None,
) -> Iterator[Patch]:
    """Patch what changed in the status, if anything."""
    known, owner = view.revisions, view.owner
    old: Draft = view.raw.get("status") or {}
    progress = (
        _refused(refusal) if refusal is not None else _progress(view, members, drifted, waits_for)
    )
    new: Draft = {
        **old,
        "currentRevision": known.update if has_rolled_out(members, view) else known.current,
        "updateRevision": known.update,
        "conditions": set_conditions(old, (progress, _drift(drifted)), view.now),
    }
    # Gardener rejects a smaller count.
    if collisions := max(owner.status.collision_count or 0, known.collisions):
        new["collisionCount"] = collisions
    yield from patch_status(_KIND, owner, old, new, any_version=refusal is not None)


def announce(
    view: Observation, members: Iterable[LiveReplica], drifted: Mapping[str, tuple[str, ...]]
) -> Iterator[Patch]:
    """Report that a rollout starts before its first write, unless that is reported already."""
    owner = view.owner
    is_reported = owner.status.update_revision == view.revisions.update
    if not is_reported or not rollout.is_progressing(owner):
        yield from write(view, members, drifted)


def has_ended(view: Observation) -> bool:
    """Return whether the present templates are rolled out."""
    return rollout.has_ended(view.owner, view.revisions.current, view.revisions.update)


def has_rolled_out(members: Iterable[LiveReplica], view: Observation) -> bool:
    """Return whether every replica has reconciled the present templates."""
    known = view.revisions
    replicas = [member.replica for member in members]
    if not all(replica.is_at(known.update) for replica in replicas):
        return False
    return has_ended(view) or all(map(rolling.is_done, replicas))


def _progress(
    view: Observation,
    members: Iterable[LiveReplica],
    drifted: Mapping[str, tuple[str, ...]],
    waits_for: WaitForReplica | None,
) -> ConditionDraft:
    known, settings = view.revisions, view.settings
    behind = [m.replica for m in members if not m.replica.is_at(known.update)]
    if waits_for is not None:
        stuck = waits_for.reason in _STUCK
        state = conditions.FALSE if stuck else conditions.TRUE
        return _progressing(state, waits_for.reason, waits_for.message)
    if behind and settings.paused:
        message = f"{len(behind)} replicas wait until the set is resumed ({names.PAUSED})"
        return _progressing(conditions.FALSE, "Paused", message)
    if behind and all(each.ordinal < settings.partition for each in behind):
        held = f"{len(behind)} replicas below partition {settings.partition} are held back"
        return _progressing(conditions.TRUE, "PartitionReached", held)
    if behind:
        message = f"{len(behind)} replicas are to be updated"
        return _progressing(conditions.TRUE, "Updating", message)
    if not has_rolled_out(members, view):
        unready = [m.name for m in members if not rolling.is_done(m.replica)]
        return _progressing(conditions.TRUE, "Updating", f"{', '.join(unready)}: not yet ready")
    own = f", {', '.join(sorted(drifted))} with differences" if drifted else ""
    message = f"all replicas have revision {known.update}{own}"
    return _progressing(conditions.TRUE, rollout.COMPLETE, message)


def _progressing(state: str, reason: str, message: str) -> ConditionDraft:
    return ConditionDraft(names.PROGRESSING, state, reason, message)


def _drift(drifted: Mapping[str, tuple[str, ...]]) -> ConditionDraft:
    if not drifted:
        message = "every replica matches its revision"
        return ConditionDraft(names.DRIFTED, conditions.FALSE, "AsRecorded", message)
    listed = "; ".join(f"{name}: {_listed(fields)}" for name, fields in sorted(drifted.items()))
    message = f"left as they are: {listed}"
    return ConditionDraft(names.DRIFTED, conditions.TRUE, "ReplicasDiffer", message)


def _listed(fields: tuple[str, ...]) -> str:
    shown = ", ".join(fields[:_MAX_FIELDS])
    more = len(fields) - _MAX_FIELDS
    return f"{shown} and {more} more" if more > 0 else shown


def _refused(refusal: WriteRefusal) -> ConditionDraft:
    what = f"{refusal.action.kind.name} {refusal.action.key.name}"
    message = f"{what} was refused: {describe_refusal(refusal)}"
    return _progressing(conditions.FALSE, "TemplateRefused", message)
