"""Change the sizes of node groups: within the pool's maximum, and no faster than is safe."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, Literal, NamedTuple, Protocol

from webhook.api import names, timestamps
from webhook.api.decode import decode
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Draft, ObjectKey
from webhook.api.versions import ordinal
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ConflictError, NotFoundError, UnreachableError
from webhook.domain import lowering, poolrecord
from webhook.domain.groups import Group
from webhook.domain.lowering import Lowering
from webhook.domain.poolrecord import Record, Target
from webhook.domain.pools import PoolKey
from webhook.nodegroups import crews
from webhook.nodegroups.record import BusyError, Records, Remembering
from webhook.nodegroups.views import Views
from webhook.runtime.actions import MANAGER
from webhook.runtime.clock import Clock, within

SECONDS: Final = 3.0
"""What a change of a size may take; an autoscaler gives a call five seconds by default."""
GRANT_SECONDS: Final = 2.4
"""What of it may be spent on the record, so that contention is told from an API server away."""

_PAUSE: Final = 0.1
_DEPLOYMENT: Final = kind_of_model(MachineDeployment)
_QUERY: Final = {"fieldManager": MANAGER}


class Assuming(Remembering, Protocol):
    """The part of the cache that shows our own writes at once."""

    def assume_written(self, kind: Kind, document: bytes) -> None: ...


class GoneError(Exception):
    """The group is no more."""


class _Intent(NamedTuple):
    """What is about to be written to one MachineDeployment."""

    size: int
    version: str
    """Empty where our cache is older than what the record names: look again first."""
    granted: int


class _Attempt:
    """One increase: what it wants, how far it came, and what it has entered into the record."""

    def __init__(self, group: Group, delta: int) -> None:
        self.group = group
        self.delta = delta
        self.stage: Literal["waiting", "granting", "writing"] = "waiting"
        self.wanted: int | None = None
        self.granted = 0
        self.entered: Target | None = None


class Resizer:
    """Writes sizes, one change a pool at a time in this process; others are met in the record."""

    def __init__(
        self, client: Client, cache: Assuming, records: Records, views: Views, clock: Clock
    ) -> None:
        self._client = client
        self._cache = cache
        self._records = records
        self._views = views
        self._clock = clock
        self._locks: dict[PoolKey, asyncio.Lock] = {}

    async def increase(self, group: Group, delta: int) -> int:
        """Grant what is left of the pool, and write it; gives how much that was.

        Contention grants nothing. A write whose outcome nobody knows counts as done, for the
        record counts it. Raises an UnavailableError if the API server is away.
        """
        attempt = _Attempt(group, delta)
        try:
            async with self._turn(group.pool.key):
                attempt.stage = "granting"
                await self._settle_overdue(group.pool.key)
                await self._increase(attempt)
        except BusyError:
            return 0
        except TimeoutError as error:
            if attempt.stage == "granting":
                raise UnreachableError("the API server does not answer in time") from error
            return attempt.granted if attempt.stage == "writing" else 0
        return attempt.granted

    async def delete(self, group: Group, ids: Iterable[str]) -> Lowering:
        """Remove the machines behind nodes; raises what `lowering.for_nodes` does."""
        wanted = [*ids]

        def choose(found: Group) -> Lowering:
            owners = self._views.get(found.pool.key.namespace).owners
            return lowering.for_nodes(found, wanted, owners)

        return await self._lower(group, choose)

    async def decrease(self, group: Group, count: int) -> Lowering:
        """Take back replicas that are no Nodes yet, at most so many."""
        return await self._lower(group, lambda found: lowering.for_count(found, count))

    @asynccontextmanager
    async def _turn(self, pool: PoolKey) -> AsyncIterator[None]:
        lock = self._locks.setdefault(pool, asyncio.Lock())
        async with within(self._clock, SECONDS), lock:
            yield

    async def _increase(self, attempt: _Attempt) -> None:
        pool = attempt.group.pool.key
        while True:
            intent = await self._records.change(
                pool, lambda record: self._decide(record, attempt), GRANT_SECONDS
            )
            if not intent.version:
                await self._read(ObjectKey(pool.namespace, attempt.group.zone.name))
                continue
            if not intent.granted:
                return
            attempt.stage = "writing"
            if await self._write(attempt.group, intent):
                return
            attempt.stage = "granting"
            attempt.entered = None  # the cache has overtaken it by now

    def _decide(self, record: Record, attempt: _Attempt) -> tuple[Record, _Intent]:
        """Find out how much of a pool is left, and enter what is taken of it.

        What is wanted is a size, fixed at the first attempt: somebody may have written it since,
        or may be about to, and whoever asks for it again must not add to it.
        """
        group = self._look(attempt.group)
        zone, pool = group.zone, group.pool
        known = record.targets.get(zone.name)
        if attempt.entered is not None and known == attempt.entered:
            return record, _Intent(known.target, known.resource_version, attempt.granted)
        settled = poolrecord.settle(record, self._finder(pool.key.namespace))
        other = settled.targets.get(zone.name)
        if other is not None and ordinal(other.resource_version) > ordinal(zone.version):
            return record, _Intent(0, "", 0)
        if attempt.wanted is None:
            attempt.wanted = zone.replicas + attempt.delta
        elsewhere = poolrecord.used(pool, settled) - poolrecord.size_of(zone, settled)
        most = min(pool.maximum - elsewhere, max(group.bounds.maximum, zone.replicas))
        aimed = min(attempt.wanted, most)
        attempt.granted = max(0, attempt.delta - (attempt.wanted - aimed))
        if aimed <= zone.replicas:
            attempt.granted = 0
            return record, _Intent(aimed, zone.version, 0)
        intent = _Intent(aimed, zone.version, attempt.granted)
        if other is not None and other.target >= aimed:
            return record, intent  # counted already: its writer and we aim at the same version
        entered = poolrecord.aim(settled, zone.name, aimed, zone.version, self._clock.now())
        attempt.entered = entered.targets[zone.name]
        return entered, intent

    async def _write(self, group: Group, intent: _Intent) -> bool:
        """Write a size; False if that has to be granted anew, at another version."""
        key = ObjectKey(group.pool.key.namespace, group.zone.name)
        change: Draft = {
            "metadata": {"resourceVersion": intent.version},
            "spec": {"replicas": intent.size},
        }
        while True:
            try:
                await self._send(key, change)
            except ConflictError:
                live = await self._read(key)
                return live.spec.replicas >= intent.size
            except UnreachableError:
                # Perhaps it came through. The version says so, as soon as somebody answers.
                await self._clock.sleep(_PAUSE)
                continue
            return True

    async def _lower(self, group: Group, choose: Callable[[Group], Lowering]) -> Lowering:
        key = ObjectKey(group.pool.key.namespace, group.zone.name)
        try:
            async with self._turn(group.pool.key):
                while True:
                    deployment = self._cache.snapshot().get(MachineDeployment, key)
                    if deployment is None:
                        raise GoneError(f"group {group.id} is no more")
                    chosen = await self._choose(group, deployment, choose)
                    if not chosen.total:
                        return chosen
                    try:
                        change = lowering.patch_for(deployment, chosen, self._clock.now())
                        await self._send(key, change)
                    except ConflictError:
                        await self._read(key)
                        continue
                    return chosen
        except TimeoutError as error:
            raise UnreachableError("the API server does not answer in time") from error

    async def _choose(
        self, group: Group, deployment: MachineDeployment, choose: Callable[[Group], Lowering]
    ) -> Lowering:
        """Choose from memory, and again from live machines where some are thought not to exist.

        A machine that memory does not show may be a Node by now, and giving its replica up would
        take a Node. What comes after this look changes the MachineDeployment, whose version the
        write insists on.
        """
        found = self._look(group)
        chosen = choose(found)
        if not chosen.unmade:
            return chosen
        members = await crews.live_members(self._client, deployment)
        return choose(replace(self._look(group), members=members))

    async def _settle_overdue(self, pool: PoolKey) -> None:
        """Clear targets away whose writers are silent, once their writes cannot come any more."""
        finder = self._finder(pool.namespace)
        known = poolrecord.settle(self._records.recall(pool), finder)
        for name, target in poolrecord.overdue(known, self._clock.now()).items():
            seen = await self._disarm(ObjectKey(pool.namespace, name), target)

            def drop(
                record: Record, name: str = name, target: Target = target, seen: str = seen
            ) -> tuple[Record, None]:
                without = poolrecord.drop_target(record, name, target.resource_version)
                return poolrecord.see(without, MachineDeployment.__name__, seen), None

            await self._records.change(pool, drop, GRANT_SECONDS)

    async def _disarm(self, key: ObjectKey, target: Target) -> str:
        """Make sure that the write which a target announces fails, and give the version seen."""
        while True:
            try:
                live = await self._read(key)
            except GoneError:
                return ""
            if poolrecord.judge(target, live) == "drop":
                return live.resource_version
            touched = timestamps.format_micro_time(self._clock.now())
            change: Draft = {
                "metadata": {
                    "resourceVersion": live.resource_version,
                    "annotations": {names.TOUCHED: touched},
                }
            }
            try:
                return (await self._send(key, change)).resource_version
            except ConflictError:
                continue

    def _look(self, group: Group) -> Group:
        found = self._views.get(group.pool.key.namespace).groups.get(group.id)
        if found is None:
            raise GoneError(f"group {group.id} is no more")
        return found

    def _finder(self, namespace: str) -> poolrecord.Find:
        def find(name: str) -> MachineDeployment | None:
            return self._cache.snapshot().get(MachineDeployment, ObjectKey(namespace, name))

        return find

    async def _send(self, key: ObjectKey, change: Draft) -> MachineDeployment:
        try:
            request = requests.patch(_DEPLOYMENT, key, change, query=_QUERY)
            body = await self._client.send(request, SECONDS)
        except NotFoundError as error:
            raise GoneError(f"MachineDeployment {key} is no more") from error
        return self._show(key, body)

    async def _read(self, key: ObjectKey) -> MachineDeployment:
        try:
            body = await self._client.send(requests.get(_DEPLOYMENT, key), SECONDS)
        except NotFoundError as error:
            raise GoneError(f"MachineDeployment {key} is no more") from error
        return self._show(key, body)

    def _show(self, key: ObjectKey, body: bytes) -> MachineDeployment:
        """Let everybody here see at once what the API server has."""
        self._cache.assume_written(_DEPLOYMENT, body)
        self._views.forget(key.namespace)
        return decode(MachineDeployment, body)
