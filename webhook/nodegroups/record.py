"""Change the record of a pool by compare-and-swap, within a deadline."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeVar

from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import Object, ObjectKey
from webhook.api.poolobjects import POOL_OBJECT, PoolObject
from webhook.api.versions import ordinal
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    UnreachableError,
)
from webhook.cluster.requests import Selection
from webhook.domain import poolencoding, poolrecord
from webhook.domain.poolrecord import Record
from webhook.domain.pools import PoolKey
from webhook.runtime.clock import Clock, within
from webhook.state.snapshot import Snapshot

logger = logging.getLogger(__name__)

T = TypeVar("T")

_COUNTED: Final[Mapping[str, type[Object]]] = {
    model.__name__: model for model in (MachineDeployment, MachineSet, Machine)
}
_SEEN_SHARE: Final = 0.6
"""How much of the time may be spent on waiting for the cache."""


class BusyError(Exception):
    """The record could not be changed in time: others are faster, or our cache is too old."""


class Remembering(Protocol):
    """The part of the cache that records need."""

    def snapshot(self) -> Snapshot: ...

    def watches(self, model: type[Object]) -> bool: ...

    def peek(self, model: type[PoolObject], key: ObjectKey) -> PoolObject | None: ...

    async def wait_seen(self, model: type[Object], version: str) -> None: ...


class Records:
    """Keeps the records of all pools."""

    def __init__(self, client: Client, cache: Remembering, namespace: str, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._namespace = namespace
        self._clock = clock
        self._known: dict[PoolKey, Record] = {}

    def key_of(self, pool: PoolKey) -> ObjectKey:
        """Tell where a pool's record is kept."""
        return ObjectKey(self._namespace, poolencoding.name_of(pool))

    def recall(self, pool: PoolKey) -> Record:
        """Give a record as it was last seen, for showing and for sizing."""
        known = self._known.get(pool) or Record(pool)
        seen = self._watched(pool)
        return seen if seen and ordinal(seen.version) > ordinal(known.version) else known

    async def change(
        self, pool: PoolKey, decide: Callable[[Record], tuple[Record, T]], seconds: float
    ) -> T:
        """Change a record, and give what `decide` found besides.

        `decide` is asked again with the newer record whenever another server was faster; a record
        that it leaves as it is costs no write. It sees a cache as new as the record asks for, as
        long as it does not wait. Raises BusyError, or an ApiError if the API server is away.
        """
        record = self.recall(pool)
        if not record.version:
            record = await self._read(pool, seconds)
        end = self._clock.monotonic() + seconds
        while (rest := end - self._clock.monotonic()) > 0:
            record = await self._catch_up(record, rest)
            changed, result = decide(record)
            if changed == record:
                return result
            if await self._swap(changed, rest):
                return result
            record = await self._read(pool, max(0.1, end - self._clock.monotonic()))
        raise BusyError(f"the record of pool {pool.name} is written by others all the time")

    async def read(self, pool: PoolKey, seconds: float) -> Record:
        """Read a record from the API server; an absent one says nothing yet."""
        return await self._read(pool, seconds)

    def forget(self, pool: PoolKey) -> None:
        """Remember nothing of a pool that is gone."""
        self._known.pop(pool, None)

    def _watched(self, pool: PoolKey) -> Record | None:
        if not self._cache.watches(PoolObject):
            return None
        found = self._cache.peek(PoolObject, self.key_of(pool))
        return poolencoding.decode(found) if found is not None else None

    async def _read(self, pool: PoolKey, seconds: float) -> Record:
        self._known.pop(pool, None)
        try:
            body = await self._client.send(requests.get(POOL_OBJECT, self.key_of(pool)), seconds)
        except NotFoundError:
            return Record(pool)
        return self._keep(pool, body)

    async def _swap(self, changed: Record, seconds: float) -> bool:
        """Write a record if nobody else has since it was read."""
        key = self.key_of(changed.key)
        draft = poolencoding.encode(changed, self._namespace)
        self._known.pop(changed.key, None)
        try:
            write = requests.update if changed.version else requests.create
            body = await self._client.send(write(POOL_OBJECT, key, draft), seconds)
        except (ConflictError, AlreadyExistsError, NotFoundError):
            return False
        except UnreachableError:
            # Whether it came through, the next reading shows: `decide` must know its own again.
            return False
        self._keep(changed.key, body)
        return True

    def _keep(self, pool: PoolKey, body: bytes) -> Record:
        record = poolencoding.decode(decode(PoolObject, body)) or Record(pool)
        self._known[pool] = record
        return record

    async def _catch_up(self, record: Record, seconds: float) -> Record:
        """Wait until the cache is as new as a record asks for."""
        for kind, version in record.seen_through.items():
            model = _COUNTED.get(kind)
            if model is None or not self._cache.watches(model):
                continue
            try:
                async with within(self._clock, seconds * _SEEN_SHARE):
                    await self._cache.wait_seen(model, version)
            except TimeoutError:
                record = await self._doubt(record, model, version, seconds)
        return record

    async def _doubt(
        self, record: Record, model: type[Object], version: str, seconds: float
    ) -> Record:
        """Find out whether a version that does not come can come at all."""
        lagging = f"our cache of {model.__name__}s is older than the pool's record"
        try:
            async with asyncio.timeout(seconds):
                page = await self._client.page(Selection(kind_of_model(model)), limit=1)
        except TimeoutError as error:
            raise BusyError(lagging) from error
        if ordinal(page.version) >= ordinal(version):
            raise BusyError(lagging)
        # No server will ever show that version: its data was restored from a backup.
        fields = {"pool": record.key.name, "kind": model.__name__, "version": version}
        logger.warning("record is newer than the cluster, as after a restore", extra=fields)
        return poolrecord.reset_seen(record, model.__name__, page.version)
