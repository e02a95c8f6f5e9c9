"""Pool records: read and changed by compare-and-swap, within a deadline."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.pool_records import POOL_RECORD, PoolRecordObject
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    UnreachableError,
)
from webhook.cluster.requests import Selection
from webhook.domain.pools import pool_record, record_encoding
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.pool_record import PoolRecord
from webhook.kube.clock import Clock, within
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.resource_versions import ordinal
from webhook.state.views import CacheReader

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MODELS: Final[Mapping[str, type[Object]]] = {
    model.__name__: model for model in (MachineDeployment, MachineSet, Machine)
}
_CACHE_SHARE: Final = 0.6
"""The share of the time that a change may wait for the cache."""


class PoolRecordContendedError(Exception):
    """The record could not be changed in time: other servers write it, or the cache lags."""


class PoolRecords:
    """Reads and changes the records of all pools."""

    def __init__(self, client: Client, cache: CacheReader, namespace: str, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._namespace = namespace
        self._clock = clock
        self._known: dict[PoolKey, PoolRecord] = {}

    def key_of(self, pool: PoolKey) -> ObjectKey:
        """Return the key of the ConfigMap that holds a record."""
        return ObjectKey(self._namespace, record_encoding.name_of(pool))

    def newest_known(self, pool: PoolKey) -> PoolRecord:
        """Return the newer one of the record last read or written and the record in the cache."""
        known = self._known.get(pool) or PoolRecord(pool)
        cached = self._cached(pool)
        return cached if cached and ordinal(cached.version) > ordinal(known.version) else known

    async def change(
        self, pool: PoolKey, decide: Callable[[PoolRecord], tuple[PoolRecord, T]], seconds: float
    ) -> T:
        """Change a record by `decide`, and return the second part of its result.

        `decide` is called again with the newer record if another server has written it meanwhile;
        an unchanged record is not written. When it is called, the cache is as new as the record
        requires. Raises PoolRecordContendedError, or an ApiError if the API server is unavailable.
        """
        record = self.newest_known(pool)
        if not record.version:
            record = await self.read(pool, seconds)
        end = self._clock.monotonic() + seconds
        while (rest := end - self._clock.monotonic()) > 0:
            record = await self._wait_for_cache(record, rest)
            changed, result = decide(record)
            if changed == record:
                return result
            if await self._swap(changed, rest):
                return result
            record = await self.read(pool, max(0.1, end - self._clock.monotonic()))
        raise PoolRecordContendedError(
            f"the record of pool {pool.name} changes all the time, written by other servers"
        )

    async def read(self, pool: PoolKey, seconds: float) -> PoolRecord:
        """Read a record from the API server; an empty one if it does not exist."""
        self._known.pop(pool, None)
        try:
            body = await self._client.send(requests.get(POOL_RECORD, self.key_of(pool)), seconds)
        except NotFoundError:
            return PoolRecord(pool)
        return self._keep(pool, body)

    def forget(self, pool: PoolKey) -> None:
        """Forget the record of a deleted pool."""
        self._known.pop(pool, None)

    def _cached(self, pool: PoolKey) -> PoolRecord | None:
        if not self._cache.watches(PoolRecordObject):
            return None
        found = self._cache.peek(PoolRecordObject, self.key_of(pool))
        return record_encoding.decode(found) if found is not None else None

    async def _swap(self, changed: PoolRecord, seconds: float) -> bool:
        """Write a record; False if it has changed since it was read, or if that is not known."""
        key = self.key_of(changed.key)
        draft = record_encoding.encode(changed, self._namespace)
        self._known.pop(changed.key, None)
        try:
            write = requests.update if changed.version else requests.create
            body = await self._client.send(write(POOL_RECORD, key, draft), seconds)
        except (ConflictError, AlreadyExistsError, NotFoundError):
            return False
        except UnreachableError:
            # The next read shows whether it was written: `decide` must recognize its own change.
            return False
        self._keep(changed.key, body)
        return True

    def _keep(self, pool: PoolKey, body: bytes) -> PoolRecord:
        record = record_encoding.decode(decode(PoolRecordObject, body)) or PoolRecord(pool)
        self._known[pool] = record
        return record

    async def _wait_for_cache(self, record: PoolRecord, seconds: float) -> PoolRecord:
        """Wait until the cache is as new as the record requires."""
        for kind, version in record.seen_through.items():
            model = _MODELS.get(kind)
            if model is None or not self._cache.watches(model):
                continue
            try:
                async with within(self._clock, seconds * _CACHE_SHARE):
                    await self._cache.wait_seen(model, version)
            except TimeoutError:
                record = await self._check_version(record, model, version, seconds)
        return record

    async def _check_version(
        self, record: PoolRecord, model: type[Object], version: str, seconds: float
    ) -> PoolRecord:
        """Reset a version that the cluster has not reached; raise if only the cache lags."""
        message = f"our cache of {model.__name__}s is older than the pool's record"
        try:
            async with asyncio.timeout(seconds):
                page = await self._client.page(Selection(kind_of_model(model)), limit=1)
        except TimeoutError as error:
            raise PoolRecordContendedError(message) from error
        if ordinal(page.version) >= ordinal(version):
            raise PoolRecordContendedError(message)
        # The cache would never reach that version: etcd was restored from a backup.
        fields = {"pool": record.key.name, "kind": model.__name__, "version": version}
        logger.warning("record is newer than the cluster, as after a restore", extra=fields)
        return pool_record.reset_seen_through(record, model.__name__, page.version)
