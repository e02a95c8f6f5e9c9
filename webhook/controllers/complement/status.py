"""What is told about a rollout beside a Gardener: revisions and conditions, never counters."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from webhook.api import conditions, names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.patches import merge_diff
from webhook.controllers.complement import rolling
from webhook.controllers.complement.replicas import Member
from webhook.controllers.managedseedset.observation import Observation
from webhook.domain import rollout
from webhook.domain.rollout import Wait
from webhook.runtime.actions import Patch, Refusal

_KIND: Final = kind_of_model(ManagedSeedSet)
_STUCK: Final = ("HostedShootsUnready", "ShootReconcileFailed")
_MOST_FIELDS: Final = 5

_Said = tuple[str, str, str]


def write(
    view: Observation,
    found: Iterable[Member],
    drifted: Mapping[str, tuple[str, ...]],
    waits: Wait | None = None,
    refusal: Refusal | None = None,
) -> Iterator[Patch]:
    """Write what has changed of the status, if anything."""
    known, owner = view.revisions, view.owner
    old: Draft = view.raw.get("status") or {}
    told: list[Draft] = [dict(each) for each in old.get("conditions") or ()]
    progress = _refused(refusal) if refusal is not None else _progress(view, found, drifted, waits)
    for name, (state, reason, message) in (
        (names.PROGRESSING, progress),
        (names.DRIFTED, _drift(drifted)),
    ):
        conditions.set(told, name, state, reason=reason, message=message, now=view.now)
    new: Draft = {
        **old,
        "currentRevision": known.update if has_rolled_out(found, view) else known.current,
        "updateRevision": known.update,
        "conditions": told,
    }
    # It may never go down, so what somebody else counted stays.
    if collisions := max(owner.status.collision_count or 0, known.collisions):
        new["collisionCount"] = collisions
    if change := merge_diff(old, new):
        version = owner.resource_version if refusal is None else ""
        yield Patch(_KIND, owner.key, {"status": change}, owner.uid, version, "status")


def announce(
    view: Observation, found: Iterable[Member], drifted: Mapping[str, tuple[str, ...]]
) -> Iterator[Patch]:
    """Tell that a rollout begins, before its first write; one that goes on has been told."""
    owner = view.owner
    is_told = owner.status.update_revision == view.revisions.update
    if not is_told or not rollout.is_under_way(owner):
        yield from write(view, found, drifted)


def has_ended(view: Observation) -> bool:
    """Tell whether the present templates were rolled out before; those first seen count so.

    Revisions alone do not tell: those of a rollout that is undone are equal from its beginning.
    """
    known, status = view.revisions, view.owner.status
    if known.current != known.update or status.update_revision not in ("", known.update):
        return False
    told = conditions.get(status.conditions, names.PROGRESSING)
    return told is None or told.reason == rollout.COMPLETE


def has_rolled_out(found: Iterable[Member], view: Observation) -> bool:
    """Tell whether every replica has finished with the present templates."""
    known = view.revisions
    replicas = [member.replica for member in found]
    if not all(replica.is_at(known.update) for replica in replicas):
        return False
    return has_ended(view) or all(map(rolling.is_done, replicas))


def _progress(
    view: Observation,
    found: Iterable[Member],
    drifted: Mapping[str, tuple[str, ...]],
    waits: Wait | None,
) -> _Said:
    known, settings = view.revisions, view.settings
    behind = [m.replica for m in found if not m.replica.is_at(known.update)]
    if waits is not None:
        stuck = waits.reason in _STUCK
        return conditions.FALSE if stuck else conditions.TRUE, waits.reason, waits.message
    if behind and settings.paused:
        message = f"{len(behind)} replicas wait until the set is resumed ({names.PAUSED})"
        return conditions.FALSE, "Paused", message
    if behind and all(each.ordinal < settings.partition for each in behind):
        held = f"{len(behind)} replicas below partition {settings.partition} are held back"
        return conditions.TRUE, "PartitionReached", held
    if behind:
        return conditions.TRUE, "Updating", f"{len(behind)} replicas are to be updated"
    if not has_rolled_out(found, view):
        unready = [m.name for m in found if not rolling.is_done(m.replica)]
        return conditions.TRUE, "Updating", f"{', '.join(unready)}: not yet ready"
    own = f", {', '.join(sorted(drifted))} with differences" if drifted else ""
    return conditions.TRUE, rollout.COMPLETE, f"all replicas have revision {known.update}{own}"


def _drift(drifted: Mapping[str, tuple[str, ...]]) -> _Said:
    if not drifted:
        message = "every replica is as its revision asks"
        return conditions.FALSE, "AsRecorded", message
    told = "; ".join(f"{name}: {_listed(fields)}" for name, fields in sorted(drifted.items()))
    return conditions.TRUE, "ReplicasDiffer", f"left as they are: {told}"


def _listed(fields: tuple[str, ...]) -> str:
    shown = ", ".join(fields[:_MOST_FIELDS])
    more = len(fields) - _MOST_FIELDS
    return f"{shown} and {more} more" if more > 0 else shown


def _refused(refusal: Refusal) -> _Said:
    told = [f"{cause.get('field')}: {cause.get('message')}" for cause in refusal.causes]
    what = f"{refusal.action.kind.name} {refusal.action.key.name}"
    message = f"{what} was refused: {'; '.join(told) or refusal.message}"
    return conditions.FALSE, "TemplateRefused", message
