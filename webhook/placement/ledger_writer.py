"""Writes the ledger of a seed by compare-and-swap, many entries at a time."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.api.core import ConfigMap
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    UnreachableError,
)
from webhook.cluster.requests import Selection
from webhook.domain.seeds import capacity, usage
from webhook.domain.seeds.capacity import CapacityError
from webhook.kube.clock import Clock, within
from webhook.kube.meta import ObjectKey
from webhook.kube.resource_versions import ordinal
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Ledger, LedgerEntry
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE
from webhook.state.views import AssumingCache

logger = logging.getLogger(__name__)

ATTEMPTS: Final = 8
SEEN_SECONDS: Final = 10.0
"""How long to wait until the cache has seen the ledger's `seenThrough`."""

EntryResult: TypeAlias = Literal["entered", "full", "no seed", "taken"]
"""`taken`: another replica places another version of the same shoot."""

OnReset: TypeAlias = Callable[[str, str], None]
"""Called with the seed and the reason when the `seenThrough` of its ledger is reset."""

_CONFIG_MAP: Final = kind_of_model(ConfigMap)
_SHOOT: Final = kind_of_model(Shoot)


class LedgerContendedError(Exception):
    """The ledger could not be written: others keep changing it, or the cache is too old."""


class _Request(NamedTuple):
    entry: LedgerEntry
    shoots_only: bool
    result: "asyncio.Future[EntryResult]"


