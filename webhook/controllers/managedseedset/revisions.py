"""The history of a set's templates in ControllerRevisions, as StatefulSets keep it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.domain.sets import rollout
from webhook.domain.sets.replicas import Replica, revision_of
from webhook.kube.meta import Draft, Raw
from webhook.runtime.actions import Action, Create, Delete, Patch

_KIND: Final = kind_of_model(ControllerRevision)
_OWNER: Final = kind_of_model(ManagedSeedSet)
_MOST_COLLISIONS: Final = 10
"""Collisions are rare: a name is a hash of 47 bits."""


class Revisions(NamedTuple):
    """The recorded revisions, and which of them are current and updated."""

    current: str
    """The revision that was rolled out last; new replicas below the partition get it."""
    update: str
    """The revision of the present templates."""
    collisions: int
    known: tuple[ControllerRevision, ...]
    data: Mapping[str, Any]
    """The templates of each revision by its name, including the present ones."""
    missing: Draft | None = None
    """The body of the present revision if it is not recorded yet."""
    outdated: ControllerRevision | None = None
    """The recorded revision to which the set was rolled back; it needs the highest number."""

    @property
    def highest(self) -> int:
        return max((each.revision for each in self.known), default=0)


def resolve(
    owner: ManagedSeedSet,
    data: Raw,
    known: Sequence[ControllerRevision],
    is_taken: Callable[[str], bool],
    replicas: Sequence[Replica],
) -> Revisions:
    """Find the revision of the present templates among the recorded ones, or render it.

    `is_taken` returns whether any ControllerRevision has a name already.
    """
    present = rollout.canonical(data)
    collisions = owner.status.collision_count or 0
    by_name = {each.name: each for each in known}
    equal = [each for each in known if rollout.canonical(each.data) == present]
    templates: dict[str, Any] = {each.name: each.data for each in known}
    if equal:
        update = max(equal, key=lambda each: each.revision)
        highest = max(each.revision for each in known)
        outdated = update if update.revision < highest else None
        current = _current(owner, update.name, by_name, replicas)
        collisions = max(collisions, _collisions_of(owner, data, update.name))
        return Revisions(
            current, update.name, collisions, tuple(known), templates, outdated=outdated
        )
    name = rollout.revision_name(owner.name, data, collisions)
    while is_taken(name):
        collisions += 1
        name = rollout.revision_name(owner.name, data, collisions)
    templates[name] = data
    current = _current(owner, name, by_name, replicas)
    number = max((each.revision for each in known), default=0) + 1
    missing = _body(owner, name, number, data)
    return Revisions(current, name, collisions, tuple(known), templates, missing=missing)


def record(owner: ManagedSeedSet, revisions: Revisions) -> Sequence[Action]:
    """Record the present templates before replicas are created from them.

    Their revision gets the set's change cause, which may be given later than the change.
    """
    if revisions.missing is not None:
        return [Create(_KIND, revisions.missing)]
    change: Draft = {}
    if revisions.outdated is not None:
        change["revision"] = revisions.highest + 1
    present = next((each for each in revisions.known if each.name == revisions.update), None)
    cause = owner.metadata.annotations.get(names.CHANGE_CAUSE)
    if present is None:
        return []
    if cause and cause != present.metadata.annotations.get(names.CHANGE_CAUSE):
        change["metadata"] = {"annotations": {names.CHANGE_CAUSE: cause}}
    if not change:
        return []
    return [Patch(_KIND, present.key, change, present.uid, present.resource_version)]


def prune(
    owner: ManagedSeedSet, revisions: Revisions, replicas: Sequence[Replica], limit: int
) -> Sequence[Action]:
    """Delete the oldest revisions beyond the limit; those in use are kept and not counted."""
    used = {revision_of(obj) for replica in replicas for obj in replica.objects}
    used |= {revisions.current, revisions.update}
    idle = [each for each in revisions.known if each.name not in used]
    idle.sort(key=lambda each: each.revision)
    surplus = idle[: max(0, len(idle) - max(0, limit))]
    return [Delete(_KIND, each.key, each.uid) for each in surplus]


def remove_all(revisions: Revisions) -> Sequence[Action]:
    """Delete the whole history when the set is deleted."""
    return [Delete(_KIND, each.key, each.uid) for each in revisions.known]


def owner_reference(owner: ManagedSeedSet) -> Draft:
    """Return the controller reference to a set."""
    return {
        "apiVersion": _OWNER.api_version,
        "kind": _OWNER.name,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _current(
    owner: ManagedSeedSet,
    update: str,
    known: Mapping[str, ControllerRevision],
    replicas: Sequence[Replica],
) -> str:
    """Find the revision that was rolled out last; without a status the lowest ordinal decides.

    Rolling updates go from the highest ordinal down, so the lowest replica is updated last.
    """
    if owner.status.current_revision in known:
        return owner.status.current_revision
    for replica in replicas:
        for obj in replica.objects:
            if revision_of(obj) in known:
                return revision_of(obj)
    return update


def _collisions_of(owner: ManagedSeedSet, data: Raw, name: str) -> int:
    """Return the collision count that the name of a revision was rendered with."""
    for count in range(_MOST_COLLISIONS):
        if rollout.revision_name(owner.name, data, count) == name:
            return count
    return 0


def _body(owner: ManagedSeedSet, name: str, number: int, data: Raw) -> Draft:
    metadata: Draft = {
        "name": name,
        "namespace": owner.namespace,
        "labels": dict(owner.spec.template.metadata.labels),
        "ownerReferences": [owner_reference(owner)],
    }
    if cause := owner.metadata.annotations.get(names.CHANGE_CAUSE):
        metadata["annotations"] = {names.CHANGE_CAUSE: cause}
    return {"metadata": metadata, "data": data, "revision": number}
