"""All watched kinds together: one snapshot of them, and how far it can be trusted."""

import asyncio
import gc
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, TypeVar

from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.kinds import Kind
from webhook.api.meta import Object, ObjectKey
from webhook.cluster.answers import Rights, answer
from webhook.cluster.client import Client
from webhook.cluster.documents import read
from webhook.cluster.informer import Informer, Listener
from webhook.cluster.pacing import Clock, Pacer, Timing
from webhook.cluster.reflector import Reflector
from webhook.cluster.requests import Selection
from webhook.cluster.standing import KindStatus
from webhook.state.memory import Memory
from webhook.state.questions import Answers, Question
from webhook.state.snapshot import Snapshot
from webhook.state.store import Entry

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Object)

# A watch that is back within this time has missed nothing that matters.
STALE_AFTER: Final = 10.0

# Long enough for any watch that works to show our write, short enough for one that was lost.
ASSUMED_FOR: Final = timedelta(seconds=60)

# A TLS handshake takes a few milliseconds of the loop; dozens at once would stall it.
_BETWEEN_STARTS: Final = 0.004

_BETWEEN_REFRESHES: Final = 0.5

_NEVER: Final = 1_000_000


class NotSyncedError(Exception):
    """Raised when memory is asked before it is filled."""


class _Watched:
    """One kind with all that keeps it."""

    def __init__(self, selection: Selection, informer: Informer[Any], reflector: Reflector) -> None:
        self.selection = selection
        self.informer = informer
        self.reflector = reflector
        self.standing = reflector.standing
        self.model: type[Object] = informer.kind.model


