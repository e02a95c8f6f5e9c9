"""The cache of all watched kinds: snapshots of them, and which of them are stale."""

import asyncio
import gc
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, TypeVar

from webhook.api.kinds import Kind
from webhook.cluster.client import Client
from webhook.cluster.definition_listener import DefinitionListener
from webhook.cluster.documents import read
from webhook.cluster.informer import Informer
from webhook.cluster.live_reader import AccessCache, read_live
from webhook.cluster.pacing import Pacer, WatchTiming
from webhook.cluster.reflector import Reflector
from webhook.cluster.requests import Selection
from webhook.cluster.watch_state import KindStatus
from webhook.kube.clock import Clock
from webhook.kube.meta import Object, ObjectKey
from webhook.state.cluster_state import ClusterState
from webhook.state.live_reads import LiveRead, LiveResults
from webhook.state.snapshot import Snapshot
from webhook.state.store import StoreEntry
from webhook.state.views import Listener

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Object)

# A watch that is re-established within this time does not make its kind stale.
STALE_AFTER: Final = 10.0

# Longer than any working watch takes to deliver our write; afterwards it counts as lost.
ASSUMED_FOR: Final = timedelta(seconds=60)

# A TLS handshake takes a few milliseconds of the event loop; dozens at once would stall it.
_SECONDS_BETWEEN_STARTS: Final = 0.004

_SECONDS_BETWEEN_REFRESHES: Final = 0.5

_NEVER: Final = 1_000_000


class NotSyncedError(Exception):
    """A snapshot was requested before the first lists were complete."""


class _Watched:
    """One watched kind with its informer and reflector."""

    def __init__(self, selection: Selection, informer: Informer[Any], reflector: Reflector) -> None:
        self.selection = selection
        self.informer = informer
        self.reflector = reflector
        self.watch_state = reflector.state
        self.model: type[Object] = informer.kind.model


