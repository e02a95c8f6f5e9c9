"""One step of a rolling update: the patches of a replica, and when it is done."""

from datetime import datetime
from typing import Any, Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.controllers.gardenerrollout.replicas import LiveReplica, template_of
from webhook.controllers.managedseedset.observation import Observation
from webhook.domain.sets import rollout, three_way_merge
from webhook.domain.sets.replicas import Replica, ReplicaObject, revision_of
from webhook.domain.sets.rollout import RolloutSettings, WaitForReplica
from webhook.domain.shoots import health, maintenance
from webhook.kube.meta import Draft
from webhook.kube.patches import merge_diff
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import Patch

_OWN_OPERATIONS: Final = (names.OPERATION_RECONCILE, names.OPERATION_RETRY)


def patches(member: LiveReplica, view: Observation, *, respects_window: bool) -> list[Patch]:
    """Patch both objects with what the templates changed since their revision.

    The Shoot goes first: the seed may only use what its Shoot has, such as new zones.
    """
    objects = [obj for obj in member.replica.objects if not _is_at(obj, view)]
    return [_patch(member, obj, view, respects_window=respects_window) for obj in objects]


def update_blocker(
    replica: Replica, settings: RolloutSettings, now: datetime
) -> WaitForReplica | None:
    """Return why an updated replica is not ready: its Shoot may not have started to reconcile."""
    shoot = replica.shoot
    wanted = _awaited(shoot) if shoot is not None else 0
    if shoot is not None and (shoot.metadata.generation or 0) < wanted:
        return _wait_for_window(replica, shoot, now)
    if shoot is not None and (shoot.status.observed_generation or 0) < wanted:
        message = f"the Shoot of {replica.name} has not started to reconcile the change"
        return WaitForReplica(replica, "ShootReconciling", message)
    return rollout.readiness_blocker(replica, settings)


def _wait_for_window(replica: Replica, shoot: Shoot, now: datetime) -> WaitForReplica:
    opens = maintenance.next_opening(shoot, now)
    when = f", which opens at {format_time(opens)}" if opens is not None else ""
    window = f"waits for its maintenance window{when}"
    if replica.has_failed:
        message = f"the Shoot of {shoot.name} failed to reconcile and {window}"
        return WaitForReplica(replica, "ShootReconcileFailed", message)
    return WaitForReplica(replica, "MaintenanceWindow", f"the Shoot of {shoot.name} {window}")


def _awaited(shoot: Shoot) -> int:
    """Return the generation that our patch leads to; 0 for a Shoot that it did not change.

    Gardener restores defaults that a template drops, and a patch without effect does not raise the
    generation. A Shoot that confines changes raises it in its maintenance window. Nothing else
    distinguishes a confined change that waits for its window from one that is rolled out.
    """
    noted = shoot.metadata.annotations.get(names.ROLLED_GENERATION, "")
    wanted = int(noted) if noted.isascii() and noted.isdigit() else 0
    was_raised = (shoot.metadata.generation or 0) >= wanted
    return wanted if was_raised or maintenance.is_confined(shoot) else 0


def _is_at(obj: ReplicaObject, view: Observation) -> bool:
    return revision_of(obj) == view.revisions.update


def _patch(
    member: LiveReplica, obj: ReplicaObject, view: Observation, *, respects_window: bool
) -> Patch:
    data, raw = view.revisions.data, member.raws[type(obj)]
    old = template_of(data.get(revision_of(obj)), obj, member.name)
    new = template_of(data[view.revisions.update], obj, member.name)
    live = _patchable(raw)
    wanted = {
        "metadata": three_way_merge.merge(
            live["metadata"], _metadata(old), _metadata(new), ("metadata",)
        ),
        "spec": three_way_merge.merge(
            live["spec"], old.get("spec") or {}, new.get("spec") or {}, ("spec",)
        ),
    }
    change: Draft = merge_diff(live, wanted)
    metadata: Draft = change.setdefault("metadata", {})
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        names.CONTROLLER_REVISION_HASH: view.revisions.update,
    }
    if isinstance(obj, Shoot) and "spec" in change:
        confined = maintenance.is_spec_confined(wanted["spec"])
        annotations = _annotations(obj, confined=confined, respects_window=respects_window)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    version = raw["metadata"]["resourceVersion"]
    return Patch(kind_of_model(type(obj)), obj.key, change, obj.uid, version)


def _annotations(shoot: Shoot, *, confined: bool, respects_window: bool) -> dict[str, str]:
    """Annotate the generation to wait for, and request a confined change now or in its window."""
    annotations = {names.ROLLED_GENERATION: str((shoot.metadata.generation or 0) + 1)}
    if not confined:
        return annotations
    operation = shoot.status.last_operation
    failed = operation is not None and operation.state == health.FAILED
    if not respects_window:
        annotations[names.OPERATION] = _operation(shoot, failed=failed)
    elif failed:
        annotations[names.NEEDS_RETRY] = "true"
    return annotations


def _operation(shoot: Shoot, *, failed: bool) -> str:
    """Return the operation that starts a reconciliation, besides the ones requested already.

    Gardener reconciles a failed Shoot for a retry only.
    """
    if failed:
        return names.OPERATION_RETRY
    requested = shoot.metadata.annotations.get(names.OPERATION, "").split(names.OPERATION_SEPARATOR)
    present = [each.strip() for each in requested if each.strip()]
    if any(each in names.EXCLUSIVE_OPERATIONS for each in present):
        return names.OPERATION_SEPARATOR.join(present)
    others = [each for each in present if each not in _OWN_OPERATIONS]
    return names.OPERATION_SEPARATOR.join((*others, names.OPERATION_RECONCILE))


def is_done(replica: Replica) -> bool:
    """Return whether a replica's Shoot has reconciled the update and the replica is ready."""
    shoot = replica.shoot
    return (
        shoot is not None
        and (shoot.status.observed_generation or 0) >= _awaited(shoot)
        and (shoot.metadata.generation or 0) >= _awaited(shoot)
        and health.is_reconciled(shoot)
        and replica.is_ready
    )


def _patchable(raw: Draft) -> dict[str, Any]:
    return {"metadata": _metadata(raw), "spec": raw.get("spec") or {}}


def _metadata(raw: Draft) -> dict[str, Any]:
    metadata = raw.get("metadata") or {}
    return {field: metadata.get(field) or {} for field in ("labels", "annotations")}
