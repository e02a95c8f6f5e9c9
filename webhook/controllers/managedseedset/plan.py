"""plan(): the next writes for a ManagedSeedSet."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset import revisions, rolling, scaling, status
from webhook.controllers.managedseedset.observation import Observation, observe
from webhook.controllers.managedseedset.work import Work
from webhook.domain import ordinals
from webhook.domain.replicas import Half, is_owned
from webhook.runtime.actions import NOTHING, Action, Apply, Emit, Patch, Plan, Refusal
from webhook.state.snapshot import Snapshot

_SET: Final = kind_of_model(ManagedSeedSet)
_SHOOT: Final = kind_of_model(Shoot)
_MANAGED_SEED: Final = kind_of_model(ManagedSeed)

ORPHAN: Final = "orphan"
"""The finalizer by which Kubernetes says that dependents are to stay."""


def plan(owner: ManagedSeedSet, snapshot: Snapshot) -> Plan:
    """Decide what to write next.

    Passes are small: bookkeeping first, then what is in flight, then scaling, then the next step
    of a rolling update, and the status once nothing else is to be written.
    """
    if not snapshot.options.keeps_managed_seed_sets:
        return NOTHING
    view = observe(owner, snapshot)
    if owner.is_deleting:
        return _plan_deletion(view)
    if first := [*_keep_books(view)]:
        return Plan(tuple(first))
    return _plan_replicas(view)


def _plan_replicas(view: Observation) -> Plan:
    work = Work(view.owner)
    scaling.scale(view, work)
    scaling.advance(view, work)
    rolling.advance(view, work)
    if work.writes:
        # The status follows when these are seen: it would tell what is past by then.
        answer = partial(_answer, view, work)
        return Plan((*work.writes, *work.events), work.requeue_after, answer)
    settled = [*revisions.prune(view.owner, view.revisions, view.replicas, view.settings.history)]
    return Plan((*settled, *work.events, *status.write(view, work)), work.requeue_after)


def _plan_deletion(view: Observation) -> Plan:
    owner = view.owner
    if ORPHAN in owner.metadata.finalizers:
        halves = (half for replica in view.replicas for half in replica.halves)
        owned = [half for half in halves if is_owned(half, owner)]
        return Plan((*_release(owner, owned), *_let_go(owner)))
    if view.replicas or view.claim.release:
        releases = tuple(_release(owner, view.claim.release))
        replicas = _plan_replicas(view)
        return replicas._replace(actions=(*releases, *replicas.actions))
    return Plan((*revisions.remove_all(view.revisions), *_let_go(owner)))


def _keep_books(view: Observation) -> Iterator[Action]:
    """Take what is ours, give back what is not, record the present templates."""
    owner = view.owner
    if names.GARDENER_FINALIZER not in owner.metadata.finalizers:
        finalizers = [*owner.metadata.finalizers, names.GARDENER_FINALIZER]
        yield _patch_set(owner, {"finalizers": finalizers})
    yield from _release(owner, view.claim.release)
    for half in view.claim.adopt:
        references = [*_references(half, ""), revisions.owner_reference(owner)]
        yield _patch_half(half, {"ownerReferences": references})
    yield from revisions.record(owner, view.revisions)


def _release(owner: ManagedSeedSet, halves: Iterable[Half]) -> Iterator[Action]:
    """Give up objects without touching anything else of them, and let their seeds be used."""
    for half in halves:
        metadata: Draft = {"ownerReferences": _references(half, owner.uid)}
        if names.SCALE_IN in half.metadata.annotations:
            metadata["annotations"] = {names.SCALE_IN: None}
        yield _patch_half(half, metadata)


def _references(half: Half, without: str) -> list[Draft]:
    return [
        {
            "apiVersion": reference.api_version,
            "kind": reference.kind,
            "name": reference.name,
            "uid": reference.uid,
            "controller": reference.controller,
            "blockOwnerDeletion": reference.block_owner_deletion,
        }
        for reference in half.metadata.owner_references
        if reference.uid != without
    ]


def _let_go(owner: ManagedSeedSet) -> Iterator[Action]:
    if names.GARDENER_FINALIZER in owner.metadata.finalizers:
        rest = [name for name in owner.metadata.finalizers if name != names.GARDENER_FINALIZER]
        yield _patch_set(owner, {"finalizers": rest})


def _patch_set(owner: ManagedSeedSet, metadata: Draft) -> Patch:
    return Patch(_SET, owner.key, {"metadata": metadata}, owner.uid, owner.resource_version)


def _patch_half(half: Half, metadata: Draft) -> Patch:
    kind = _SHOOT if isinstance(half, Shoot) else _MANAGED_SEED
    return Patch(kind, half.key, {"metadata": metadata}, half.uid, half.resource_version)


def _answer(view: Observation, work: Work, refusal: Refusal) -> Iterator[Action]:
    """Tell what the API server does not take, and free the ordinal that was not used after all."""
    action = refusal.action
    existing = {replica.name for replica in view.replicas}
    ordinal = ordinals.ordinal_of(view.owner.name, action.key.name)
    if isinstance(action, Apply) and ordinal is not None and action.key.name not in existing:
        noted = {"annotations": {names.NEXT_REPLICA_NUMBER: str(ordinal)}}
        yield Patch(_SET, view.owner.key, {"metadata": noted}, view.owner.uid)
    told = Work(view.owner, blocked=work.blocked)
    yield from status.write(view, told, refusal)
    yield Emit(_SET, view.owner, "TemplateRefused", refusal.message, "Warning")
