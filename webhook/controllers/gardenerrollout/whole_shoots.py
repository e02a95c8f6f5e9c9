"""The Shoots of a set with all their fields, read from the API server as often as they change."""

from collections.abc import Mapping
from typing import Final, Protocol

from webhook.api.kinds import Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.cluster.errors import NotFoundError
from webhook.controllers.gardenerrollout.plan import is_ours
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.indexes import NUMBERED_SHOOTS
from webhook.state.snapshot import Snapshot

_SHOOT: Final = kind_of_model(Shoot)


class ReadApi(Protocol):
    """The part of the client that reads one object."""

    async def get(self, kind: Kind, key: ObjectKey) -> Draft: ...


class WholeShoots:
    """Reads the Shoots of replicas that changed since they were last read.

    The cache keeps only those fields of Shoots that decisions read, and a rolling update carries
    over a change of any field.
    """

    def __init__(self, api: ReadApi) -> None:
        self._api = api
        self._by_set: dict[ObjectKey, dict[str, Draft]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_set.values()))

    def of_set(self, key: ObjectKey) -> Mapping[str, Draft]:
        """Return the Shoots of a set by uid."""
        return self._by_set.get(key, {})

    async def refresh(self, key: ObjectKey, snapshot: Snapshot) -> None:
        """Read the Shoots whose version in the cache is another one, and forget the rest."""
        known = self._by_set.pop(key, {})
        owner = snapshot.get(ManagedSeedSet, key)
        if owner is None or not is_ours(owner, snapshot.options):
            return
        shoots = list(snapshot.by_index(NUMBERED_SHOOTS, str(key)))
        kept = self._by_set[key] = {
            shoot.uid: known[shoot.uid] for shoot in shoots if shoot.uid in known
        }
        for shoot in shoots:
            if _version(kept.get(shoot.uid)) != shoot.resource_version:
                try:
                    kept[shoot.uid] = await self._api.get(_SHOOT, shoot.key)
                except NotFoundError:
                    kept.pop(shoot.uid, None)


def _version(raw: Draft | None) -> str:
    return str(raw["metadata"].get("resourceVersion")) if raw is not None else ""
