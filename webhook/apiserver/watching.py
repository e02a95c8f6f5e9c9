"""Watch: what happens to the objects of a resource, from a resourceVersion on, as it happens."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Final, NamedTuple

import orjson

from webhook.api import fielderrors, status
from webhook.api.status import Qualified
from webhook.apiserver import reading
from webhook.apiserver.calls import META_GROUP, Call
from webhook.apiserver.collection import ADDED, DELETED, MODIFIED, Change, Collection, ExpiredError
from webhook.apiserver.core import Core
from webhook.apiserver.entries import Entry
from webhook.apiserver.reading import NOT_OLDER, Selection
from webhook.apiserver.requests import is_true

BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
#: How often an idle watch is told how far the server is.
BOOKMARK_SECONDS: Final = 60.0
#: What a watch without a timeout gets; clients come back.
TIMEOUT_SECONDS: Final = 3600.0
#: A client that falls this far behind is cut off and has to come back.
BACKLOG: Final = 100_000


class Event(NamedTuple):
    """One line of a watch: an object, a bookmark's version, or a final error."""

    type: str
    entry: Entry | None = None
    rv: int = 0
    initial_end: bool = False
    error: dict[str, object] | None = None


class WatchOptions(NamedTuple):
    """What a client wants to be told."""

    selection: Selection
    bookmarks: bool
    timeout: float
    initial: bool
    """Whether what exists comes first."""
    mark_initial: bool
    rv: int


def watch_options(core: Core, call: Call) -> WatchOptions:
    """Read and check the options of a watch."""
    _check(call)
    query = call.query
    version = query.get("resourceVersion", "")
    try:
        rv = reading.parse_version(version) if version else 0
    except reading.BadVersionError as error:
        raise status.failure(500, "", str(error)) from error
    streaming = "sendInitialEvents" in query
    wanted = is_true(query.get("sendInitialEvents", ""))
    initial = wanted if streaming else rv == 0
    bookmarks = is_true(query.get("allowWatchBookmarks", ""))
    return WatchOptions(
        reading.selection_of(call),
        bookmarks,
        _timeout(query.get("timeoutSeconds", "")),
        initial,
        streaming and wanted and bookmarks,
        # A stream without initial events and without a version begins now.
        rv or (0 if initial else core.store.rv),
    )


def _timeout(text: str) -> float:
    if not text:
        return TIMEOUT_SECONDS
    try:
        return float(int(text)) or TIMEOUT_SECONDS
    except ValueError as error:
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error


def _check(call: Call) -> None:
    query = call.query
    match = query.get("resourceVersionMatch", "")
    path = "resourceVersionMatch"
    errors = []
    if "sendInitialEvents" in query and match != NOT_OLDER:
        detail = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER}"
        errors.append(fielderrors.forbidden(path, detail))
    if match:
        if "sendInitialEvents" not in query:
            detail = (
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
            errors.append(fielderrors.forbidden(path, detail))
        if match != NOT_OLDER:
            errors.append(fielderrors.not_supported(path, match, [NOT_OLDER]))
        if query.get("continue"):
            detail = "resourceVersionMatch is forbidden when continue is provided"
            errors.append(fielderrors.forbidden(path, detail))
    if errors:
        raise status.invalid(Qualified(META_GROUP, "ListOptions"), "", errors)


def select(change: Change, selection: Selection) -> Event | None:
    """Turn a change into what someone with a selector sees of it."""
    entry = change.new
    if selection.namespace and entry.namespace != selection.namespace:
        return None
    if change.type == DELETED:
        return Event(DELETED, entry) if selection.matches(entry) else None
    now = selection.matches(entry)
    before = change.old is not None and selection.matches(change.old)
    if now:
        return Event(MODIFIED if before else ADDED, entry)
    if before and change.old is not None:
        return Event(DELETED, change.old.moved(change.rv))
    return None


class Watch:
    """One client's view of a collection; events wait here until it takes them."""

    def __init__(self, core: Core, collection: Collection, options: WatchOptions) -> None:
        self._core = core
        self._collection = collection
        self._options = options
        self._waiting: deque[Event] = deque()
        self._woken = asyncio.Event()
        self._broken = False

    def _hear(self, change: Change) -> None:
        event = select(change, self._options.selection)
        if event is None:
            return
        if len(self._waiting) >= BACKLOG:
            self._broken = True
        else:
            self._waiting.append(event)
        self._woken.set()

    def _end(self) -> None:
        self._broken = True
        self._woken.set()

    def _start(self) -> Iterator[Event]:
        """Yield what the client has to know before it hears of changes."""
        options, selection = self._options, self._options.selection
        if options.initial:
            reading.check_reached(options.rv, self._core.store.rv)
            for entry in self._collection.current(selection.namespace):
                if selection.matches(entry):
                    yield Event(ADDED, entry)
            if options.mark_initial:
                yield Event(BOOKMARK, rv=self._core.store.rv, initial_end=True)
            return
        for change in self._collection.changes_after(options.rv):
            event = select(change, selection)
            if event is not None:
                yield event

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Yield events as they come, several at once where they came at once."""
        loop = asyncio.get_running_loop()
        options = self._options
        end = loop.time() + options.timeout
        try:
            first = list(self._start())
        except ExpiredError:
            yield [Event(ERROR, error=_expired(options.rv, self._collection.since))]
            return
        self._collection.listeners.add(self._hear)
        self._collection.watches.add(self._end)
        try:
            if first:
                yield first
            while not self._broken and loop.time() < end:
                batch = await self._next(min(end - loop.time(), BOOKMARK_SECONDS))
                if batch:
                    yield batch
                elif options.bookmarks:
                    yield [Event(BOOKMARK, rv=self._core.store.rv)]
        finally:
            self._collection.listeners.discard(self._hear)
            self._collection.watches.discard(self._end)

    async def _next(self, seconds: float) -> list[Event]:
        if not self._waiting:
            self._woken.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
            except TimeoutError:
                return []
        batch = list(self._waiting)
        self._waiting.clear()
        return batch


def _expired(rv: int, oldest: int) -> dict[str, object]:
    error = status.expired(f"too old resource version: {rv} ({oldest})")
    # In a stream the Status is an object of its own, as Kubernetes' watch cache sends it.
    return error.status


def bookmark(api_version: str, kind: str, event: Event) -> bytes:
    """Write the object of a bookmark: nothing but how far the server is."""
    metadata: dict[str, object] = {"resourceVersion": str(event.rv), "creationTimestamp": None}
    if event.initial_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return orjson.dumps({"kind": kind, "apiVersion": api_version, "metadata": metadata})
