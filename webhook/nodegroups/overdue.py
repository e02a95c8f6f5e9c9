"""Overdue targets of pool records: sizes that were recorded and not written in time."""

from functools import partial
from typing import Final

from webhook.api import names
from webhook.api.machines import MachineDeployment
from webhook.cluster.errors import ConflictError
from webhook.domain.pools import pool_record
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.pool_record import Find, PoolRecord, SizeTarget
from webhook.kube import timestamps
from webhook.kube.clock import Clock
from webhook.kube.meta import Draft, ObjectKey
from webhook.nodegroups.deployments import LiveDeployments, NodeGroupNotFoundError
from webhook.nodegroups.records import PoolRecords
from webhook.state.views import CacheReader

GRANT_SECONDS: Final = 2.4
"""How long the change of a record may take: contention must end before the whole timeout."""


class OverdueTargets:
    """Drops targets whose writers do not finish, after making sure that their writes fail."""

    def __init__(
        self, deployments: LiveDeployments, records: PoolRecords, cache: CacheReader, clock: Clock
    ) -> None:
        self._deployments = deployments
        self._records = records
        self._cache = cache
        self._clock = clock

    async def drop(self, pool: PoolKey) -> None:
        """Drop the overdue targets of a pool."""
        find = deployments_in(self._cache, pool.namespace)
        record = pool_record.drop_observed_targets(self._records.newest_known(pool), find)
        for name, target in pool_record.overdue(record, self._clock.now()).items():
            seen = await self._invalidate_write(ObjectKey(pool.namespace, name), target)
            drop = partial(_drop_target, name, target, seen)
            await self._records.change(pool, drop, GRANT_SECONDS)

    async def _invalidate_write(self, key: ObjectKey, target: SizeTarget) -> str:
        """Make sure that the write of a target conflicts; return the version of the deployment."""
        while True:
            try:
                live = await self._deployments.read(key)
            except NodeGroupNotFoundError:
                return ""
            if pool_record.resolve_overdue(target, live) == "drop":
                return live.resource_version
            touched = timestamps.format_micro_time(self._clock.now())
            change: Draft = {
                "metadata": {
                    "resourceVersion": live.resource_version,
                    "annotations": {names.TOUCHED: touched},
                }
            }
            try:
                return (await self._deployments.patch(key, change)).resource_version
            except ConflictError:
                continue


def deployments_in(cache: CacheReader, namespace: str) -> Find:
    """Return the function that finds a MachineDeployment of a namespace in the cache."""

    def find(name: str) -> MachineDeployment | None:
        return cache.snapshot().get(MachineDeployment, ObjectKey(namespace, name))

    return find


def _drop_target(
    zone: str, target: SizeTarget, seen: str, record: PoolRecord
) -> tuple[PoolRecord, None]:
    without = pool_record.drop_target(record, zone, target.resource_version)
    return pool_record.raise_seen_through(without, MachineDeployment.__name__, seen), None
