"""Read and change sets of seeds in a cluster, for the commands about their rollouts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from webhook.api import names
from webhook.api.core import APIService, ControllerRevision
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ForbiddenError, NotFoundError
from webhook.cluster.requests import Selection
from webhook.domain import replicas, rollout
from webhook.domain.replicas import Replica

T = TypeVar("T", bound=Object)

_SET: Final = kind_of_model(ManagedSeedSet)
_GARDENER: Final = ObjectKey("", "v1beta1.core.gardener.cloud")
_QUERY: Final = {"fieldManager": "kubectl-espalier"}


class Sets:
    """One set of seeds in one cluster."""

    def __init__(self, client: Client, key: ObjectKey) -> None:
        self._client = client
        self.key = key

    async def get(self) -> ManagedSeedSet:
        """Read the set; raises NotFoundError if there is none."""
        return decode(ManagedSeedSet, await self._client.send(requests.get(_SET, self.key)))

    async def raw(self) -> Draft:
        """Read the set whole."""
        return await self._client.get(_SET, self.key)

    async def replicas(self, owner: ManagedSeedSet) -> tuple[Replica, ...]:
        """Read the set's replicas, by ordinal; where they lead to a seed is not looked at."""
        labels = owner.spec.selector.match_labels
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        shoots = await self._list(Shoot, selector)
        return replicas.claim(owner, shoots, await self._list(ManagedSeed, selector)).replicas

    async def with_seeds(self, members: Sequence[Replica]) -> tuple[Replica, ...]:
        """Add the seeds of replicas, as far as one may see them."""
        return tuple([replace(each, seed=await self._seed(each.name)) for each in members])

    async def records(self, raw: Draft) -> bool:
        """Tell whether the status of a set, read whole, is about its present templates."""
        name = (raw.get("status") or {}).get("updateRevision")
        if not name:
            return False
        key = ObjectKey(self.key.namespace, name)
        try:
            revision = await self._client.get(kind_of_model(ControllerRevision), key)
        except NotFoundError:
            return False
        return rollout.canonical(revision.get("data")) == rollout.canonical(rollout.data_of(raw))

    async def _seed(self, name: str) -> Seed | None:
        request = requests.get(kind_of_model(Seed), ObjectKey("", name))
        try:
            return decode(Seed, await self._client.send(request))
        except (NotFoundError, ForbiddenError):
            return None

    async def revisions(self, owner: ManagedSeedSet) -> Sequence[ControllerRevision]:
        """Read the set's history, oldest first."""
        found = await self._list(ControllerRevision)
        own = [each for each in found if each.controller and each.controller.uid == owner.uid]
        return sorted(own, key=lambda each: each.revision)

    async def put_back(self, owner: ManagedSeedSet, revision: ControllerRevision) -> None:
        """Write a revision's templates into the set, whole: what it lacks goes."""
        spec: Draft = (revision.data or {}).get("spec") or {}
        change: list[Draft] = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": owner.resource_version}
        ]
        change += [
            {"op": "add", "path": f"/spec/{name}", "value": spec[name]}
            for name in rollout.TEMPLATES
            if name in spec
        ]
        await self._client.patch(_SET, self.key, change, query=_QUERY)

    async def pause(self, owner: ManagedSeedSet, paused: bool) -> None:
        """Hold updates back, or let them go on; beside a Gardener by an annotation."""
        change: dict[str, Any] = {"spec": {"paused": paused}}
        if await self.is_beside_gardener():
            told = {names.PAUSED: "true" if paused else None}
            change = {"metadata": {"annotations": told}}
        change.setdefault("metadata", {})["uid"] = owner.uid
        await self._client.patch(_SET, self.key, change, query=_QUERY)

    async def is_beside_gardener(self) -> bool:
        """Tell whether Gardener serves these kinds, and judges what is written."""
        kind = kind_of_model(APIService)
        try:
            found = await self._client.get(kind, _GARDENER)
        except NotFoundError:
            return False
        return bool((found.get("spec") or {}).get("service"))

    async def _list(self, model: type[T], labels: str = "") -> list[T]:
        selection = Selection(kind_of_model(model), self.key.namespace, labels)
        found: list[T] = []
        token = ""
        while True:
            page = await self._client.page(selection, token)
            found += [decode(model, bytes(item)) for item in page.items]
            token = page.token
            if not token:
                return found
