"""The replicas of a set that Gardener made, with what they look like to the API server."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, Raw
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset.observation import Observation
from webhook.domain import replicas as domain
from webhook.domain import rollout, threeway
from webhook.domain.replicas import Half, Replica

PARTS: Final = {Shoot: "shootTemplate", ManagedSeed: "template"}
"""Which template makes which half of a replica."""


@dataclass(frozen=True, slots=True)
class Member:
    """One replica: as decisions read it, and whole."""

    replica: Replica
    """Every half has a revision here: one that does not tell counts as rolled out last."""
    raws: Mapping[type[Any], Draft]
    unlabelled: tuple[Half, ...] = ()

    @property
    def name(self) -> str:
        return self.replica.name


def members(view: Observation, raws: Mapping[str, Draft]) -> list[Member] | None:
    """Join replicas that live with their whole objects, by uid; None while one was not read."""
    found: list[Member] = []
    for replica in view.living:
        if replica.is_deleting:
            continue
        whole: dict[type[Any], Draft] = {}
        for half in replica.halves:
            raw = raws.get(half.uid)
            if raw is None or raw["metadata"].get("resourceVersion") != half.resource_version:
                return None
            whole[type(half)] = raw
        unlabelled = tuple(half for half in replica.halves if not domain.revision_of(half))
        found.append(Member(_recorded(replica, view.revisions.current), whole, unlabelled))
    return found


def revision_of_new(member: Member, half: Half, view: Observation) -> str | None:
    """Find the revision that an unlabelled half was made from, if it still looks like it.

    Gardener makes replicas from the present template, so the newest revision that was there
    before a half is the likeliest. Of those that came later the oldest counts: whatever the
    others changed is still to be rolled.
    """
    made = half.metadata.creation_timestamp or ""
    known = sorted(view.revisions.known, key=_created)
    before = [each for each in known if _created(each)[0] <= made]
    after = known[len(before) :]
    for revision in (*reversed(before), *after):
        if not [*drift(member, half, revision.data)]:
            return revision.name
    return None


def _created(revision: ControllerRevision) -> tuple[str, int]:
    return revision.metadata.creation_timestamp or "", revision.revision


def drift(member: Member, half: Half, data: Any) -> Iterator[str]:
    """Name the fields in which a half differs from what a revision asks for."""
    raw, template = member.raws[type(half)], template_of(data, half, member.name)
    yield from threeway.differences(raw.get("spec"), template.get("spec") or {}, ("spec",))
    metadata = template.get("metadata") or {}
    for field in ("labels", "annotations"):
        wanted, path = metadata.get(field) or {}, ("metadata", field)
        yield from threeway.differences(raw["metadata"].get(field) or {}, wanted, path)


def template_of(data: Any, half: Half, name: str) -> Draft:
    """Give the template that a revision has for a half, with the replica's name filled in."""
    template: Raw = ((data or {}).get("spec") or {}).get(PARTS[type(half)]) or {}
    return rollout.fill_in(template, name)


def _recorded(replica: Replica, current: str) -> Replica:
    shoot, managed_seed = replica.shoot, replica.managed_seed
    return replace(
        replica,
        shoot=_labelled(shoot, current) if shoot is not None else None,
        managed_seed=_labelled(managed_seed, current) if managed_seed is not None else None,
    )


def _labelled(half: Any, revision: str) -> Any:
    if domain.revision_of(half):
        return half
    labels = {**half.metadata.labels, names.CONTROLLER_REVISION_HASH: revision}
    metadata = msgspec.structs.replace(half.metadata, labels=labels)
    return msgspec.structs.replace(half, metadata=metadata)
