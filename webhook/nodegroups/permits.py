"""Take what admission decides to give: permits for machine sets, room for MachineDeployments.

Sets and deployments are read live, not from memory. A cache that lags by a second could show less
than there is, and these writes are few: only changes of a size in an adaptive pool come here.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

from webhook.admission.decision import Grant
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import Object
from webhook.api.versions import ordinal
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError
from webhook.cluster.requests import Selection
from webhook.domain import fleets, machines, permits, poolrecord, pools
from webhook.domain.permits import Wish
from webhook.domain.poolrecord import Record
from webhook.domain.pools import Pool
from webhook.nodegroups.record import BusyError, Records
from webhook.runtime.clock import Clock, within
from webhook.state.snapshot import Snapshot

logger = logging.getLogger(__name__)

SECONDS: Final = 2.0
"""How long an admission may take for it; whoever asked gets what is there otherwise."""

T = TypeVar("T", bound=Object)

_SET: Final = MachineSet.__name__
_LOOKS: Final = 10
_PAUSE: Final = 0.03


class Showing(Protocol):
    """Whoever shows memory as it is now."""

    def snapshot(self) -> Snapshot: ...


class OutdatedError(Exception):
    """What was read is older than what the record of the pool takes for granted."""


class _Seen(NamedTuple):
    """A pool as the API server has it."""

    pool: Pool
    deployments: Mapping[str, MachineDeployment]
    sets: tuple[MachineSet, ...]
    version: str


class Granter:
    """Takes grants for one process."""

    def __init__(self, client: Client, cache: Showing, records: Records, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._records = records
        self._clock = clock

    async def take(self, grant: Grant, *, dry_run: bool) -> int:
        """Give the size that was got, at worst the one that is there."""
        try:
            async with within(self._clock, SECONDS):
                return await self._take(grant, dry_run=dry_run)
        except (TimeoutError, ApiError, BusyError) as error:
            said = str(error) or f"no answer within {SECONDS:g} seconds"
            fields = {"pool": grant.pool.name, "deployment": grant.deployment, "error": said}
            logger.warning("could not ask the pool for room", extra=fields)
            return grant.old

    async def _take(self, grant: Grant, *, dry_run: bool) -> int:
        while True:
            seen = await self._look(grant)
            if seen is None:
                return grant.size
            await self._catch_up(seen)
            decide = partial(self._decide, grant, seen)
            try:
                if dry_run:
                    return decide(await self._records.read(seen.pool.key, SECONDS))[1]
                return await self._records.change(seen.pool.key, decide, SECONDS)
            except OutdatedError:
                continue

    async def _catch_up(self, seen: _Seen) -> None:
        """Give memory a moment to show the machines that are reported to serve.

        Whoever is refused for what we have not seen yet would have to be woken again.
        """
        for _ in range(_LOOKS):
            snapshot = self._cache.snapshot()
            if not any(_is_ahead(owned, snapshot) for owned in seen.sets):
                return
            await self._clock.sleep(_PAUSE)

    def _decide(self, grant: Grant, seen: _Seen, record: Record) -> tuple[Record, int]:
        if ordinal(record.seen_through.get(_SET, "")) > ordinal(seen.version):
            raise OutdatedError
        if grant.uid:
            return self._permit(record, grant, seen)
        return self._make_room(record, grant, seen)

    def _permit(self, record: Record, grant: Grant, seen: _Seen) -> tuple[Record, int]:
        snapshot = self._cache.snapshot()
        now = snapshot.taken_at
        settled = fleets.settle(record, seen.sets, now)
        zones = fleets.zones(
            seen.pool, seen.sets, lambda owned: snapshot.children(Machine, owned), settled, now
        )
        wish = Wish(grant.deployment, grant.uid, grant.old, grant.size)
        answer = permits.judge(seen.pool.permits, zones, fleets.granted(settled), wish)
        if answer.is_permit:
            granted = poolrecord.grant(settled, grant.uid, grant.deployment, answer.size, now)
            return granted, answer.size
        if grant.uid in record.grants:
            return poolrecord.drop_grants(settled, [grant.uid]), answer.size
        return record, answer.size

    def _make_room(self, record: Record, grant: Grant, seen: _Seen) -> tuple[Record, int]:
        settled = poolrecord.settle(record, seen.deployments.get)
        own = seen.pool.zone(grant.deployment)
        used = poolrecord.used(seen.pool, settled)
        besides = used - (poolrecord.size_of(own, settled) if own is not None else 0)
        size = max(grant.old, min(grant.size, seen.pool.maximum - besides))
        if size == grant.old:
            return record, size
        now = self._clock.now()
        return poolrecord.aim(settled, grant.deployment, size, grant.version, now), size

    async def _look(self, grant: Grant) -> _Seen | None:
        """Read the pool; None where nobody counts its machines any more."""
        deployments, _ = await self._list(MachineDeployment, grant.pool.namespace)
        sets, version = await self._list(MachineSet, grant.pool.namespace)
        pool = self._find(grant, deployments)
        named = {each.name: each for each in deployments}
        if pool is None or not pool.is_adaptive:
            return None
        if grant.uid and not fleets.is_counted(named[grant.deployment]):
            return None
        return _Seen(pool, named, tuple(sets), version)

    def _find(self, grant: Grant, deployments: list[MachineDeployment]) -> Pool | None:
        """Find the pool of a set by its zone; a zone that is being made is in none yet."""
        specs = pools.discoveries(self._cache.snapshot().options.nodegroups.discovery)
        found, _ = pools.discover(deployments, specs)
        for pool in found:
            known = pool.zone(grant.deployment) is not None
            if known or (not grant.uid and pool.key == grant.pool):
                return pool
        return None

    async def _list(self, model: type[T], namespace: str) -> tuple[list[T], str]:
        selection = Selection(kind_of_model(model), namespace)
        found: list[T] = []
        token = ""
        while True:
            page = await self._client.page(selection, token)
            found.extend(decode(model, bytes(item)) for item in page.items)
            if not page.token:
                return found, page.version
            token = page.token


def _is_ahead(owned: MachineSet, snapshot: Snapshot) -> bool:
    """Tell whether the API server knows of more machines that serve than memory does."""
    serving = sum(machines.is_available(each) for each in snapshot.children(Machine, owned))
    return serving < min(owned.status.available_replicas, owned.spec.replicas)