class Cache:
    """Watches a set of kinds and gives snapshots of them."""

    def __init__(
        self,
        client: Client,
        kinds: Iterable[Kind | Selection],
        clock: Clock,
        *,
        state: ClusterState | None = None,
        timing: WatchTiming | None = None,
    ) -> None:
        selections = [kind if isinstance(kind, Selection) else Selection(kind) for kind in kinds]
        self._client = client
        self._clock = clock
        self._access = AccessCache(clock)
        self.state = state or ClusterState(selection.kind.model for selection in selections)
        self._watched: dict[type[Object], _Watched] = {}
        pacer = self._pacer = Pacer(clock)
        for selection in selections:
            informer: Informer[Any] = Informer(selection.kind, self.state, pacer)
            reflector = Reflector(client, selection, informer, clock, pacer=pacer, timing=timing)
            reflector.state.on_change = self._on_watch_change
            self._watched[selection.kind.model] = _Watched(selection, informer, reflector)
        self._synced = asyncio.Event()
        self._unserved: frozenset[type[Object]] = frozenset()
        self._untrusted: frozenset[type[Object]] = frozenset()
        self._lost: tuple[_Watched, ...] = tuple(self._watched.values())
        self._taken: list[Snapshot] = []  # in this iteration of the event loop
        self.on_change: Callable[[], None] = lambda: None
        """Called when a kind is established, lost, synced or no longer served."""

    @property
    def synced(self) -> bool:
        """Whether every kind has been listed, or is known to have no list at the moment."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def run(self) -> None:
        """Watch all kinds until cancelled."""
        gc.freeze()  # a full collection of the imported modules alone takes 50 ms
        watches = [(each.informer.kind, each.reflector) for each in self._watched.values()]
        DefinitionListener(self, watches, self._clock).listen()
        async with asyncio.TaskGroup() as group:
            for watched in self._watched.values():
                name = f"watch {watched.informer.kind.resource}"
                group.create_task(watched.reflector.run(), name=name)
                await asyncio.sleep(_SECONDS_BETWEEN_STARTS)
            group.create_task(self._refresh_totals(), name="refresh totals")
            with _without_full_collections():
                await self._synced.wait()
                gc.collect(1)
                gc.freeze()

    def snapshot(self, live_results: LiveResults | None = None) -> Snapshot:
        """Return a view of the current state, valid until the next iteration of the event loop."""
        if not self.synced:
            raise NotSyncedError("the cache is not synced yet")
        now = self._clock.now()
        for model, keys in self.state.expire(now).items():
            fields = {"kind": model.__name__, "objects": [str(key) for key in keys]}
            logger.warning("assumed writes were never observed", extra=fields)
        snapshot = Snapshot(
            self.state,
            now,
            live_results=live_results,
            stale=self._stale(),
            unserved=self._unserved,
        )
        if not self._taken:
            asyncio.get_running_loop().call_soon(self._expire_taken)
        self._taken.append(snapshot)
        return snapshot

    def _expire_taken(self) -> None:
        for snapshot in self._taken:
            snapshot.expire()
        self._taken.clear()

    async def read_live(self, live_reads: Iterable[LiveRead], seconds: float) -> LiveResults:
        """Read from the API server what a decision could not find; raises LiveReadError."""
        reads = [*live_reads]
        known: LiveResults = {each: True for each in reads if self._access.allows(each)}
        wanted = (each for each in reads if each not in known)
        found = await read_live(self._client, wanted, seconds)
        self._access.update(found)
        return {**known, **found}

    async def wait_seen(self, model: type[Object], version: str) -> None:
        """Wait until the cache has seen a version of a kind; the caller sets the deadline."""
        await self._watched[model].informer.wait_seen(version)

    def watches(self, model: type[Object]) -> bool:
        return model in self._watched

    def covers(self, model: type[Object], key: ObjectKey) -> bool:
        """Return whether an object would be seen: of some kinds only a part is watched."""
        watched = self._watched.get(model)
        return watched is not None and watched.selection.may_match(key)

    def peek(self, model: type[T], key: ObjectKey) -> T | None:
        """Return the current state of an object, outside any decision."""
        return self.state.get(model, key)

    def add_listener(self, model: type[T], listener: Listener[T], *, replay: bool = True) -> None:
        """Call a listener for every object of a kind, now and whenever one changes."""
        self._watched[model].informer.add_listener(listener, replay=replay)

    def remove_listener(self, model: type[T], listener: Listener[T]) -> None:
        """Stop calling a listener."""
        self._watched[model].informer.remove_listener(listener)

    def assume(self, obj: Object, raw: bytes | None = None) -> None:
        """Show an object as it will be after a write that is about to be sent.

        The object has the version that the write requires. A later version from the watch
        replaces it.
        """
        expires = self._clock.now() + ASSUMED_FOR
        entry = StoreEntry(obj, raw)
        self.state.assume(type(obj), obj.key, entry, expires, obj.resource_version)

    def assume_written(self, kind: Kind, document: bytes) -> None:
        """Show an object as the API server returned it in response to a write."""
        found = read(kind, document)
        self.state.assume(kind.model, found.key, found.entry, self._clock.now() + ASSUMED_FOR)
        self.state.confirm(kind.model, found.key, found.version)

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None:
        """Record the version that the API server gave to an assumed write."""
        self.state.confirm(model, key, version)

    def forget(self, model: type[Object], key: ObjectKey) -> None:
        """Remove an assumed write that failed."""
        self.state.forget(model, key)

    @property
    def lost_for(self) -> float:
        """The seconds for which all watches have been lost; 0 while one is established."""
        now = self._clock.monotonic()
        served = [watched for watched in self._watched.values() if watched.watch_state.served]
        return min((watched.watch_state.lost_for(now) for watched in served), default=0.0)

    @property
    def stale_kinds(self) -> Collection[str]:
        """The resources of the kinds that are stale."""
        return sorted(self._watched[model].informer.kind.resource for model in self._stale())

    def mark_untrusted(self, models: frozenset[type[Object]]) -> None:
        """Treat some kinds as stale, because another server may serve them now."""
        self._untrusted = models & self._watched.keys()

    def statuses(self) -> Iterable[KindStatus]:
        """Yield the status of every kind."""
        now = self._clock.monotonic()
        for watched in self._watched.values():
            state, store = watched.watch_state, watched.informer.store
            yield KindStatus(
                name=watched.informer.kind.resource,
                synced=state.synced,
                served=state.served,
                staleness=state.lost_for(now),
                objects=len(store),
                malformed=len(store.malformed),
                relists=state.relists,
                restarts=state.restarts,
                failure=state.failure.message if state.failure else "",
            )

    async def _refresh_totals(self) -> None:
        while True:
            while self.state.refresh_one():
                await self._pacer.yield_if_due()
            await asyncio.sleep(_SECONDS_BETWEEN_REFRESHES)

    def _stale(self) -> frozenset[type[Object]]:
        if not self._lost:
            return self._untrusted
        now = self._clock.monotonic()
        return self._untrusted | frozenset(
            watched.model
            for watched in self._lost
            if not watched.watch_state.synced or watched.watch_state.lost_for(now) > STALE_AFTER
        )

    def _on_watch_change(self) -> None:
        everything = self._watched.values()
        self._unserved = frozenset(each.model for each in everything if not each.watch_state.served)
        self._lost = tuple(
            each
            for each in everything
            if each.watch_state.served and each.watch_state.lost_since is not None
        )
        # At least one list must be complete: a server that refuses everything is not an empty one.
        is_reachable = any(each.watch_state.synced for each in everything)
        if is_reachable and all(each.watch_state.is_settled for each in everything):
            self._synced.set()
        self.on_change()


@contextmanager
def _without_full_collections() -> Iterator[None]:
    """Collect young generations only while the initial lists fill the cache.

    A full collection over 10,000 Shoots stalls the event loop for 40 ms and frees almost nothing.
    """
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)
