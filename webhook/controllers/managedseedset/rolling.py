"""Bring replicas to the revision that they should have, in place and one at a time."""

from webhook.api import names
from webhook.controllers.managedseedset import bodies
from webhook.controllers.managedseedset.observation import Observation
from webhook.controllers.managedseedset.work import Work
from webhook.domain import rollout
from webhook.domain.replicas import Replica
from webhook.domain.rollout import Update, Wait
from webhook.runtime.actions import Patch


def advance(view: Observation, work: Work) -> None:
    """Take the next step of a rolling update, unless the set is paused or busy scaling."""
    if view.settings.paused or view.owner.is_deleting:
        return
    if _mend_new(view, work) or view.in_flight or work.writes:
        return
    if _is_complete(view):
        return
    known = view.revisions
    step = rollout.next_step(view.replicas, known.update, view.settings, known.current)
    if isinstance(step, Wait):
        work.waits_for = step
    elif isinstance(step, Update):
        name = step.replica.name
        work.tell("Updating", f"updating {name} to {known.update}")
        _update(step.replica, known.update, view, work)


def _is_complete(view: Observation) -> bool:
    """Tell whether the rollout has ended: trouble that comes later is none of its."""
    known = view.revisions
    ended = known.current == known.update
    return ended and all(replica.is_at(known.update) for replica in view.living)


def _mend_new(view: Observation, work: Work) -> bool:
    """Give a mended template at once to replicas that are being made: nobody is on them yet."""
    found = False
    for replica in view.living:
        revision = view.wanted_revision(replica.ordinal)
        # One whose status was lost looks as if it were new, but shoots on it tell otherwise.
        young = replica.is_creating and not replica.users
        if young and replica.shoot is not None and not replica.is_at(revision):
            _update(replica, revision, view, work)
            found = True
    return found


def _update(replica: Replica, revision: str, view: Observation, work: Work) -> None:
    data = view.revisions.data.get(revision) or {}
    # The Shoot first: the seed may only ask for what its Shoot has, new zones for instance.
    work.add(bodies.shoot(view.owner, replica.name, revision, data, new=False))
    if replica.managed_seed is not None:
        work.add(bodies.managed_seed(view.owner, replica.name, revision, data, new=False))
    shoot = replica.shoot
    if shoot is not None and names.SHOOT_RETRIES in shoot.metadata.annotations:
        forget = {"metadata": {"annotations": {names.SHOOT_RETRIES: None}}}
        work.add(Patch(bodies.SHOOT, shoot.key, forget, shoot.uid))
