"""Grants what admission decides: permits for MachineSets, sizes for MachineDeployments.

Sets and deployments are read live: a cache that lags by a second could miss machines. The reads
are few, because only changes of a size in an adaptive pool need a grant.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple, TypeVar

from webhook.admission.decision import Grant
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError
from webhook.cluster.requests import Selection
from webhook.domain.pools import discovery, machine_sets, machines, permits, pool_record
from webhook.domain.pools.discovery import Pool
from webhook.domain.pools.permits import SizeRequest
from webhook.domain.pools.pool_record import PoolRecord
from webhook.kube.clock import Clock, within
from webhook.kube.meta import Object
from webhook.kube.resource_versions import ordinal
from webhook.nodegroups.records import PoolRecordContendedError, PoolRecords
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheReader

logger = logging.getLogger(__name__)

SECONDS: Final = 2.0
"""How long a grant may take in an admission; after that the size stays as it is."""

T = TypeVar("T", bound=Object)

_SET: Final = MachineSet.__name__
_CACHE_POLLS: Final = 10
_PAUSE: Final = 0.03


class StaleReadError(Exception):
    """The live read is older than the MachineSets that the pool record has taken into account."""


class _LivePool(NamedTuple):
    """A pool as the API server returned it."""

    pool: Pool
    deployments: Mapping[str, MachineDeployment]
    sets: tuple[MachineSet, ...]
    version: str


class PoolGranter:
    """Records grants in the pool record, and returns the granted sizes."""

    def __init__(
        self, client: Client, cache: CacheReader, records: PoolRecords, clock: Clock
    ) -> None:
        self._client = client
        self._cache = cache
        self._records = records
        self._clock = clock

    async def take(self, grant: Grant, *, dry_run: bool) -> int:
        """Return the granted size; the present one if the grant fails."""
        try:
            async with within(self._clock, SECONDS):
                return await self._take(grant, dry_run=dry_run)
        except (TimeoutError, ApiError, PoolRecordContendedError) as error:
            reason = str(error) or f"no answer within {SECONDS:g} seconds"
            fields = {"pool": grant.pool.name, "deployment": grant.deployment, "error": reason}
            logger.warning("could not grant a size", extra=fields)
            return grant.old

    async def _take(self, grant: Grant, *, dry_run: bool) -> int:
        while True:
            live = await self._read_live(grant)
            if live is None:
                return grant.size
            await self._wait_for_cache(live)
            decide = partial(self._decide, grant, live)
            try:
                if dry_run:
                    return decide(await self._records.read(live.pool.key, SECONDS))[1]
                return await self._records.change(live.pool.key, decide, SECONDS)
            except StaleReadError:
                continue

    async def _wait_for_cache(self, live: _LivePool) -> None:
        """Wait a moment for the cache to show the machines that are reported available.

        A controller whose write is refused because of a lagging cache would have to be triggered
        again.
        """
        for _ in range(_CACHE_POLLS):
            snapshot = self._cache.snapshot()
            if not any(_is_ahead_of(owned, snapshot) for owned in live.sets):
                return
            await self._clock.sleep(_PAUSE)

    def _decide(self, grant: Grant, live: _LivePool, record: PoolRecord) -> tuple[PoolRecord, int]:
        if ordinal(record.seen_through.get(_SET, "")) > ordinal(live.version):
            raise StaleReadError
        if grant.uid:
            return self._grant_permit(record, grant, live)
        return self._grant_size(record, grant, live)

    def _grant_permit(
        self, record: PoolRecord, grant: Grant, live: _LivePool
    ) -> tuple[PoolRecord, int]:
        snapshot = self._cache.snapshot()
        now = snapshot.taken_at
        current = machine_sets.drop_fulfilled_grants(record, live.sets, now)
        zones = machine_sets.count_zones(
            live.pool, live.sets, lambda owned: snapshot.children(Machine, owned), current, now
        )
        request = SizeRequest(grant.deployment, grant.uid, grant.old, grant.size)
        permitted = permits.permit_size(
            live.pool.permits, zones, machine_sets.granted_sizes(current), request
        )
        if permitted.is_permit:
            granted = pool_record.add_grant(
                current, grant.uid, grant.deployment, permitted.size, now
            )
            return granted, permitted.size
        if grant.uid in record.grants:
            return pool_record.drop_grants(current, [grant.uid]), permitted.size
        return record, permitted.size

    def _grant_size(
        self, record: PoolRecord, grant: Grant, live: _LivePool
    ) -> tuple[PoolRecord, int]:
        # Increases by others are recorded, too: two users who scale two zones at once meet here.
        current = pool_record.drop_observed_targets(record, live.deployments.get)
        own = live.pool.zone(grant.deployment)
        used = pool_record.committed_size(live.pool, current)
        others = used - (pool_record.size_of(own, current) if own is not None else 0)
        size = max(grant.old, min(grant.size, live.pool.maximum - others))
        if size == grant.old:
            return record, size
        now = self._clock.now()
        return pool_record.add_target(current, grant.deployment, size, grant.version, now), size

    async def _read_live(self, grant: Grant) -> _LivePool | None:
        """Read the pool; None if it needs no grants any more."""
        deployments, _ = await self._list(MachineDeployment, grant.pool.namespace)
        sets, version = await self._list(MachineSet, grant.pool.namespace)
        pool = self._find(grant, deployments)
        named = {each.name: each for each in deployments}
        if pool is None or not pool.is_adaptive:
            return None
        if grant.uid and not machine_sets.has_permits(named[grant.deployment]):
            return None
        return _LivePool(pool, named, tuple(sets), version)

    def _find(self, grant: Grant, deployments: list[MachineDeployment]) -> Pool | None:
        """Find the pool by the deployment; a deployment that is being created is in none yet."""
        specs = discovery.discoveries(self._cache.snapshot().options.nodegroups.discovery)
        found, _ = discovery.discover(deployments, specs)
        for pool in found:
            has_zone = pool.zone(grant.deployment) is not None
            if has_zone or (not grant.uid and pool.key == grant.pool):
                return pool
        return None

    async def _list(self, model: type[T], namespace: str) -> tuple[list[T], str]:
        selection = Selection(kind_of_model(model), namespace)
        found: list[T] = []
        version = ""
        async for page in self._client.pages(selection):
            found.extend(decode(model, item) for item in page.items)
            version = page.version
        return found, version


def _is_ahead_of(owned: MachineSet, snapshot: Snapshot) -> bool:
    """Return whether a live MachineSet has more available machines than the cache shows."""
    available = sum(machines.is_available(each) for each in snapshot.children(Machine, owned))
    return available < min(owned.status.available_replicas, owned.spec.replicas)
