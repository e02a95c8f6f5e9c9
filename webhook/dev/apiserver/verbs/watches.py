"""Watches: the events of a resource from a resourceVersion on."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Final, NamedTuple

import orjson

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints.calls import META_GROUP, Call
from webhook.dev.apiserver.endpoints.requestinfo import is_true
from webhook.dev.apiserver.storage.collection import (
    ADDED,
    DELETED,
    MODIFIED,
    Change,
    Collection,
    ExpiredError,
)
from webhook.dev.apiserver.storage.entries import Entry
from webhook.dev.apiserver.verbs import reads
from webhook.dev.apiserver.verbs.reads import NOT_OLDER, Selection
from webhook.kube import fielderrors, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
BOOKMARK_SECONDS: Final = 60.0
"""The interval of bookmarks in an idle watch."""
TIMEOUT_SECONDS: Final = 3600.0
"""The timeout of a watch that requests none; clients reconnect."""
BACKLOG: Final = 100_000
"""Events that may be queued for a client; a slower one is disconnected."""


class WatchEvent(NamedTuple):
    """An event: a changed object, a bookmark, or an error that ends the watch."""

    type: str
    entry: Entry | None = None
    rv: int = 0
    initial_end: bool = False
    error: Draft | None = None


class WatchOptions(NamedTuple):
    """The options of a watch."""

    selection: Selection
    bookmarks: bool
    timeout: float
    initial: bool
    """Whether the watch begins with the existing objects."""
    mark_initial: bool
    rv: int


def watch_options(core: Core, call: Call) -> WatchOptions:
    """Parse and validate the options of a watch."""
    _check(call)
    query = call.query
    version = query.get("resourceVersion", "")
    try:
        rv = reads.parse_resource_version(version) if version else 0
    except reads.InvalidResourceVersionError as error:
        raise status.failure(500, "", str(error)) from error
    streaming = "sendInitialEvents" in query
    wanted = is_true(query.get("sendInitialEvents", ""))
    initial = wanted if streaming else rv == 0
    bookmarks = is_true(query.get("allowWatchBookmarks", ""))
    return WatchOptions(
        reads.selection_of(call),
        bookmarks,
        _timeout(query.get("timeoutSeconds", "")),
        initial,
        streaming and wanted and bookmarks,
        # Without initial events and without a version, the watch begins now.
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


def to_event(change: Change, selection: Selection) -> WatchEvent | None:
    """Return the event of a change for a selector; None if it selects neither state."""
    entry = change.new
    if selection.namespace and entry.namespace != selection.namespace:
        return None
    if change.type == DELETED:
        return WatchEvent(DELETED, entry) if selection.matches(entry) else None
    now = selection.matches(entry)
    before = change.old is not None and selection.matches(change.old)
    if now:
        return WatchEvent(MODIFIED if before else ADDED, entry)
    if before and change.old is not None:
        return WatchEvent(DELETED, change.old.with_resource_version(change.rv))
    return None


class Watch:
    """A watch of one client, with a queue of its events."""

    def __init__(self, core: Core, collection: Collection, options: WatchOptions) -> None:
        self._core = core
        self._collection = collection
        self._options = options
        self._queue: deque[WatchEvent] = deque()
        self._wakeup = asyncio.Event()
        self._ended = False

    def _on_change(self, change: Change) -> None:
        event = to_event(change, self._options.selection)
        if event is None:
            return
        if len(self._queue) >= BACKLOG:
            self._ended = True
        else:
            self._queue.append(event)
        self._wakeup.set()

    def _end(self) -> None:
        self._ended = True
        self._wakeup.set()

    def _start(self) -> Iterator[WatchEvent]:
        """Yield the events before the watch: existing objects, or the changes since a version."""
        options, selection = self._options, self._options.selection
        if options.initial:
            reads.check_not_too_large(options.rv, self._core.store.rv)
            for entry in self._collection.current(selection.namespace):
                if selection.matches(entry):
                    yield WatchEvent(ADDED, entry)
            if options.mark_initial:
                yield WatchEvent(BOOKMARK, rv=self._core.store.rv, initial_end=True)
            return
        for change in self._collection.changes_after(options.rv):
            event = to_event(change, selection)
            if event is not None:
                yield event

    async def batches(self) -> AsyncIterator[list[WatchEvent]]:
        """Yield events as they occur, those that occur together in one batch."""
        loop = asyncio.get_running_loop()
        options = self._options
        end = loop.time() + options.timeout
        try:
            first = list(self._start())
        except ExpiredError:
            yield [WatchEvent(ERROR, error=_expired(options.rv, self._collection.compacted_rv))]
            return
        self._collection.listeners.add(self._on_change)
        self._collection.watches.add(self._end)
        try:
            if first:
                yield first
            while not self._ended and loop.time() < end:
                batch = await self._next(min(end - loop.time(), BOOKMARK_SECONDS))
                if batch:
                    yield batch
                elif options.bookmarks:
                    yield [WatchEvent(BOOKMARK, rv=self._core.store.rv)]
        finally:
            self._collection.listeners.discard(self._on_change)
            self._collection.watches.discard(self._end)

    async def _next(self, seconds: float) -> list[WatchEvent]:
        if not self._queue:
            self._wakeup.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._wakeup.wait()
            except TimeoutError:
                return []
        batch = list(self._queue)
        self._queue.clear()
        return batch


def _expired(rv: int, oldest: int) -> Draft:
    error = status.expired(f"too old resource version: {rv} ({oldest})")
    # The Status is the object of the event, as in Kubernetes' watch cache.
    return error.status


def bookmark(api_version: str, kind: str, event: WatchEvent) -> bytes:
    """Encode the object of a bookmark, which has only a resourceVersion."""
    metadata: Draft = {"resourceVersion": str(event.rv), "creationTimestamp": None}
    if event.initial_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return orjson.dumps({"kind": kind, "apiVersion": api_version, "metadata": metadata})
