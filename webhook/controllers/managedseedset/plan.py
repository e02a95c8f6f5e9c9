"""plan(): the next writes for a ManagedSeedSet."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.controllers.managedseedset import (
    manifests,
    removal,
    revisions,
    rolling,
    scaling,
    status,
)
from webhook.controllers.managedseedset.observation import Observation, observe
from webhook.controllers.managedseedset.plan_draft import PlanDraft
from webhook.domain.sets import ordinals
from webhook.domain.sets.replicas import ReplicaObject, is_owned
from webhook.kube.meta import Draft
from webhook.runtime.actions import Action, Apply, Emit, Patch, Plan, WriteRefusal
from webhook.state.snapshot import Snapshot

_SET: Final = kind_of_model(ManagedSeedSet)

ORPHAN: Final = "orphan"
"""The finalizer of a deletion with propagation policy Orphan, which keeps the dependents."""


def plan(owner: ManagedSeedSet, snapshot: Snapshot) -> Plan:
    """Plan the next writes.

    Each plan is one small step: bookkeeping first, then scaling, then replicas in flight, then the
    next step of a rolling update, and the status once nothing else is to be written.

    Scaling comes before replicas in flight: one that is wanted again must not lose its ManagedSeed
    in the same plan.
    """
    view = observe(owner, snapshot)
    if not snapshot.options.reconciles_managed_seed_sets:
        return Plan(tuple(_hand_over(view)))
    if owner.is_deleting:
        return _plan_deletion(view)
    if first := [*_plan_bookkeeping(view)]:
        return Plan(tuple(first))
    return _plan_replicas(view)


def _plan_replicas(view: Observation) -> Plan:
    draft = PlanDraft(view.owner)
    scaling.scale(view, draft)
    scaling.advance(view, draft)
    rolling.advance(view, draft)
    if draft.writes:
        # The status follows when these writes are observed; now it would be outdated at once.
        on_refusal = partial(_on_refusal, view, draft)
        announced = status.announce(view, draft)
        actions = (*announced, *draft.writes, *draft.events)
        return Plan(actions, draft.requeue_after, on_refusal)
    pruned = [*revisions.prune(view.owner, view.revisions, view.replicas, view.settings.history)]
    return Plan((*pruned, *draft.events, *status.write(view, draft)), draft.requeue_after)


def _plan_deletion(view: Observation) -> Plan:
    owner = view.owner
    if ORPHAN in owner.metadata.finalizers:
        objects = (obj for replica in view.replicas for obj in replica.objects)
        owned = [obj for obj in objects if is_owned(obj, owner)]
        return Plan((*_release(view, owned), *_remove_finalizer(owner)))
    if view.replicas or view.claim.release:
        releases = tuple(_release(view, view.claim.release))
        replicas = _plan_replicas(view)
        return replicas._replace(actions=(*releases, *replicas.actions))
    return Plan((*revisions.remove_all(view.revisions), *_remove_finalizer(owner)))


def _plan_bookkeeping(view: Observation) -> Iterator[Action]:
    """Adopt and release objects, and record the present templates."""
    owner = view.owner
    if names.GARDENER_FINALIZER not in owner.metadata.finalizers:
        finalizers = [*owner.metadata.finalizers, names.GARDENER_FINALIZER]
        yield _patch_set(owner, {"finalizers": finalizers})
    yield from _release(view, view.claim.release)
    for obj in view.claim.adopt:
        references = [*_references(obj, ""), revisions.owner_reference(owner)]
        yield manifests.patch_metadata(obj, {"ownerReferences": references})
    yield from revisions.record(owner, view.revisions)


def _hand_over(view: Observation) -> Iterator[Action]:
    """Undo the choice of replicas once somebody else scales the set."""
    for replica in view.replicas:
        if replica.is_scaling_in and not replica.is_deleting:
            yield from removal.undo(replica)


def _release(view: Observation, objects: Iterable[ReplicaObject]) -> Iterator[Action]:
    """Show the seeds of objects, then remove their owner reference and the mark of a removal.

    A released object is not found again, so its seed comes first.
    """
    marked = [obj for obj in objects if names.SCALE_IN in obj.metadata.annotations]
    for name in sorted({obj.name for obj in marked}):
        if (seed := view.seeds.get(name)) is not None:
            yield from removal.show(seed)
    for obj in objects:
        metadata: Draft = {"ownerReferences": _references(obj, view.owner.uid)}
        if names.SCALE_IN in obj.metadata.annotations:
            metadata["annotations"] = {names.SCALE_IN: None}
        yield manifests.patch_metadata(obj, metadata)


def _references(obj: ReplicaObject, without: str) -> list[Draft]:
    return [
        {
            "apiVersion": reference.api_version,
            "kind": reference.kind,
            "name": reference.name,
            "uid": reference.uid,
            "controller": reference.controller,
            "blockOwnerDeletion": reference.block_owner_deletion,
        }
        for reference in obj.metadata.owner_references
        if reference.uid != without
    ]


def _remove_finalizer(owner: ManagedSeedSet) -> Iterator[Action]:
    if names.GARDENER_FINALIZER in owner.metadata.finalizers:
        rest = [name for name in owner.metadata.finalizers if name != names.GARDENER_FINALIZER]
        yield _patch_set(owner, {"finalizers": rest})


def _patch_set(owner: ManagedSeedSet, metadata: Draft) -> Patch:
    return Patch(_SET, owner.key, {"metadata": metadata}, owner.uid, owner.resource_version)


def _on_refusal(view: Observation, draft: PlanDraft, refusal: WriteRefusal) -> Iterator[Action]:
    """Report a refused write, and free the ordinal if the replica was not created."""
    action = refusal.action
    existing = {replica.name for replica in view.replicas}
    ordinal = ordinals.ordinal_of(view.owner.name, action.key.name)
    if isinstance(action, Apply) and ordinal is not None and action.key.name not in existing:
        noted = {"annotations": {names.NEXT_REPLICA_NUMBER: str(ordinal)}}
        yield Patch(_SET, view.owner.key, {"metadata": noted}, view.owner.uid)
    refused = PlanDraft(view.owner, blocked=draft.blocked)
    yield from status.write(view, refused, refusal)
    yield Emit(_SET, view.owner, "TemplateRefused", refusal.message, "Warning")
