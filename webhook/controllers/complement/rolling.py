"""One step of a rolling update: what a replica gets, and when it has it."""

from datetime import datetime
from typing import Any, Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft
from webhook.api.patches import merge_diff
from webhook.api.shoots import Shoot
from webhook.api.timestamps import format_time
from webhook.controllers.complement.replicas import Member, template_of
from webhook.controllers.managedseedset.observation import Observation
from webhook.domain import health, maintenance, rollout, threeway
from webhook.domain import replicas as domain
from webhook.domain.replicas import Half, Replica
from webhook.domain.rollout import Settings, Wait
from webhook.runtime.actions import Patch

_OWN_OPERATIONS: Final = (names.OPERATION_RECONCILE, names.OPERATION_RETRY)


def patches(member: Member, view: Observation, *, respects_window: bool) -> list[Patch]:
    """Bring both halves to the present revision, by what has changed since their own.

    The Shoot goes first: the seed may only ask for what its Shoot has, new zones for instance.
    """
    halves = [half for half in member.replica.halves if not _is_at(half, view)]
    return [_patch(member, half, view, respects_window=respects_window) for half in halves]


def trouble_of(replica: Replica, settings: Settings, now: datetime) -> Wait | None:
    """Say what an updated replica still lacks: an operation of the Shoot that began afterwards."""
    shoot = replica.shoot
    wanted = _awaited(shoot) if shoot is not None else 0
    if shoot is not None and (shoot.metadata.generation or 0) < wanted:
        return _wait_for_window(replica, shoot, now)
    if shoot is not None and (shoot.status.observed_generation or 0) < wanted:
        message = f"the Shoot of {replica.name} has not begun with what was changed"
        return Wait(replica, "ShootReconciling", message)
    return rollout.trouble_of(replica, settings)


def _wait_for_window(replica: Replica, shoot: Shoot, now: datetime) -> Wait:
    opens = maintenance.opens(shoot, now)
    when = f", which opens at {format_time(opens)}" if opens is not None else ""
    window = f"waits for its maintenance window{when}"
    if replica.has_failed:
        message = f"the Shoot of {shoot.name} failed to reconcile and {window}"
        return Wait(replica, "ShootReconcileFailed", message)
    return Wait(replica, "MaintenanceWindow", f"the Shoot of {shoot.name} {window}")


def _awaited(shoot: Shoot) -> int:
    """Read the generation that our write asked for; a Shoot that we did not change waits not.

    Gardener puts back defaults that a template drops, and a write that changes nothing raises
    nothing, unless the Shoot confines changes: that one raises it in its window.
    """
    noted = shoot.metadata.annotations.get(names.ROLLED_GENERATION, "")
    wanted = int(noted) if noted.isascii() and noted.isdigit() else 0
    was_raised = (shoot.metadata.generation or 0) >= wanted
    return wanted if was_raised or maintenance.is_confined(shoot) else 0


def _is_at(half: Half, view: Observation) -> bool:
    return domain.revision_of(half) == view.revisions.update


def _patch(member: Member, half: Half, view: Observation, *, respects_window: bool) -> Patch:
    data, raw = view.revisions.data, member.raws[type(half)]
    old = template_of(data.get(domain.revision_of(half)), half, member.name)
    new = template_of(data[view.revisions.update], half, member.name)
    live = _changeable(raw)
    wanted = {
        "metadata": threeway.advance(
            live["metadata"], _metadata(old), _metadata(new), ("metadata",)
        ),
        "spec": threeway.advance(
            live["spec"], old.get("spec") or {}, new.get("spec") or {}, ("spec",)
        ),
    }
    change: Draft = merge_diff(live, wanted)
    metadata: Draft = change.setdefault("metadata", {})
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        names.CONTROLLER_REVISION_HASH: view.revisions.update,
    }
    if isinstance(half, Shoot) and "spec" in change:
        confined = maintenance.confines(wanted["spec"])
        marks = _marks(half, confined=confined, respects_window=respects_window)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **marks}
    version = raw["metadata"]["resourceVersion"]
    return Patch(kind_of_model(type(half)), half.key, change, half.uid, version)


def _marks(shoot: Shoot, *, confined: bool, respects_window: bool) -> dict[str, str]:
    """Note when a change is done; one that would be confined is asked for at once, or then."""
    marks = {names.ROLLED_GENERATION: str((shoot.metadata.generation or 0) + 1)}
    if not confined:
        return marks
    operation = shoot.status.last_operation
    failed = operation is not None and operation.state == health.FAILED
    if not respects_window:
        marks[names.OPERATION] = _asked(shoot, failed=failed)
    elif failed:
        marks[names.NEEDS_RETRY] = "true"
    return marks


def _asked(shoot: Shoot, *, failed: bool) -> str:
    """Ask Gardener to begin; what others have asked for stays.

    With a Shoot that it gave up on it begins again for nothing but a retry.
    """
    if failed:
        return names.OPERATION_RETRY
    told = shoot.metadata.annotations.get(names.OPERATION, "").split(names.OPERATION_SEPARATOR)
    present = [each.strip() for each in told if each.strip()]
    if any(each in names.LONE_OPERATIONS for each in present):
        return names.OPERATION_SEPARATOR.join(present)
    others = [each for each in present if each not in _OWN_OPERATIONS]
    return names.OPERATION_SEPARATOR.join((*others, names.OPERATION_RECONCILE))


def is_done(replica: Replica) -> bool:
    """Tell whether a replica's Shoot has finished with what it was given, and it serves."""
    shoot = replica.shoot
    return (
        shoot is not None
        and (shoot.status.observed_generation or 0) >= _awaited(shoot)
        and (shoot.metadata.generation or 0) >= _awaited(shoot)
        and health.is_reconciled(shoot)
        and replica.is_ready
    )


def _changeable(raw: Draft) -> dict[str, Any]:
    return {"metadata": _metadata(raw), "spec": raw.get("spec") or {}}


def _metadata(raw: Draft) -> dict[str, Any]:
    metadata = raw.get("metadata") or {}
    return {field: metadata.get(field) or {} for field in ("labels", "annotations")}
