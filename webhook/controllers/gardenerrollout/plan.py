"""plan(): the next writes for a set whose replicas Gardener creates."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, Protocol

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.controllers.gardenerrollout import rolling, status
from webhook.controllers.gardenerrollout.replicas import (
    LiveReplica,
    drift,
    live_replicas,
    revision_of_new,
)
from webhook.controllers.managedseedset import revisions
from webhook.controllers.managedseedset.observation import Observation, observe
from webhook.domain.options import Options
from webhook.domain.sets import rollout
from webhook.domain.sets.replicas import revision_of
from webhook.domain.sets.rollout import UpdateReplica, WaitForReplica
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.actions import NOTHING, Action, Emit, Patch, Plan, WriteRefusal
from webhook.state.snapshot import Snapshot

_SET: Final = kind_of_model(ManagedSeedSet)
_SOON: Final = 0.5
"""How soon to continue when a replica was not read yet, or was just updated."""
_LATER: Final = 60.0
"""How soon to check again on a replica that the update waits for."""


def is_ours(owner: ManagedSeedSet, options: Options) -> bool:
    """Return whether we roll out a set that Gardener scales."""
    return (
        options.beside_gardener
        and not options.reconciles_managed_seed_sets
        and not owner.is_deleting
        and owner.metadata.annotations.get(names.ROLLOUT) == "true"
    )


class SetShoots(Protocol):
    """The Shoots of sets with all their fields."""

    def of_set(self, key: ObjectKey) -> Mapping[str, Draft]:
        """Return the Shoots of a set by uid."""


def plan(owner: ManagedSeedSet, snapshot: Snapshot, whole_shoots: SetShoots) -> Plan:
    """Record the template, label the replicas that match it, update one replica, write the status.

    An update patches any field that the template changed, so it needs whole Shoots.
    """
    if not is_ours(owner, snapshot.options):
        return NOTHING
    view = observe(owner, snapshot)
    if first := revisions.record(owner, view.revisions):
        return Plan(tuple(first))
    members = live_replicas(view, whole_shoots.of_set(owner.key), snapshot)
    if members is None:
        return Plan(requeue_after=_SOON)
    if labels := [*_label(members, view)]:
        return Plan(tuple(labels))
    drifted = {member.name: fields for member in members if (fields := _drift_of(member, view))}
    step = _next_step(members, view)
    if isinstance(step, UpdateReplica):
        chosen = next(member for member in members if member.name == step.replica.name)
        respects = snapshot.options.rollout.respect_window
        writes = rolling.patches(chosen, view, respects_window=respects)
        event = Emit(_SET, owner, "Updating", f"updating {chosen.name} to {view.revisions.update}")
        refused = partial(_on_refusal, view, members, drifted)
        # The status goes first: a SeedAutoscaler must not remove a replica that is being updated.
        announced = status.announce(view, members, drifted)
        return Plan((*announced, *writes, event), _SOON, refused)
    waits_for = step if isinstance(step, WaitForReplica) else None
    finished = [*_finish(members, view)]
    return Plan(
        (*finished, *status.write(view, members, drifted, waits_for)), _LATER if waits_for else None
    )


def _label(members: Iterable[LiveReplica], view: Observation) -> Iterator[Patch]:
    """Label replicas without a revision with the one that they were created from."""
    for member in members:
        for obj in member.unlabelled:
            revision = revision_of_new(member, obj, view)
            if revision is not None:
                labels = {names.CONTROLLER_REVISION_HASH: revision}
                change = {"metadata": {"labels": labels}}
                kind = kind_of_model(type(obj))
                yield Patch(kind, obj.key, change, obj.uid, obj.resource_version)


def _drift_of(member: LiveReplica, view: Observation) -> tuple[str, ...]:
    data = view.revisions.data
    return tuple(
        f"{type(obj).__name__} {field}"
        for obj in member.replica.objects
        for field in drift(member, obj, data.get(revision_of(obj)))
    )


def _next_step(
    members: Iterable[LiveReplica], view: Observation
) -> UpdateReplica | WaitForReplica | None:
    known = view.revisions
    replicas = [member.replica for member in members]
    if status.has_ended(view) and all(each.is_at(known.update) for each in replicas):
        return None  # later failures of replicas do not reopen a complete rollout
    unready = partial(rolling.update_blocker, now=view.now)
    return rollout.next_step(replicas, known.update, view.settings, known.current, unready)


def _finish(members: Iterable[LiveReplica], view: Observation) -> Iterator[Action]:
    replicas = [member.replica for member in members]
    yield from revisions.prune(view.owner, view.revisions, replicas, view.settings.history)
    if status.has_rolled_out(members, view) and not status.has_ended(view):
        message = f"all replicas have revision {view.revisions.update}"
        yield Emit(_SET, view.owner, "RolledOut", message)


def _on_refusal(
    view: Observation,
    members: Iterable[LiveReplica],
    drifted: Mapping[str, tuple[str, ...]],
    refusal: WriteRefusal,
) -> Iterator[Action]:
    """Report the refused write."""
    yield from status.write(view, members, drifted, refusal=refusal)
    yield Emit(_SET, view.owner, "TemplateRefused", refusal.message, "Warning")
