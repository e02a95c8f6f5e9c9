"""Write the ledgers of seeds by compare-and-swap, many entries at a time."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from webhook.api.core import ConfigMap
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Object, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
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
from webhook.domain import capacity, usage
from webhook.domain.capacity import CapacityError
from webhook.runtime.clock import Clock, within
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Entry, Ledger
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

logger = logging.getLogger(__name__)

ATTEMPTS: Final = 8
SEEN_SECONDS: Final = 10.0
"""How long to wait for a cache that is older than the ledger says it must be."""

Answer: TypeAlias = Literal["entered", "full", "no seed", "taken"]
"""`taken`: another replica places a later version of the same shoot."""

OnReset: TypeAlias = Callable[[str, str], None]
"""Told of a ledger whose `seenThrough` had to be reset: the seed, and why."""

_CONFIG_MAP: Final = kind_of_model(ConfigMap)
_SHOOT: Final = kind_of_model(Shoot)


class Remembering(Protocol):
    """The part of the cache that placements need."""

    def snapshot(self) -> Snapshot: ...

    async def wait_seen(self, model: type[Object], version: str) -> None: ...

    def assume(self, obj: Object) -> None: ...

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None: ...

    def forget(self, model: type[Object], key: ObjectKey) -> None: ...


class BusyError(Exception):
    """The ledger could not be written: others are faster, or our cache is too old."""


class _Request(NamedTuple):
    entry: Entry
    shoots_only: bool
    answer: "asyncio.Future[Answer]"


class Clerk:
    """Keeps one seed's ledger.

    Whoever asks for an entry while a write is on its way waits for the next one, which then
    carries all that came meanwhile: a crowd of shoots costs few writes.
    """

    def __init__(
        self,
        seed: str,
        client: Client,
        cache: Remembering,
        clock: Clock,
        on_reset: OnReset,
        known: Ledger | None = None,
    ) -> None:
        """Begin with what is known of the ledger; without it, it is read when it is needed."""
        self._seed = seed
        self._client = client
        self._cache = cache
        self._clock = clock
        self._on_reset = on_reset
        self._lock = asyncio.Lock()
        self._waiting: list[_Request] = []
        self._assumed: dict[str, Entry] = {}
        self._known = known

    def learn(self, found: Ledger) -> None:
        """Take over what somebody else has read; if it is too old, the next write tells."""
        if self._known is None:
            self._known = found

    def announce(self, entry: Entry) -> None:
        """Note an entry whose shoot is assumed to be on the seed, though nobody has entered it.

        The cache counts it already; whoever is entered before it must not pay for that.
        """
        self._assumed[entry.uid] = entry

    def withdraw(self, entry: Entry) -> None:
        """Forget an announced entry: its placement has ended, well or badly."""
        if self._assumed.get(entry.uid) is entry:
            del self._assumed[entry.uid]

    async def enter(self, entry: Entry, *, shoots_only: bool = False) -> Answer:
        """Write an entry if there is room for it; raises BusyError or an ApiError.

        With `shoots_only` it is held to the number of shoots alone, as in Gardener; whatever it
        uses besides is counted for those who come later.
        """
        request = _Request(entry, shoots_only, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        try:
            async with self._lock:
                if not request.answer.done():
                    await self._write_waiting()
            return await request.answer
        finally:
            if request in self._waiting:
                self._waiting.remove(request)

    async def release(self, uid: str, version: str) -> None:
        """Take an entry out whose shoot cannot come any more; failing that is no harm.

        What stays behind is counted until somebody looks into it.
        """
        async with self._lock:
            await self._change(lambda found: ledger.release(found, uid, version))

    async def _write_waiting(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            answers = await self._write(batch)
        except asyncio.CancelledError:
            self._waiting = batch + self._waiting  # the next in line takes over
            raise
        except Exception as error:  # noqa: BLE001 - handed on to everyone who waits
            for request in batch:
                if not request.answer.done():
                    request.answer.set_exception(error)
            return
        for request, answer in zip(batch, answers, strict=True):
            if not request.answer.done():
                request.answer.set_result(answer)

    async def _write(self, batch: Sequence[_Request]) -> list[Answer]:
        for _ in range(ATTEMPTS):
            found = self._known or await self._read()
            found = await self._catch_up(found)
            changed, answers = self._admit(found, batch)
            if "entered" not in answers:
                return answers
            if await self._swap(changed):
                return answers
        raise BusyError(f"the ledger of seed {self._seed} is written by others all the time")

    async def _change(self, change: Callable[[Ledger], Ledger]) -> None:
        for _ in range(ATTEMPTS):
            found = self._known or await self._read()
            changed = change(found)
            if changed == found or await self._swap(changed):
                return
        raise BusyError(f"the ledger of seed {self._seed} is written by others all the time")

    async def _swap(self, changed: Ledger) -> bool:
        """Write a ledger if nobody else has since it was read."""
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
            # Whether an unanswered write came through, the next reading shows.
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
        """Wait until our cache knows all that others have struck out of the ledger."""
        if not found.seen_through:
            return found
        try:
            async with within(self._clock, SEEN_SECONDS):
                await self._cache.wait_seen(Shoot, found.seen_through)
        except TimeoutError as error:
            page = await self._client.page(Selection(_SHOOT), limit=1)
            if ordinal(page.version) >= ordinal(found.seen_through):
                raise BusyError(
                    f"our cache of shoots is older than the ledger of seed {self._seed}"
                ) from error
            # No server will ever show that version: its data was restored from a backup.
            self._on_reset(
                self._seed,
                f"seenThrough {found.seen_through} is newer than the cluster"
                f" ({page.version}), as after a restore: it is reset",
            )
            return replace(found, seen_through=page.version)
        return found

    def _admit(self, found: Ledger, batch: Sequence[_Request]) -> tuple[Ledger, list[Answer]]:
        """Let in as many as there is room for, in their order."""
        snapshot = self._cache.snapshot()
        settled = ledger.settle(found, lambda key: snapshot.get(Shoot, key))
        limits = _limits(snapshot.get(Seed, ObjectKey("", self._seed)))
        if limits is None:
            return settled, ["no seed"] * len(batch)
        whole_shoots = capacity.whole_shoots(limits)
        headroom = Decimal(snapshot.options.scheduling.headroom)
        used = self._used(settled, snapshot)
        answers: list[Answer] = []
        for entry, shoots_only, _answer in batch:
            held = settled.entries.get(entry.uid)
            if held is not None:  # from an attempt whose outcome nobody knows: it has its place
                answers.append("entered" if held.version == entry.version else "taken")
            elif capacity.lacking(
                used, entry.amounts, whole_shoots if shoots_only else limits, headroom
            ):
                answers.append("full")
            else:
                used = ledger.add(used, entry.amounts)
                settled = ledger.enter(settled, [entry])
                answers.append("entered")
        return settled, answers

    def _used(self, settled: Ledger, snapshot: Snapshot) -> dict[str, Decimal]:
        """Count ledger and cache together, but not what is assumed and not yet entered."""
        more = ledger.outstanding(settled, lambda key: snapshot.get(Shoot, key))
        used = ledger.add(snapshot.total(SEED_USAGE, self._seed), more)
        for entry in self._assumed.values():
            shoot = snapshot.get(Shoot, entry.shoot)
            if (
                shoot is not None
                and entry.uid not in settled.entries
                and (shoot.uid, shoot.resource_version) == (entry.uid, entry.version)
                and self._seed in usage.seeds(shoot)
            ):
                used = ledger.subtract(used, entry.amounts)
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
