"""Changes the sizes of node groups, within the maximum of their pool."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, NamedTuple

from webhook.api.machines import MachineDeployment
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, ConflictError, UnreachableError
from webhook.domain.pools import increases, pool_record, scale_down
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.node_groups import ZoneGroup
from webhook.domain.pools.pool_record import OpenIncrease, PoolRecord, SizeTarget
from webhook.domain.pools.scale_down import ScaleDown
from webhook.kube.clock import Clock, within
from webhook.kube.meta import Draft, ObjectKey
from webhook.kube.resource_versions import ordinal
from webhook.nodegroups.deployments import LiveDeployments, NodeGroupNotFoundError
from webhook.nodegroups.overdue import GRANT_SECONDS, OverdueTargets, deployments_in
from webhook.nodegroups.records import PoolRecordContendedError, PoolRecords
from webhook.nodegroups.views import Views
from webhook.state.views import AssumingCache

logger = logging.getLogger(__name__)

SECONDS: Final = 3.0
"""How long a change may take; the default timeout of an autoscaler's call is five seconds."""

REST_SECONDS: Final = 1.5
"""How long the rest of a scale-up may take: an autoscaler waits for its refresh meanwhile."""

_RETRY_SECONDS: Final = 0.1
_NOT_NOW: Final = (PoolRecordContendedError, TimeoutError, ApiError, NodeGroupNotFoundError)


class _Intent(NamedTuple):
    """The write to one MachineDeployment that a decision requires."""

    size: int
    version: str
    """Empty if the cache is older than the record: read the MachineDeployment first."""
    granted: int


@dataclass(slots=True)
class _Attempt:
    """The state of one increase: the wanted size, its stage, and its target in the record."""

    group: ZoneGroup
    delta: int
    stage: Literal["waiting", "granting", "writing"] = "waiting"
    wanted: int | None = None
    is_rest: bool = False
    """Whether the other zones have had their shares."""
    granted: int = 0
    recorded: SizeTarget | None = None


