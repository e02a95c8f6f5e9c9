"""Lists a kind and then watches it: bookmarks, expired versions, backoff, dead connections."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final, TypedDict

from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    ApiError,
    BadRequestError,
    GoneError,
    InvalidError,
    NotFoundError,
    SilentWatchError,
    ThrottledError,
    UnreachableError,
    UnreadableError,
)
from webhook.cluster.pacing import Pacer, WatchBackoff, WatchTiming
from webhook.cluster.requests import Selection
from webhook.cluster.sink import Sink
from webhook.cluster.watch_events import Bookmark, WatchEvent, decode
from webhook.cluster.watch_state import ENDED, RECONNECTED, WatchState, reason_of
from webhook.kube.clock import Clock

logger = logging.getLogger(__name__)

# After this many failures at the same version the kind is listed again.
_MAX_FAILURES_AT_VERSION: Final = 5

# The longest Retry-After of a server that is honoured.
_MAX_RETRY_AFTER: Final = 60.0

_LARGE_PAGE: Final = 8 * requests.PAGE_SIZE

# A server that cannot read an object reports it once; its events are incomplete afterwards.
_STORAGE_READ_ERROR: Final = "StorageReadError"


class _Limits(TypedDict):
    opening: float
    idle: float
    total: float


class Reflector:
    """Keeps a sink equal to a kind on the API server, across failures of server and network."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        sink: Sink,
        clock: Clock,
        *,
        pacer: Pacer | None = None,
        timing: WatchTiming | None = None,
    ) -> None:
        self._client = client
        self._selection = selection
        self._sink = sink
        self._clock = clock
        self._pacer = pacer or Pacer(clock)
        self._timing = timing or WatchTiming()
        self._backoff = WatchBackoff(clock, self._timing.chance)
        self._wake = asyncio.Event()
        self._version = ""
        self._supports_streaming = True
        self._page_size = requests.PAGE_SIZE
        self._failures_at_version = 0
        self._silent_watches = 0
        self._not_found_once = False
        self._attempt: asyncio.Timeout | None = None
        self.state = WatchState(clock.monotonic())

    def retry_now(self) -> None:
        """End the current backoff, because the kind may be served now."""
        if self.state.lost_since is not None:
            self._backoff.reset()
            self._wake.set()

    def reconnect(self) -> None:
        """Close the watch and open a new one, because another server may serve the kind now.

        A proxied watch outlives the APIService that it was opened through.
        """
        if self._attempt is not None and not self._attempt.expired():
            self._attempt.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """List and watch the kind until cancelled."""
        while True:
            self._wake.clear()
            try:
                await self._list_and_watch_until_reconnect()
            except NotFoundError as error:
                await self._handle_not_found(error)
            except SilentWatchError as error:
                self._handle_silence(error)
            except ApiError as error:
                await self._handle_error(error)
            except Exception as error:
                # A bug in our code: the stored objects can no longer be trusted.
                logger.exception("watch failed with a bug", extra=self._fields)
                self._version = ""
                await self._handle_error(UnreachableError(f"bug: {error}"))

    async def _list_and_watch_until_reconnect(self) -> None:
        try:
            async with asyncio.timeout(None) as self._attempt:
                await self._list_and_watch()
        except TimeoutError:
            self._backoff.reset()
            self.state.restarts[RECONNECTED] += 1
            self.state.set_lost(self._clock.monotonic())
        finally:
            self._attempt = None

    async def _list_and_watch(self) -> None:
        if self._version:
            await self._watch()
        elif self._supports_streaming:
            await self._streaming_list()
        else:
            await self._list()

    async def _streaming_list(self) -> None:
        """Read a streaming list and watch on the same connection; fall back to pages."""
        self._sink.begin()
        seconds = self._watch_seconds()
        request = requests.stream_list(self._selection, seconds)
        try:
            async with self._client.stream(request, **self._stream_limits(seconds)) as lines:
                version = await self._read_initial_events(lines)
                await self._commit(version)
                self.state.set_established()
                await self._read_events(lines)
        except (BadRequestError, InvalidError, _NotSupportedError) as refusal:
            if self._version:
                raise  # the list is complete, so this is a failure of the watch
            if isinstance(refusal, ApiError):
                self._supports_streaming = False
            logger.info(
                "reading pages instead of a streaming list", extra=self._error_fields(refusal)
            )
            await self._list()

    async def _read_initial_events(self, lines: AsyncIterator[bytes]) -> str:
        idle_seconds = self._timing.initial_idle
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(idle_seconds) as deadline:
                async for line in lines:
                    deadline.reschedule(loop.time() + idle_seconds)
                    event = _decode_initial(line)
                    if isinstance(event, WatchEvent):
                        self._sink.item(*event)
                    elif event.ends_list:
                        return event.version
                    await self._pacer.yield_if_due()
        except TimeoutError as error:
            # Servers without streaming lists treat the request as an ordinary watch.
            self._supports_streaming = False
            raise _NotSupportedError("no end of the initial events") from error
        raise UnreachableError("the streaming list ended before it was complete")

    async def _list(self) -> None:
        """Read the list page by page."""
        self._sink.begin()
        version = ""
        try:
            async for page in self._client.pages(self._selection, self._page_size):
                for document in page.items:
                    self._sink.item("ADDED", document)
                    await self._pacer.yield_if_due()
                version = page.version
        except GoneError:
            if not version:
                raise  # the first page has no continue token
            # The token expired: larger pages, then a single one, take less time.
            self._page_size = 0 if self._page_size != requests.PAGE_SIZE else _LARGE_PAGE
            raise
        await self._commit(version)
        self._page_size = requests.PAGE_SIZE

    async def _watch(self) -> None:
        """Watch until the server ends the watch, after the requested time."""
        seconds = self._watch_seconds()
        request = requests.watch(self._selection, self._version, seconds)
        began, before = self._clock.monotonic(), self._version
        async with self._client.stream(request, **self._stream_limits(seconds)) as lines:
            self.state.set_established()
            await self._read_events(lines)
        lasted = self._clock.monotonic() - began
        if lasted < self._timing.short_watch and self._version == before:
            raise UnreachableError("the watch was closed at once")

    async def _read_events(self, lines: AsyncIterator[bytes]) -> None:
        async for line in lines:
            event = decode(line)
            if isinstance(event, Bookmark):
                self._sink.bookmark(event.version)
                self._version = event.version
            else:
                self._version = self._sink.event(*event)
            self._failures_at_version = self._silent_watches = 0
            await self._pacer.yield_if_due()
        self.state.restarts[ENDED] += 1
        self.state.set_lost(self._clock.monotonic())

    async def _commit(self, version: str) -> None:
        await self._sink.commit(version)
        self.state.relists += self.state.synced
        self._version = version
        self._failures_at_version = self._silent_watches = 0
        self._not_found_once = False
        if not self.state.served:
            logger.info("kind is served now", extra=self._fields)
        self.state.set_synced()

    async def _handle_not_found(self, error: NotFoundError) -> None:
        """Remove the kind from the sink and wait until the API server has it."""
        self._version = ""
        if self.state.synced and not self._not_found_once:
            # One 404 is not enough to drop all objects of a kind: try once more first.
            self._not_found_once = True
            await self._handle_error(error)
            return
        if self.state.served:
            logger.warning(
                "kind is not served, features that need it are off", extra=self._error_fields(error)
            )
            await self._sink.clear()
        self.state.set_lost(self._clock.monotonic())
        self.state.set_unserved(error)
        await self._pause(self._backoff.next())

    def _handle_silence(self, error: SilentWatchError) -> None:
        """Watch again at once; after a second silent watch, list again."""
        logger.info("watch is silent", extra=self._error_fields(error))
        self._silent_watches += 1
        if self._silent_watches >= 2:
            self._version, self._silent_watches = "", 0
        self.state.restarts[reason_of(error)] += 1
        self.state.set_lost(self._clock.monotonic())

    async def _handle_error(self, error: ApiError) -> None:
        """Back off, then continue from the last version unless the error invalidates it."""
        delay = max(self._backoff.next(), min(error.retry_after or 0.0, _MAX_RETRY_AFTER))
        if error.status and not isinstance(error, ThrottledError):
            self._failures_at_version += 1
        if (
            isinstance(error, GoneError)
            or error.reason == _STORAGE_READ_ERROR
            or self._failures_at_version >= _MAX_FAILURES_AT_VERSION
        ):
            self._version = ""
        known = self.state.failure
        level = logging.DEBUG if known and known.message == error.message else logging.WARNING
        logger.log(level, "watch failed", extra=self._error_fields(error) | {"retry_in": delay})
        self.state.restarts[reason_of(error)] += 1
        self.state.set_lost(self._clock.monotonic())
        self.state.record_failure(error)
        await self._pause(delay)

    async def _pause(self, delay: float) -> None:
        timer = self._clock.call_later(delay, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _watch_seconds(self) -> int:
        shortest, longest = self._timing.shortest_watch, self._timing.longest_watch
        return shortest + int((longest - shortest) * self._timing.chance())

    def _stream_limits(self, seconds: int) -> _Limits:
        opening, idle, grace = self._timing.opening, self._timing.idle, self._timing.grace
        return {"opening": opening, "idle": idle, "total": seconds + grace}

    @property
    def _fields(self) -> dict[str, object]:
        kind = self._selection.kind
        return {"kind": kind.name, "api_version": kind.api_version}

    def _error_fields(self, error: Exception) -> dict[str, object]:
        return self._fields | {"error": str(error)}


class _NotSupportedError(Exception):
    """The server does not support streaming lists, or not for this kind."""


def _decode_initial(line: bytes) -> WatchEvent | Bookmark:
    try:
        return decode(line)
    except UnreadableError:
        raise
    except ApiError as error:
        raise _NotSupportedError(error.message) from error
