"""One step of a rolling update: what a replica gets, and when it has it."""

from datetime import datetime
from typing import Any

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
        return Wait(replica, "MaintenanceWindow", _until(shoot, now))
    if shoot is not None and (shoot.status.observed_generation or 0) < wanted:
        message = f"the Shoot of {replica.name} has not begun with what was changed"
        return Wait(replica, "ShootReconciling", message)
    return rollout.trouble_of(replica, settings)


def _until(shoot: Shoot, now: datetime) -> str:
    opens = maintenance.opens(shoot, now)
    when = f", which opens at {format_time(opens)}" if opens is not None else ""
    return f"the Shoot of {shoot.name} waits for its maintenance window{when}"


def _awaited(shoot: Shoot) -> int:
    """Read the generation that our write asked for; a Shoot that we did not change waits not."""
    noted = shoot.metadata.annotations.get(names.ROLLED_GENERATION, "")
    return int(noted) if noted.isascii() and noted.isdigit() else 0


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
        marks = {names.ROLLED_GENERATION: str((half.metadata.generation or 0) + 1)}
        if maintenance.is_confined(half) and not respects_window:
            marks[names.OPERATION] = names.OPERATION_RECONCILE
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **marks}
    version = raw["metadata"]["resourceVersion"]
    return Patch(kind_of_model(type(half)), half.key, change, half.uid, version)


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