class LedgerWriter:
    """Writes one seed's ledger.

    Entries that arrive while a write is in flight are written together by the next one, so many
    placements on a seed cost few writes.
    """

    def __init__(
        self,
        seed: str,
        client: Client,
        cache: AssumingCache,
        clock: Clock,
        on_reset: OnReset,
        known: Ledger | None = None,
    ) -> None:
        """Start with the ledger if it is known; otherwise it is read when it is needed."""
        self._seed = seed
        self._client = client
        self._cache = cache
        self._clock = clock
        self._on_reset = on_reset
        self._lock = asyncio.Lock()
        self._waiting: list[_Request] = []
        self._assumed: dict[str, LedgerEntry] = {}
        self._known = known

    def prime(self, found: Ledger) -> None:
        """Take a ledger that was read elsewhere; if it is outdated, the next write conflicts."""
        if self._known is None:
            self._known = found

    def assume(self, entry: LedgerEntry) -> None:
        """Note an entry that is not written yet while the cache already assumes its shoot.

        Other entries that are written before it must not be counted against that shoot.
        """
        self._assumed[entry.uid] = entry

    def forget(self, entry: LedgerEntry) -> None:
        """Forget an assumed entry: its placement succeeded or failed."""
        if self._assumed.get(entry.uid) is entry:
            del self._assumed[entry.uid]

    async def enter(self, entry: LedgerEntry, *, shoots_only: bool = False) -> EntryResult:
        """Write an entry if there is room for it; raises LedgerContendedError or an ApiError.

        With `shoots_only` only the number of shoots is limited, as in Gardener; the other
        resources of the entry count for later ones.
        """
        request = _Request(entry, shoots_only, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        try:
            async with self._lock:
                if not request.result.done():
                    await self._write_waiting()
            return await request.result
        finally:
            if request in self._waiting:
                self._waiting.remove(request)

    async def release(self, uid: str, version: str) -> None:
        """Remove an entry whose shoot can no longer be bound.

        One that stays behind is counted until the garbage collection removes it.
        """
        async with self._lock:
            await self._change(lambda found: ledger.release(found, uid, version))

    async def _write_waiting(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            results = await self._write(batch)
        except asyncio.CancelledError:
            self._waiting = batch + self._waiting  # the next caller that waits writes it
            raise
        except Exception as error:  # noqa: BLE001 - passed on to all callers that wait
            for request in batch:
                if not request.result.done():
                    request.result.set_exception(error)
            return
        for request, result in zip(batch, results, strict=True):
            if not request.result.done():
                request.result.set_result(result)

    async def _write(self, batch: Sequence[_Request]) -> list[EntryResult]:
        for _ in range(ATTEMPTS):
            found = self._known or await self._read()
            found = await self._catch_up(found)
            changed, results = self._admit(found, batch)
            if "entered" not in results:
                return results
            if await self._swap(changed):
                return results
        raise LedgerContendedError(f"the ledger of seed {self._seed} keeps being changed by others")

    async def _change(self, change: Callable[[Ledger], Ledger]) -> None:
        for _ in range(ATTEMPTS):
            found = self._known or await self._read()
            changed = change(found)
            if changed == found or await self._swap(changed):
                return
        raise LedgerContendedError(f"the ledger of seed {self._seed} keeps being changed by others")

    async def _swap(self, changed: Ledger) -> bool:
        """Write a ledger, unless it changed since it was read; return whether it was written."""
        self._known = None
        namespace = self._cache.snapshot().options.namespace
        draft = ledger.write(changed, namespace)
        key = ObjectKey(namespace, ledger.name_of(self._seed))
        try:
            if changed.version:
                request = requests.update(_CONFIG_MAP, key, draft)
            else:
                request = requests.create(_CONFIG_MAP, key, draft)
            body = await self._client.send(request)
        except (ConflictError, AlreadyExistsError, NotFoundError, UnreachableError):
            # The next read shows whether a write without a response was carried out.
            return False
        self._known = _read(body)
        return True

    async def _read(self) -> Ledger:
        namespace = self._cache.snapshot().options.namespace
        key = ObjectKey(namespace, ledger.name_of(self._seed))
        try:
            return _read(await self._client.send(requests.get(_CONFIG_MAP, key)))
        except NotFoundError:
            return Ledger(self._seed)

    async def _catch_up(self, found: Ledger) -> Ledger:
        """Wait until the cache shows the shoots whose entries others removed as settled."""
        if not found.seen_through:
            return found
        try:
            async with within(self._clock, SEEN_SECONDS):
                await self._cache.wait_seen(Shoot, found.seen_through)
        except TimeoutError as error:
            page = await self._client.page(Selection(_SHOOT), limit=1)
            if ordinal(page.version) >= ordinal(found.seen_through):
                raise LedgerContendedError(
                    f"the cache of shoots is older than the ledger of seed {self._seed}"
                ) from error
            # No API server will ever show that version: etcd was restored from a backup.
            self._on_reset(
                self._seed,
                f"seenThrough {found.seen_through} is newer than the cluster"
                f" ({page.version}), as after a restore: it is reset",
            )
            return replace(found, seen_through=page.version)
        return found

    def _admit(self, found: Ledger, batch: Sequence[_Request]) -> tuple[Ledger, list[EntryResult]]:
        """Enter as many entries as there is room for, in their order."""
        snapshot = self._cache.snapshot()
        settled = ledger.prune(found, lambda key: snapshot.get(Shoot, key))
        limits = _limits(snapshot.get(Seed, ObjectKey("", self._seed)))
        if limits is None:
            return settled, ["no seed"] * len(batch)
        shoot_limit = capacity.only_shoot_limit(limits)
        headroom = Decimal(snapshot.options.scheduling.headroom)
        used = self._used(settled, snapshot)
        results: list[EntryResult] = []
        for entry, shoots_only, _result in batch:
            held = settled.entries.get(entry.uid)
            if held is not None:  # entered by an attempt without a response
                results.append("entered" if held.version == entry.version else "taken")
            elif capacity.insufficient_resource(
                used, entry.amounts, shoot_limit if shoots_only else limits, headroom
            ):
                results.append("full")
            else:
                used = ledger.add_amounts(used, entry.amounts)
                settled = ledger.add_entries(settled, [entry])
                results.append("entered")
        return settled, results

    def _used(self, settled: Ledger, snapshot: Snapshot) -> dict[str, Decimal]:
        """Sum up the ledger and the cache, without shoots that are assumed but not entered."""
        outstanding = ledger.outstanding(settled, lambda key: snapshot.get(Shoot, key))
        used = ledger.add_amounts(snapshot.total(SEED_USAGE, self._seed), outstanding)
        for entry in self._assumed.values():
            shoot = snapshot.get(Shoot, entry.shoot)
            if (
                shoot is not None
                and entry.uid not in settled.entries
                and (shoot.uid, shoot.resource_version) == (entry.uid, entry.version)
                and self._seed in usage.seeds_of(shoot)
            ):
                used = ledger.subtract_amounts(used, entry.amounts)
        return used


def _limits(seed: Seed | None) -> Mapping[str, Decimal] | None:
    if seed is None:
        return None
    try:
        return capacity.parse(seed.status.allocatable)
    except CapacityError:
        return None


def _read(body: bytes) -> Ledger:
    return ledger.read(decode(ConfigMap, body))
