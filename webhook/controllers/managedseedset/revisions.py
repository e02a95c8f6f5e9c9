"""The history of a set's templates, kept as ControllerRevisions as a StatefulSet's is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.api.core import ControllerRevision
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft, Raw
from webhook.domain import replicas as domain
from webhook.domain import rollout
from webhook.domain.replicas import Replica
from webhook.runtime.actions import Action, Create, Delete, Patch

_KIND: Final = kind_of_model(ControllerRevision)
_OWNER: Final = kind_of_model(ManagedSeedSet)
_MOST_COLLISIONS: Final = 10
"""More than anybody has seen; a name is a hash of 47 bits."""


class Revisions(NamedTuple):
    """Which revisions there are, and which of them counts."""

    current: str
    """What was rolled out last; new replicas below the partition get it."""
    update: str
    """The present templates."""
    collisions: int
    known: tuple[ControllerRevision, ...]
    data: Mapping[str, Any]
    """By name, the templates of each revision, the present ones included."""
    missing: Draft | None = None
    """The revision that must be recorded before anything is made from it."""
    outdated: ControllerRevision | None = None
    """The recorded revision that the set has come back to, below its old number."""

    @property
    def highest(self) -> int:
        return max((each.revision for each in self.known), default=0)


def judge(
    owner: ManagedSeedSet,
    data: Raw,
    known: Sequence[ControllerRevision],
    is_taken: Callable[[str], bool],
    replicas: Sequence[Replica],
) -> Revisions:
    """Find the revision of the present templates among those that are recorded, or make it.

    `is_taken` tells whether a ControllerRevision has a name already, whoever it belongs to.
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
    """Write down the present templates before anything is made from them."""
    if revisions.missing is not None:
        return [Create(_KIND, revisions.missing)]
    if revisions.outdated is not None:
        old = revisions.outdated
        change = {"revision": revisions.highest + 1}
        return [Patch(_KIND, old.key, change, old.uid, old.resource_version)]
    return []


def prune(
    owner: ManagedSeedSet, revisions: Revisions, replicas: Sequence[Replica], limit: int
) -> Sequence[Action]:
    """Forget the oldest revisions beyond the limit; what is in use is kept and not counted."""
    used = {domain.revision_of(half) for replica in replicas for half in replica.halves}
    used |= {revisions.current, revisions.update}
    idle = [each for each in revisions.known if each.name not in used]
    idle.sort(key=lambda each: each.revision)
    surplus = idle[: max(0, len(idle) - max(0, limit))]
    return [Delete(_KIND, each.key, each.uid) for each in surplus]


def remove_all(revisions: Revisions) -> Sequence[Action]:
    """Forget the whole history, when the set goes."""
    return [Delete(_KIND, each.key, each.uid) for each in revisions.known]


def owner_reference(owner: ManagedSeedSet) -> Draft:
    """Say that a set controls an object."""
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
    """Find what was rolled out last; where the status is lost, the lowest ordinal tells.

    Updates come from above, so the lowest replica is the last to get one.
    """
    if owner.status.current_revision in known:
        return owner.status.current_revision
    for replica in replicas:
        for half in replica.halves:
            if domain.revision_of(half) in known:
                return domain.revision_of(half)
    return update


def _collisions_of(owner: ManagedSeedSet, data: Raw, name: str) -> int:
    """Tell from a revision's name how many others of the same content were taken before it."""
    for count in range(_MOST_COLLISIONS):
        if rollout.revision_name(owner.name, data, count) == name:
            return count
    return 0


def _body(owner: ManagedSeedSet, name: str, number: int, data: Raw) -> Draft:
    labels = dict(owner.spec.template.metadata.labels)
    return {
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(owner)],
        },
        "data": data,
        "revision": number,
    }
