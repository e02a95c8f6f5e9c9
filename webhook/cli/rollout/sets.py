"""Reads and changes a ManagedSeedSet in a cluster, for the rollout commands."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cli import connection
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ForbiddenError, NotFoundError
from webhook.domain.sets import replicas, rollout
from webhook.domain.sets.replicas import Replica
from webhook.kube.meta import Draft, Object, ObjectKey

T = TypeVar("T", bound=Object)

_SET: Final = kind_of_model(ManagedSeedSet)
_QUERY: Final = {"fieldManager": "kubectl-espalier"}


class SetClient:
    """Reads and changes one ManagedSeedSet."""

    def __init__(self, client: Client, key: ObjectKey) -> None:
        self._client = client
        self.key = key

    async def get(self) -> ManagedSeedSet:
        """Read the set; raises NotFoundError if there is none."""
        return decode(ManagedSeedSet, await self._client.send(requests.get(_SET, self.key)))

    async def raw(self) -> Draft:
        """Read the set as raw JSON."""
        return await self._client.get(_SET, self.key)

    async def replicas(self, owner: ManagedSeedSet) -> tuple[Replica, ...]:
        """Read the set's replicas, by ordinal, without their seeds."""
        labels = owner.spec.selector.match_labels
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        shoots = await self._list(Shoot, selector)
        return replicas.claim(owner, shoots, await self._list(ManagedSeed, selector)).replicas

    async def with_seeds(self, members: Sequence[Replica]) -> tuple[Replica, ...]:
        """Add the seeds of replicas, as far as the user may read them."""
        return tuple([replace(each, seed=await self._seed(each.name)) for each in members])

    async def is_status_current(self, raw: Draft) -> bool:
        """Return whether the status of a raw set is about its present templates."""
        name = (raw.get("status") or {}).get("updateRevision")
        if not name:
            return False
        key = ObjectKey(self.key.namespace, name)
        try:
            revision = await self._client.get(kind_of_model(ControllerRevision), key)
        except NotFoundError:
            return False
        return rollout.canonical(revision.get("data")) == rollout.canonical(
            rollout.revision_data(raw)
        )

    async def _seed(self, name: str) -> Seed | None:
        request = requests.get(kind_of_model(Seed), ObjectKey("", name))
        try:
            return decode(Seed, await self._client.send(request))
        except (NotFoundError, ForbiddenError):
            return None

    async def revisions(self, owner: ManagedSeedSet) -> Sequence[ControllerRevision]:
        """Read the set's ControllerRevisions, oldest first."""
        found = await self._list(ControllerRevision)
        own = [each for each in found if each.controller and each.controller.uid == owner.uid]
        return sorted(own, key=lambda each: each.revision)

    async def restore(self, owner: ManagedSeedSet, revision: ControllerRevision) -> None:
        """Replace the templates of the set, and its change cause, by those of a revision.

        The controller does the rest, so that the set shows what was requested.
        """
        spec: Draft = (revision.data or {}).get("spec") or {}
        change: list[Draft] = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": owner.resource_version}
        ]
        change += [
            {"op": "add", "path": f"/spec/{name}", "value": spec[name]}
            for name in rollout.TEMPLATES
            if name in spec
        ]
        change += _change_cause(owner, revision)
        await self._client.patch(_SET, self.key, change, query=_QUERY)

    async def pause(self, owner: ManagedSeedSet, paused: bool) -> None:
        """Pause or resume updates; beside a Gardener by an annotation."""
        change: dict[str, Any] = {"spec": {"paused": paused}}
        if await self.is_beside_gardener():
            annotations = {names.PAUSED: "true" if paused else None}
            change = {"metadata": {"annotations": annotations}}
        change.setdefault("metadata", {})["uid"] = owner.uid
        await self._client.patch(_SET, self.key, change, query=_QUERY)

    async def is_beside_gardener(self) -> bool:
        """Return whether Gardener serves these kinds, and validates writes."""
        return await connection.has_gardener(self._client)

    async def _list(self, model: type[T], labels: str = "") -> list[T]:
        return await self._client.list_objects(model, self.key.namespace, labels)


def _change_cause(owner: ManagedSeedSet, revision: ControllerRevision) -> list[Draft]:
    """Return the JSON patch that gives a set the change cause of a revision, or none."""
    cause = revision.metadata.annotations.get(names.CHANGE_CAUSE)
    path = f"/metadata/annotations/{names.CHANGE_CAUSE.replace('/', '~1')}"
    if cause is None:
        known = names.CHANGE_CAUSE in owner.metadata.annotations
        return [{"op": "remove", "path": path}] if known else []
    if not owner.metadata.annotations:
        annotations = {names.CHANGE_CAUSE: cause}
        return [{"op": "add", "path": "/metadata/annotations", "value": annotations}]
    return [{"op": "add", "path": path, "value": cause}]
