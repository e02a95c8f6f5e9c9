"""The row of rollouts beside a Gardener, and how replicas are read whole for it."""

from typing import Any, Final

from typing_extensions import override

from webhook.api.core import ControllerRevision
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError, UnavailableError
from webhook.controllers.complement.plan import is_ours, plan
from webhook.controllers.managedseedset import mapping
from webhook.domain import ordinals
from webhook.runtime.actions import Plan
from webhook.runtime.expectations import Expectations
from webhook.runtime.reconciler import PAUSE, Reconciler, Result
from webhook.runtime.recorder import Recorder
from webhook.runtime.rows import Controller, Watch
from webhook.runtime.writer import Writer
from webhook.state.indexes import NUMBERED_SHOOTS
from webhook.state.snapshot import Snapshot

_SHOOT: Final = kind_of_model(Shoot)


def _unread(owner: Any, snapshot: Snapshot) -> Plan:
    return plan(owner, snapshot, {})


ROLLOUT: Final = Controller(
    "managedseedset.rollout",
    ManagedSeedSet,
    _unread,
    watches=(
        Watch(Shoot, mapping.of_shoot),
        Watch(ManagedSeed, mapping.of_managed_seed),
        Watch(Seed, mapping.of_seed),
        Watch(ControllerRevision, mapping.of_revision),
    ),
    needs=(Shoot, ManagedSeed, Seed),
)


class Complement(Reconciler):
    """Reads replicas whole before it plans: the cache keeps of Shoots only what others need."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        writer: Writer,
        recorder: Recorder,
        expectations: Expectations,
    ) -> None:
        super().__init__(ROLLOUT, cache, writer, recorder, expectations)
        self._client = client
        self._whole: dict[ObjectKey, dict[str, Draft]] = {}
        self._plan = self._plan_whole

    @override
    async def reconcile(self, key: ObjectKey) -> Result:
        await self._expectations.settle(key)
        try:
            await self._read_shoots(key)
        except UnavailableError:
            return Result(PAUSE, "paused")
        return await super().reconcile(key)

    def _plan_whole(self, owner: Any, snapshot: Snapshot) -> Plan:
        raws = dict(self._whole.get(owner.key, {}))
        for managed_seed in snapshot.list(ManagedSeed):
            if ordinals.ordinal_of(owner.name, managed_seed.name) is not None:
                raw = snapshot.raw(ManagedSeed, managed_seed.key)
                raws |= {managed_seed.uid: raw} if raw is not None else {}
        return plan(owner, snapshot, raws)

    async def _read_shoots(self, key: ObjectKey) -> None:
        """Read what the cache shows at another version than was read before; forget the rest."""
        snapshot = self._cache.snapshot()
        owner = snapshot.get(ManagedSeedSet, key)
        if any(snapshot.is_stale(model) for model in self._reads):
            return  # nothing is planned then, and nobody might answer
        known = self._whole.pop(key, {})
        if owner is None or not is_ours(owner, snapshot.options):
            return
        shoots = list(snapshot.by_index(NUMBERED_SHOOTS, str(key)))
        whole = self._whole[key] = {
            shoot.uid: known[shoot.uid] for shoot in shoots if shoot.uid in known
        }
        for shoot in shoots:
            if _version(whole.get(shoot.uid)) != shoot.resource_version:
                try:
                    whole[shoot.uid] = await self._client.get(_SHOOT, shoot.key)
                except NotFoundError:
                    whole.pop(shoot.uid, None)


def _version(raw: Draft | None) -> str:
    return str(raw["metadata"].get("resourceVersion")) if raw is not None else ""