class Resizer:
    """Writes sizes; in this process one change of a pool at a time, else by the pool's record."""

    def __init__(
        self, client: Client, cache: AssumingCache, records: PoolRecords, views: Views, clock: Clock
    ) -> None:
        self._deployments = LiveDeployments(client, cache, views, SECONDS)
        self._overdue = OverdueTargets(self._deployments, records, cache, clock)
        self._cache = cache
        self._records = records
        self._views = views
        self._clock = clock
        self._locks: dict[PoolKey, asyncio.Lock] = {}

    async def increase(self, group: ZoneGroup, delta: int) -> int:
        """Increase a size by at most its share of what is left of the pool; return that number.

        What it does not get is recorded, for `grant_rest`. Contention grants nothing. A write with
        unknown outcome counts as granted, because the record counts it. Raises an UnavailableError
        if the API server is unavailable.
        """
        attempt = _Attempt(group, delta)
        try:
            async with self._locked(group.pool.key):
                attempt.stage = "granting"
                await self._overdue.drop(group.pool.key)
                await self._increase(attempt)
        except PoolRecordContendedError:
            return 0
        except TimeoutError as error:
            if attempt.stage == "granting":
                raise UnreachableError("the API server does not answer in time") from error
            return attempt.granted if attempt.stage == "writing" else 0
        return attempt.granted

    async def grant_rest(self, namespace: str) -> int:
        """Grant what increases did not get at first, if anything is left; return that number.

        The increases stay in the record until their sizes are written, so that another server can
        continue. If the API server is unavailable or busy, they stay for the next time.
        """
        granted = 0
        for pool in self._views.get(namespace).pools:
            if not self._records.newest_known(pool.key).increases:
                continue
            try:
                async with self._locked(pool.key, REST_SECONDS):
                    granted += await self._grant_rest(pool.key)
            except _NOT_NOW as error:
                fields = {"pool": pool.key.name, "error": str(error) or "no answer in time"}
                logger.info("could not grant the rest of a scale-up", extra=fields)
        return granted

    async def delete(self, group: ZoneGroup, ids: Iterable[str]) -> ScaleDown:
        """Delete the machines of nodes; raises the errors of `scale_down.for_nodes`."""
        wanted = [*ids]

        def choose(found: ZoneGroup) -> ScaleDown:
            owners = self._views.get(found.pool.key.namespace).owners
            return scale_down.for_nodes(found, wanted, owners)

        return await self._scale_down(group, choose)

    async def decrease(self, group: ZoneGroup, count: int) -> ScaleDown:
        """Remove at most `count` replicas that have no Node yet."""
        return await self._scale_down(group, lambda found: scale_down.for_count(found, count))

    @asynccontextmanager
    async def _locked(self, pool: PoolKey, seconds: float = SECONDS) -> AsyncIterator[None]:
        lock = self._locks.setdefault(pool, asyncio.Lock())
        async with within(self._clock, seconds), lock:
            yield

    async def _grant_rest(self, key: PoolKey) -> int:
        record = pool_record.drop_observed_targets(
            self._records.newest_known(key), deployments_in(self._cache, key.namespace)
        )
        groups = self._groups(key)
        granted = 0
        if groups:
            sizes = increases.rest_sizes(groups[0].pool, groups, record, self._clock.now())
            for group in groups:
                if (size := sizes.get(group.zone.name)) is not None:
                    attempt = _Attempt(group, size - group.target, wanted=size, is_rest=True)
                    await self._increase(attempt)
                    granted += attempt.granted
        drop = partial(_drop_increases, record.increases)
        await self._records.change(key, drop, REST_SECONDS)
        return granted

    async def _increase(self, attempt: _Attempt) -> None:
        pool = attempt.group.pool.key
        while True:
            intent = await self._records.change(
                pool, lambda record: self._decide(record, attempt), GRANT_SECONDS
            )
            if not intent.version:
                await self._deployments.read(ObjectKey(pool.namespace, attempt.group.zone.name))
                continue
            if not intent.granted:
                return
            attempt.stage = "writing"
            if await self._write(attempt.group, intent):
                return
            attempt.stage = "granting"
            attempt.recorded = None  # the cache has a newer version by now

    def _decide(self, record: PoolRecord, attempt: _Attempt) -> tuple[PoolRecord, _Intent]:
        """Compute how much of the pool is left, and add the new size to the record as a target.

        The wanted size is fixed at the first call: if another server has written it since, or
        is about to, a repeated call must not add to it.
        """
        group = self._current(attempt.group)
        zone, pool = group.zone, group.pool
        known = record.targets.get(zone.name)
        if attempt.recorded is not None and known == attempt.recorded:
            return record, _Intent(known.target, known.resource_version, attempt.granted)
        current = pool_record.drop_observed_targets(
            record, deployments_in(self._cache, pool.key.namespace)
        )
        other = current.targets.get(zone.name)
        if other is not None and ordinal(other.resource_version) > ordinal(zone.version):
            return record, _Intent(0, "", 0)
        if attempt.wanted is None:
            attempt.wanted = zone.replicas + attempt.delta
        others = pool_record.committed_size(pool, current) - pool_record.size_of(zone, current)
        # The group's own maximum holds even if the pool has room: the default strategy has static
        # shares.
        limit = min(pool.maximum - others, max(group.bounds.maximum, zone.replicas))
        wanted = min(attempt.wanted, limit)
        size = wanted if attempt.is_rest else min(wanted, self._first_size(group, current))
        attempt.granted = max(0, attempt.delta - (attempt.wanted - size))
        now = self._clock.now()
        if size <= zone.replicas:
            attempt.granted = 0
        intent = _Intent(size, zone.version, attempt.granted)
        # If the size is counted already, both writers patch the same version.
        if attempt.granted and (other is None or other.target < size):
            record = pool_record.add_target(current, zone.name, size, zone.version, now)
            attempt.recorded = record.targets[zone.name]
        if not attempt.is_rest:
            record = increases.note(record, zone.name, wanted, size, now)
        return record, intent

    def _first_size(self, group: ZoneGroup, record: PoolRecord) -> int:
        """Return the size that a zone may have before the other zones have asked."""
        zones = increases.ranges(self._groups(group.pool.key), record, group.zone.name)
        return increases.first_size(zones, pool_record.remaining_size(group.pool, record))

    def _groups(self, pool: PoolKey) -> list[ZoneGroup]:
        groups = self._views.get(pool.namespace).groups.values()
        return [each for each in groups if each.pool.key == pool]

    async def _write(self, group: ZoneGroup, intent: _Intent) -> bool:
        """Write a size; False if it has to be granted again, for a newer version."""
        key = ObjectKey(group.pool.key.namespace, group.zone.name)
        change: Draft = {
            "metadata": {"resourceVersion": intent.version},
            "spec": {"replicas": intent.size},
        }
        while True:
            try:
                await self._deployments.patch(key, change)
            except ConflictError:
                live = await self._deployments.read(key)
                return live.spec.replicas >= intent.size
            except UnreachableError:
                # It may be written. If so, the next attempt gets a conflict.
                await self._clock.sleep(_RETRY_SECONDS)
                continue
            return True

    async def _scale_down(
        self, group: ZoneGroup, choose: Callable[[ZoneGroup], ScaleDown]
    ) -> ScaleDown:
        key = ObjectKey(group.pool.key.namespace, group.zone.name)
        try:
            async with self._locked(group.pool.key):
                while True:
                    deployment = self._cache.snapshot().get(MachineDeployment, key)
                    if deployment is None:
                        raise NodeGroupNotFoundError(f"group {group.id} does not exist any more")
                    chosen = await self._choose(group, deployment, choose)
                    if not chosen.total:
                        return chosen
                    try:
                        change = scale_down.patch_for(deployment, chosen, self._clock.now())
                        await self._deployments.patch(key, change)
                    except ConflictError:
                        await self._deployments.read(key)
                        continue
                    return chosen
        except TimeoutError as error:
            raise UnreachableError("the API server does not answer in time") from error

    async def _choose(
        self,
        group: ZoneGroup,
        deployment: MachineDeployment,
        choose: Callable[[ZoneGroup], ScaleDown],
    ) -> ScaleDown:
        """Choose replicas from the cache; placeholders again from a live list of machines.

        A machine that the cache does not show yet may be a Node by now, and removing its replica
        would remove a Node. Later machines change the MachineDeployment, so that the write
        conflicts.
        """
        found = self._current(group)
        chosen = choose(found)
        if not chosen.placeholders:
            return chosen
        members = await self._deployments.members(deployment)
        return choose(replace(self._current(group), members=members))

    def _current(self, group: ZoneGroup) -> ZoneGroup:
        found = self._views.get(group.pool.key.namespace).groups.get(group.id)
        if found is None:
            raise NodeGroupNotFoundError(f"group {group.id} does not exist any more")
        return found


def _drop_increases(
    settled: Mapping[str, OpenIncrease], record: PoolRecord
) -> tuple[PoolRecord, None]:
    return increases.drop(record, settled), None