class Cache:
    """Follow a set of kinds and give dated views of them."""

    def __init__(
        self,
        client: Client,
        kinds: Iterable[Kind | Selection],
        clock: Clock,
        *,
        memory: Memory | None = None,
        timing: Timing | None = None,
    ) -> None:
        selections = [kind if isinstance(kind, Selection) else Selection(kind) for kind in kinds]
        self._client = client
        self._clock = clock
        self._rights = Rights(clock)
        self.memory = memory or Memory(selection.kind.model for selection in selections)
        self._watched: dict[type[Object], _Watched] = {}
        pacer = self._pacer = Pacer(clock)
        for selection in selections:
            informer: Informer[Any] = Informer(selection.kind, self.memory, pacer)
            reflector = Reflector(client, selection, informer, clock, pacer=pacer, timing=timing)
            reflector.standing.on_change = self._note_change
            self._watched[selection.kind.model] = _Watched(selection, informer, reflector)
        self._synced = asyncio.Event()
        self._unserved: frozenset[type[Object]] = frozenset()
        self._withheld: frozenset[type[Object]] = frozenset()
        self._lost: tuple[_Watched, ...] = tuple(self._watched.values())
        self._taken: list[Snapshot] = []  # in this turn of the loop
        self.on_change: Callable[[], None] = lambda: None
        """Called whenever a kind is gained, lost, synced or left."""

    @property
    def synced(self) -> bool:
        """Say whether every kind has been listed, or is known to have no list for now."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def run(self) -> None:
        """Follow all kinds until cancelled."""
        gc.freeze()  # a full collection takes 50 ms for what is imported alone
        self._wake_on(CustomResourceDefinition, _is_defined_by)
        self._wake_on(APIService, _is_served_by)
        async with asyncio.TaskGroup() as group:
            for watched in self._watched.values():
                name = f"watch {watched.informer.kind.resource}"
                group.create_task(watched.reflector.run(), name=name)
                await asyncio.sleep(_BETWEEN_STARTS)
            group.create_task(self._refresh_sums(), name="refresh sums")
            with _without_full_collections():
                await self._synced.wait()
                gc.collect(1)
                gc.freeze()

    def snapshot(self, answers: Answers | None = None) -> Snapshot:
        """Show memory as it is now, until the next turn of the loop."""
        if not self.synced:
            raise NotSyncedError("the cache is not filled yet")
        now = self._clock.now()
        for model, keys in self.memory.expire(now).items():
            fields = {"kind": model.__name__, "objects": [str(key) for key in keys]}
            logger.warning("assumed writes never came back", extra=fields)
        snapshot = Snapshot(
            self.memory, now, answers=answers, stale=self._stale(), unserved=self._unserved
        )
        if not self._taken:
            asyncio.get_running_loop().call_soon(self._expire_taken)
        self._taken.append(snapshot)
        return snapshot

    def _expire_taken(self) -> None:
        for snapshot in self._taken:
            snapshot.expire()
        self._taken.clear()

    async def answer(self, questions: Iterable[Question], seconds: float) -> Answers:
        """Ask the API server what a decision could not find; raises UnanswerableError."""
        asked = [*questions]
        known: Answers = {each: True for each in asked if self._rights.has(each)}
        found = await answer(self._client, (each for each in asked if each not in known), seconds)
        self._rights.learn(found)
        return {**known, **found}

    async def wait_seen(self, model: type[Object], version: str) -> None:
        """Wait until memory knows a version of a kind; the caller sets the deadline."""
        await self._watched[model].informer.wait_seen(version)

    def watches(self, model: type[Object]) -> bool:
        return model in self._watched

    def covers(self, model: type[Object], key: ObjectKey) -> bool:
        """Tell whether an object would be seen: of some kinds only a few are followed."""
        watched = self._watched.get(model)
        return watched is not None and watched.selection.may_hold(key)

    def peek(self, model: type[T], key: ObjectKey) -> T | None:
        """Give an object as memory holds it now, outside any decision."""
        return self.memory.get(model, key)

    def add_listener(self, model: type[T], listener: Listener[T], *, replay: bool = True) -> None:
        """Tell a listener of every object of a kind, now and whenever one changes."""
        self._watched[model].informer.add_listener(listener, replay=replay)

    def remove_listener(self, model: type[T], listener: Listener[T]) -> None:
        """Tell a listener no more."""
        self._watched[model].informer.remove_listener(listener)

    def assume(self, obj: Object, raw: bytes | None = None) -> None:
        """Show an object as a write that is about to be sent will leave it.

        The object has the version that the write insists on: once the watch shows a later one,
        that is what counts.
        """
        expires = self._clock.now() + ASSUMED_FOR
        entry = Entry(obj, raw)
        self.memory.assume(type(obj), obj.key, entry, expires, obj.resource_version)

    def assume_written(self, kind: Kind, document: bytes) -> None:
        """Show an object as the API server answered that it is now."""
        found = read(kind, document)
        self.memory.assume(kind.model, found.key, found.entry, self._clock.now() + ASSUMED_FOR)
        self.memory.confirm(kind.model, found.key, found.version)

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None:
        """Note the version that the API server gave to an assumed write."""
        self.memory.confirm(model, key, version)

    def forget(self, model: type[Object], key: ObjectKey) -> None:
        """Take an assumed write back: it failed."""
        self.memory.forget(model, key)

    @property
    def lost_for(self) -> float:
        """Say for how many seconds every watch has been lost; 0 while one stands."""
        now = self._clock.monotonic()
        served = [watched for watched in self._watched.values() if watched.standing.served]
        return min((watched.standing.lost_for(now) for watched in served), default=0.0)

    @property
    def stale_kinds(self) -> Collection[str]:
        """Name the kinds that memory is not up to date on."""
        return sorted(self._watched[model].informer.kind.resource for model in self._stale())

    def withhold(self, models: frozenset[type[Object]]) -> None:
        """Trust nothing that is known of some kinds: somebody else serves them now."""
        self._withheld = models & self._watched.keys()

    def statuses(self) -> Iterable[KindStatus]:
        """Tell about every kind."""
        now = self._clock.monotonic()
        for watched in self._watched.values():
            standing, store = watched.standing, watched.informer.store
            yield KindStatus(
                name=watched.informer.kind.resource,
                synced=standing.synced,
                served=standing.served,
                staleness=standing.lost_for(now),
                objects=len(store),
                malformed=len(store.malformed),
                relists=standing.relists,
                restarts=standing.restarts,
                failure=standing.failure.message if standing.failure else "",
            )

    async def _refresh_sums(self) -> None:
        while True:
            while self.memory.refresh_one():
                await self._pacer.breathe()
            await asyncio.sleep(_BETWEEN_REFRESHES)

    def _stale(self) -> frozenset[type[Object]]:
        if not self._lost:
            return self._withheld
        now = self._clock.monotonic()
        return self._withheld | frozenset(
            watched.model
            for watched in self._lost
            if not watched.standing.synced or watched.standing.lost_for(now) > STALE_AFTER
        )

    def _note_change(self) -> None:
        everything = self._watched.values()
        self._unserved = frozenset(each.model for each in everything if not each.standing.served)
        self._lost = tuple(
            each
            for each in everything
            if each.standing.served and each.standing.lost_since is not None
        )
        # Something must have been listed: a server that refuses everything is not an empty one.
        is_reachable = any(each.standing.synced for each in everything)
        if is_reachable and all(each.standing.is_settled for each in everything):
            self._synced.set()
        self.on_change()

    def _wake_on(self, model: type[T], concerns: Callable[[T, Kind], bool]) -> None:
        """Try a kind again at once when what defines it appears, changes or goes."""
        if model not in self._watched:
            return

        def wake(old: T | None, new: T | None) -> None:
            for watched in self._watched.values():
                if new is not None and concerns(new, watched.informer.kind):
                    watched.reflector.wake()
                elif new is None and old is not None and concerns(old, watched.informer.kind):
                    watched.reflector.doubt()

        self.add_listener(model, wake)


@contextmanager
def _without_full_collections() -> Iterator[None]:
    """Collect young garbage only, while old objects are what memory is being filled with.

    To look through 10,000 Shoots stalls the loop for 40 ms and finds next to nothing.
    """
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)


def _is_defined_by(definition: CustomResourceDefinition, kind: Kind) -> bool:
    return definition.name == kind.resource


def _is_served_by(service: APIService, kind: Kind) -> bool:
    return service.name == f"{kind.version}.{kind.group}"
