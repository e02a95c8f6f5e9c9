"""List a kind, then watch it, for ever: bookmarks, expired versions, backoff, dead connections."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final, TypedDict

from webhook.cluster import requests
from webhook.cluster.client import Client, Page
from webhook.cluster.errors import (
    ApiError,
    BadRequestError,
    GoneError,
    InvalidError,
    NotFoundError,
    QuietError,
    ThrottledError,
    UnreachableError,
    UnreadableError,
)
from webhook.cluster.events import Bookmark, Changed, decode
from webhook.cluster.pacing import Clock, Pacer, Retry, Timing
from webhook.cluster.requests import Selection
from webhook.cluster.sink import Sink
from webhook.cluster.standing import DOUBTED, ENDED, Standing, reason_of

logger = logging.getLogger(__name__)

# Refused this often at the same version, a watch gets a fresh list to go on from.
_MOST_SETBACKS: Final = 5

# A server may ask for more time than its backoff gives, but not for the rest of the day.
_MOST_PATIENCE: Final = 60.0

_LARGE_PAGE: Final = 8 * requests.PAGE_SIZE

# A server that could not read an object says so once; its events are incomplete from then on.
_STORAGE_READ_ERROR: Final = "StorageReadError"


class _Limits(TypedDict):
    opening: float
    idle: float
    total: float


class Reflector:
    """Keep a sink equal to a kind on the server, whatever the server and the network do."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        sink: Sink,
        clock: Clock,
        *,
        pacer: Pacer | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._client = client
        self._selection = selection
        self._sink = sink
        self._clock = clock
        self._pacer = pacer or Pacer(clock)
        self._timing = timing or Timing()
        self._retry = Retry(clock, self._timing.chance)
        self._wake = asyncio.Event()
        self._version = ""
        self._offers_streams = True
        self._page_size = requests.PAGE_SIZE
        self._setbacks = 0
        self._silences = 0
        self._is_missing = False
        self._attempt: asyncio.Timeout | None = None
        self.standing = Standing(clock.monotonic())

    def wake(self) -> None:
        """Try again now: what was missing may have appeared."""
        if self.standing.lost_since is not None:
            self._retry.reset()
            self._wake.set()

    def doubt(self) -> None:
        """Ask again on another connection: who answered on this one may serve the kind no more.

        A proxied watch outlives the APIService that it was opened through.
        """
        if self._attempt is not None and not self._attempt.expired():
            self._attempt.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Follow the kind until cancelled."""
        while True:
            self._wake.clear()
            try:
                await self._follow_unless_in_doubt()
            except NotFoundError as error:
                await self._leave(error)
            except QuietError as error:
                self._fall_silent(error)
            except ApiError as error:
                await self._set_back(error)
            except Exception as error:
                # A bug: what is held can no longer be trusted.
                logger.exception("watch met a bug", extra=self._fields)
                self._version = ""
                await self._set_back(UnreachableError(f"bug: {error}"))

    async def _follow_unless_in_doubt(self) -> None:
        try:
            async with asyncio.timeout(None) as self._attempt:
                await self._follow()
        except TimeoutError:
            self._retry.reset()
            self.standing.restarts[DOUBTED] += 1
            self.standing.lose(self._clock.monotonic())
        finally:
            self._attempt = None

    async def _follow(self) -> None:
        if self._version:
            await self._watch()
        elif self._offers_streams:
            await self._stream()
        else:
            await self._list()

    async def _stream(self) -> None:
        """Read the list as events, and watch on the same connection; else, read pages."""
        self._sink.begin()
        seconds = self._seconds()
        request = requests.stream_list(self._selection, seconds)
        try:
            async with self._client.stream(request, **self._limits(seconds)) as lines:
                version = await self._take_list(lines)
                await self._commit(version)
                self.standing.gain()
                await self._take_events(lines)
        except (BadRequestError, InvalidError, _NotOfferedError) as refusal:
            if self._version:
                raise  # it is about the watch, and the list is complete
            if isinstance(refusal, ApiError):
                self._offers_streams = False
            logger.info("reading pages instead of a stream", extra=self._about(refusal))
            await self._list()

    async def _take_list(self, lines: AsyncIterator[bytes]) -> str:
        patience = self._timing.initial_idle
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(patience) as deadline:
                async for line in lines:
                    deadline.reschedule(loop.time() + patience)
                    event = _decode_initial(line)
                    if isinstance(event, Changed):
                        self._sink.item(*event)
                    elif event.ends_list:
                        return event.version
                    await self._pacer.breathe()
        except TimeoutError as error:
            # Servers that do not know the question take it for an ordinary watch.
            self._offers_streams = False
            raise _NotOfferedError("no end of the initial events") from error
        raise UnreachableError("a streamed list ended before it was complete")

    async def _list(self) -> None:
        """Read the list page by page."""
        self._sink.begin()
        page = await self._client.page(self._selection, limit=self._page_size)
        await self._take_page(page)
        while page.token:
            try:
                page = await self._client.page(self._selection, page.token, self._page_size)
            except GoneError:
                # The next list is faster than history is forgotten, or it is in one piece.
                self._page_size = 0 if self._page_size != requests.PAGE_SIZE else _LARGE_PAGE
                raise
            await self._take_page(page)
        await self._commit(page.version)
        self._page_size = requests.PAGE_SIZE

    async def _take_page(self, page: Page) -> None:
        for document in page.items:
            self._sink.item("ADDED", document)
            await self._pacer.breathe()

    async def _watch(self) -> None:
        """Follow what changes, until the server ends it as it was asked to."""
        seconds = self._seconds()
        request = requests.watch(self._selection, self._version, seconds)
        began, before = self._clock.monotonic(), self._version
        async with self._client.stream(request, **self._limits(seconds)) as lines:
            self.standing.gain()
            await self._take_events(lines)
        lasted = self._clock.monotonic() - began
        if lasted < self._timing.short_watch and self._version == before:
            raise UnreachableError("the watch was closed at once")

    async def _take_events(self, lines: AsyncIterator[bytes]) -> None:
        async for line in lines:
            event = decode(line)
            if isinstance(event, Bookmark):
                self._sink.bookmark(event.version)
                self._version = event.version
            else:
                self._version = self._sink.event(*event)
            self._setbacks = self._silences = 0
            await self._pacer.breathe()
        self.standing.restarts[ENDED] += 1
        self.standing.lose(self._clock.monotonic())

    async def _commit(self, version: str) -> None:
        await self._sink.commit(version)
        self.standing.relists += self.standing.synced
        self._version = version
        self._setbacks = self._silences = 0
        self._is_missing = False
        if not self.standing.served:
            logger.info("kind is served now", extra=self._fields)
        self.standing.sync()

    async def _leave(self, error: NotFoundError) -> None:
        """Do without the kind until it appears."""
        self._version = ""
        if self.standing.synced and not self._is_missing:
            # Dropping a whole kind is a big step to take on one answer: ask again first.
            self._is_missing = True
            await self._set_back(error)
            return
        if self.standing.served:
            logger.warning("kind is not served; what needs it is off", extra=self._about(error))
            await self._sink.clear()
        self.standing.lose(self._clock.monotonic())
        self.standing.leave(error)
        await self._pause(self._retry.next())

    def _fall_silent(self, error: QuietError) -> None:
        """Watch again at once; if that is silent, too, ask what we have missed."""
        logger.info("watch fell silent", extra=self._about(error))
        self._silences += 1
        if self._silences >= 2:
            self._version, self._silences = "", 0
        self.standing.restarts[reason_of(error)] += 1
        self.standing.lose(self._clock.monotonic())

    async def _set_back(self, error: ApiError) -> None:
        """Wait, then go on from the last version, unless that is of no use any more."""
        delay = max(self._retry.next(), min(error.retry_after or 0.0, _MOST_PATIENCE))
        if error.status and not isinstance(error, ThrottledError):
            self._setbacks += 1
        if (
            isinstance(error, GoneError)
            or error.reason == _STORAGE_READ_ERROR
            or self._setbacks >= _MOST_SETBACKS
        ):
            self._version = ""
        known = self.standing.failure
        level = logging.DEBUG if known and known.message == error.message else logging.WARNING
        logger.log(level, "watch failed", extra=self._about(error) | {"retry_in": delay})
        self.standing.restarts[reason_of(error)] += 1
        self.standing.lose(self._clock.monotonic())
        self.standing.fail(error)
        await self._pause(delay)

    async def _pause(self, delay: float) -> None:
        timer = self._clock.call_later(delay, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _seconds(self) -> int:
        shortest, longest = self._timing.shortest_watch, self._timing.longest_watch
        return shortest + int((longest - shortest) * self._timing.chance())

    def _limits(self, seconds: int) -> _Limits:
        opening, idle, grace = self._timing.opening, self._timing.idle, self._timing.grace
        return {"opening": opening, "idle": idle, "total": seconds + grace}

    @property
    def _fields(self) -> dict[str, object]:
        kind = self._selection.kind
        return {"kind": kind.name, "api_version": kind.api_version}

    def _about(self, error: Exception) -> dict[str, object]:
        return self._fields | {"error": str(error)}


class _NotOfferedError(Exception):
    """The server does not stream lists, or not this one."""


def _decode_initial(line: bytes) -> Changed | Bookmark:
    try:
        return decode(line)
    except UnreadableError:
        raise
    except ApiError as error:
        raise _NotOfferedError(error.message) from error
