"""Rolling updates: brings replicas to their revision in place, one at a time."""

from webhook.api import names
from webhook.controllers.managedseedset import manifests
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.managedseedset.plan_draft import PlanDraft
from webhook.domain.sets import rollout
from webhook.domain.sets.replicas import Replica
from webhook.domain.sets.rollout import UpdateReplica, WaitForReplica
from webhook.runtime.actions import Patch


def advance(view: Observation, draft: PlanDraft) -> None:
    """Take the next step of a rolling update, unless the set is paused or scaling."""
    if view.settings.paused or view.owner.is_deleting:
        return
    if _update_new(view, draft) or view.in_flight or draft.writes:
        return
    if _is_complete(view):
        return
    known = view.revisions
    step = rollout.next_step(view.replicas, known.update, view.settings, known.current)
    if isinstance(step, WaitForReplica):
        draft.waits_for = step
    elif isinstance(step, UpdateReplica):
        name = step.replica.name
        draft.updates = True
        draft.emit("Updating", f"updating {name} to {known.update}")
        _update(step.replica, known.update, view, draft)


def _is_complete(view: Observation) -> bool:
    """Return whether the rollout is complete: later failures of replicas do not reopen it."""
    known = view.revisions
    ended = rollout.has_ended(view.owner, known.current, known.update)
    return ended and all(replica.is_at(known.update) for replica in view.active)


def _update_new(view: Observation, draft: PlanDraft) -> bool:
    """Update replicas that are being created at once: they host no shoots yet.

    Waiting until they are ready could last for ever if the old template is what keeps them from it.
    """
    found = False
    for replica in view.active:
        revision = view.wanted_revision(replica.ordinal)
        # A replica whose status was lost looks new, but not if it hosts shoots.
        is_new = replica.is_creating and not replica.users
        if is_new and replica.shoot is not None and not replica.is_at(revision):
            _update(replica, revision, view, draft)
            found = True
    return found


def _update(replica: Replica, revision: str, view: Observation, draft: PlanDraft) -> None:
    data = view.revisions.data.get(revision) or {}
    # The Shoot first: the seed may only use what its Shoot has, such as new zones.
    draft.add(manifests.shoot(view.owner, replica.name, revision, data, new=False))
    if replica.managed_seed is not None:
        draft.add(manifests.managed_seed(view.owner, replica.name, revision, data, new=False))
    shoot = replica.shoot
    if shoot is not None and names.SHOOT_RETRIES in shoot.metadata.annotations:
        cleared = {"metadata": {"annotations": {names.SHOOT_RETRIES: None}}}
        draft.add(Patch(manifests.SHOOT, shoot.key, cleared, shoot.uid))
