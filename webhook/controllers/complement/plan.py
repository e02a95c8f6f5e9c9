"""plan(): the next writes for a set whose replicas a Gardener makes."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft
from webhook.controllers.complement import rolling, status
from webhook.controllers.complement.replicas import Member, drift, members, revision_of_new
from webhook.controllers.managedseedset import revisions
from webhook.controllers.managedseedset.observation import Observation, observe
from webhook.domain import replicas as domain
from webhook.domain import rollout
from webhook.domain.options import Options
from webhook.domain.rollout import Update, Wait
from webhook.runtime.actions import NOTHING, Action, Emit, Patch, Plan, Refusal
from webhook.state.snapshot import Snapshot

_SET: Final = kind_of_model(ManagedSeedSet)
_SOON: Final = 0.5
_LATER: Final = 60.0


def is_ours(owner: ManagedSeedSet, options: Options) -> bool:
    """Tell whether a set is to be rolled by us beside a Gardener that scales it."""
    return (
        options.beside_gardener
        and not options.keeps_managed_seed_sets
        and not owner.is_deleting
        and owner.metadata.annotations.get(names.ROLLOUT) == "true"
    )


def plan(owner: ManagedSeedSet, snapshot: Snapshot, raws: Mapping[str, Draft]) -> Plan:
    """Record the template, label what matches it, roll one replica, tell.

    `raws` has the replicas' objects by uid, whole: a difference is carried over to all of one.
    """
    if not is_ours(owner, snapshot.options):
        return NOTHING
    view = observe(owner, snapshot)
    if first := revisions.record(owner, view.revisions):
        return Plan(tuple(first))
    found = members(view, raws)
    if found is None:
        return Plan(requeue_after=_SOON)
    if labels := [*_label(found, view)]:
        return Plan(tuple(labels))
    drifted = {member.name: fields for member in found if (fields := _drift_of(member, view))}
    step = _next_step(found, view)
    if isinstance(step, Update):
        chosen = next(member for member in found if member.name == step.replica.name)
        respects = snapshot.options.rollout.respect_window
        writes = rolling.patches(chosen, view, respects_window=respects)
        told = Emit(_SET, owner, "Updating", f"updating {chosen.name} to {view.revisions.update}")
        refused = partial(_answer, view, found, drifted)
        # Told before it begins: whoever scales the set must not meet a replica that changes.
        announced = status.announce(view, found, drifted)
        return Plan((*announced, *writes, told), _SOON, refused)
    waits = step if isinstance(step, Wait) else None
    settled = [*_settle(found, view)]
    return Plan((*settled, *status.write(view, found, drifted, waits)), _LATER if waits else None)


def _label(found: Iterable[Member], view: Observation) -> Iterator[Patch]:
    """Note on replicas that do not tell which revision they were made from."""
    for member in found:
        for half in member.unlabelled:
            revision = revision_of_new(member, half, view)
            if revision is not None:
                labels = {names.CONTROLLER_REVISION_HASH: revision}
                change = {"metadata": {"labels": labels}}
                kind = kind_of_model(type(half))
                yield Patch(kind, half.key, change, half.uid, half.resource_version)


def _drift_of(member: Member, view: Observation) -> tuple[str, ...]:
    data = view.revisions.data
    return tuple(
        f"{type(half).__name__} {field}"
        for half in member.replica.halves
        for field in drift(member, half, data.get(domain.revision_of(half)))
    )


def _next_step(found: Iterable[Member], view: Observation) -> Update | Wait | None:
    known = view.revisions
    replicas = [member.replica for member in found]
    if status.has_ended(view) and all(each.is_at(known.update) for each in replicas):
        return None  # trouble that comes later is none of its
    trouble = partial(rolling.trouble_of, now=view.now)
    return rollout.next_step(replicas, known.update, view.settings, known.current, trouble)


def _settle(found: Iterable[Member], view: Observation) -> Iterator[Action]:
    replicas = [member.replica for member in found]
    yield from revisions.prune(view.owner, view.revisions, replicas, view.settings.history)
    if status.has_rolled_out(found, view) and not status.has_ended(view):
        message = f"all replicas have revision {view.revisions.update}"
        yield Emit(_SET, view.owner, "RolledOut", message)


def _answer(
    view: Observation,
    found: Iterable[Member],
    drifted: Mapping[str, tuple[str, ...]],
    refusal: Refusal,
) -> Iterator[Action]:
    """Tell which fields the API server does not take."""
    yield from status.write(view, found, drifted, refusal=refusal)
    yield Emit(_SET, view.owner, "TemplateRefused", refusal.message, "Warning")
