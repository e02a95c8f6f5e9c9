"""The replicas of a set that Gardener created, with all fields of their objects."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset.observation import Observation
from webhook.domain.sets import rollout, three_way_merge
from webhook.domain.sets.replicas import Replica, ReplicaObject, revision_of
from webhook.kube.meta import Draft, Raw
from webhook.state.snapshot import Snapshot

PARTS: Final = {Shoot: "shootTemplate", ManagedSeed: "template"}
"""The field of the set's spec with the template of each kind."""


@dataclass(frozen=True, slots=True)
class LiveReplica:
    """A replica as decisions read it, and its objects with all fields."""

    replica: Replica
    """Every object has a revision here: one without a label counts as the current one."""
    raws: Mapping[type[Any], Draft]
    unlabelled: tuple[ReplicaObject, ...] = ()

    @property
    def name(self) -> str:
        return self.replica.name


def live_replicas(
    view: Observation, shoots: Mapping[str, Draft], snapshot: Snapshot
) -> list[LiveReplica] | None:
    """Join active replicas with their whole objects; None while one was not read at its version.

    `shoots` has the whole Shoots by uid; the cache keeps ManagedSeeds whole.
    """
    found: list[LiveReplica] = []
    for replica in view.active:
        if replica.is_deleting:
            continue
        whole: dict[type[Any], Draft] = {}
        for obj in replica.objects:
            is_shoot = isinstance(obj, Shoot)
            raw = shoots.get(obj.uid) if is_shoot else snapshot.raw(ManagedSeed, obj.key)
            if raw is None or raw["metadata"].get("resourceVersion") != obj.resource_version:
                return None
            whole[type(obj)] = raw
        unlabelled = tuple(obj for obj in replica.objects if not revision_of(obj))
        found.append(LiveReplica(_recorded(replica, view.revisions.current), whole, unlabelled))
    return found


def revision_of_new(member: LiveReplica, obj: ReplicaObject, view: Observation) -> str | None:
    """Find the revision that an unlabelled object was created from, if it still matches one.

    Gardener creates replicas from the present template, so the newest revision older than the
    object is the likeliest. Of later revisions the oldest that matches counts: what newer ones
    changed is still to be rolled out.
    """
    made = obj.metadata.creation_timestamp or ""
    known = sorted(view.revisions.known, key=_created)
    before = [each for each in known if _created(each)[0] <= made]
    after = known[len(before) :]
    for revision in (*reversed(before), *after):
        if not [*drift(member, obj, revision.data)]:
            return revision.name
    return None


def _created(revision: ControllerRevision) -> tuple[str, int]:
    return revision.metadata.creation_timestamp or "", revision.revision


def drift(member: LiveReplica, obj: ReplicaObject, data: Any) -> Iterator[str]:
    """List the fields in which an object differs from a revision."""
    raw, template = member.raws[type(obj)], template_of(data, obj, member.name)
    yield from three_way_merge.differences(raw.get("spec"), template.get("spec") or {}, ("spec",))
    metadata = template.get("metadata") or {}
    for field in ("labels", "annotations"):
        wanted, path = metadata.get(field) or {}, ("metadata", field)
        yield from three_way_merge.differences(raw["metadata"].get(field) or {}, wanted, path)


def template_of(data: Any, obj: ReplicaObject, name: str) -> Draft:
    """Render the template that a revision has for an object of a replica."""
    template: Raw = ((data or {}).get("spec") or {}).get(PARTS[type(obj)]) or {}
    return rollout.render_template(template, name)


# A replica that matches no revision counts as rolled out last: later changes reach it, and its
# drift stays.
def _recorded(replica: Replica, current: str) -> Replica:
    shoot, managed_seed = replica.shoot, replica.managed_seed
    return replace(
        replica,
        shoot=_labelled(shoot, current) if shoot is not None else None,
        managed_seed=_labelled(managed_seed, current) if managed_seed is not None else None,
    )


def _labelled(obj: Any, revision: str) -> Any:
    if revision_of(obj):
        return obj
    labels = {**obj.metadata.labels, names.CONTROLLER_REVISION_HASH: revision}
    metadata = msgspec.structs.replace(obj.metadata, labels=labels)
    return msgspec.structs.replace(obj, metadata=metadata)
