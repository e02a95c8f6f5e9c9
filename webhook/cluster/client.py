"""Send requests to an API server, each with a deadline, and read what it answers."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import aiohttp
import msgspec
from yarl import URL

from webhook.api.kinds import Kind
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.cluster import requests
from webhook.cluster.config import Access, ConfigError, Credentials
from webhook.cluster.errors import (
    UNREADABLE,
    ApiError,
    QuietError,
    UnauthorizedError,
    UnreachableError,
    UnreadableError,
    excerpt,
    of_response,
)
from webhook.cluster.nesting import decode_outside
from webhook.cluster.requests import Propagation, Request, Selection

REQUEST_SECONDS: Final = 15.0
PAGE_SECONDS: Final = 60.0
CONNECT_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 30.0

# Longer than any event can be: etcd takes 1.5 MiB by default, and few raise that tenfold.
_LONGEST_LINE: Final = 32 * 2**20

_JSON: Final = "application/json"
_NO_QUERY: Final[Mapping[str, str]] = {}


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class Page(NamedTuple):
    """One page of a list: its objects as bytes, its version, and the token of the next page."""

    items: Sequence[msgspec.Raw]
    version: str
    token: str


_LIST: Final = msgspec.json.Decoder(_List)


class Client:
    """Talk to one API server; an async context manager that holds the connections."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # No limit: every watch keeps a connection, and workers are bounded elsewhere.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self._access.host

    async def get(
        self, kind: Kind, key: ObjectKey, *, subresource: str = "", timeout: float = REQUEST_SECONDS
    ) -> Draft:
        return await self.document(requests.get(kind, key, subresource), timeout)

    async def create(
        self,
        kind: Kind,
        key: ObjectKey,
        draft: Raw,
        *,
        subresource: str = "",
        query: Mapping[str, str] = _NO_QUERY,
    ) -> Draft:
        request = requests.create(kind, key, draft, subresource=subresource, query=query)
        return await self.document(request)

    async def update(
        self,
        kind: Kind,
        key: ObjectKey,
        draft: Raw,
        *,
        subresource: str = "",
        query: Mapping[str, str] = _NO_QUERY,
    ) -> Draft:
        request = requests.update(kind, key, draft, subresource=subresource, query=query)
        return await self.document(request)

    async def patch(
        self,
        kind: Kind,
        key: ObjectKey,
        change: Raw | Sequence[Raw],
        *,
        subresource: str = "",
        query: Mapping[str, str] = _NO_QUERY,
    ) -> Draft:
        request = requests.patch(kind, key, change, subresource=subresource, query=query)
        return await self.document(request)

    async def apply(
        self,
        kind: Kind,
        key: ObjectKey,
        draft: Raw,
        *,
        manager: str,
        force: bool = True,
        subresource: str = "",
    ) -> Draft:
        request = requests.apply(
            kind, key, draft, manager=manager, force=force, subresource=subresource
        )
        return await self.document(request)

    async def delete(
        self,
        kind: Kind,
        key: ObjectKey,
        *,
        uid: str = "",
        version: str = "",
        propagation: Propagation = "Background",
    ) -> Draft:
        request = requests.delete(kind, key, uid=uid, version=version, propagation=propagation)
        return await self.document(request)

    async def page(
        self, selection: Selection, token: str = "", limit: int = requests.PAGE_SIZE
    ) -> Page:
        """Read one page of a list, its items not yet decoded."""
        body = await self.send(requests.list_page(selection, token, limit), PAGE_SECONDS)
        try:
            answer = decode_outside(_LIST, body)
        except UNREADABLE as error:
            raise UnreadableError(200, f"no list but {excerpt(body)}") from error
        return Page(answer.items or (), answer.metadata.resource_version, answer.metadata.next)

    async def document(self, request: Request, timeout: float = REQUEST_SECONDS) -> Draft:
        """Send a request and decode the object that answers it."""
        body = await self.send(request, timeout)
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except UNREADABLE as error:
            raise UnreadableError(200, f"no object but {excerpt(body)}") from error

    async def send(self, request: Request, timeout: float = REQUEST_SECONDS) -> bytes:
        """Send a request and give the JSON that answers it; raises an ApiError otherwise."""
        limits = aiohttp.ClientTimeout(
            total=timeout, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
        )
        with _as_unreachable(request):
            async with await self._begin(request, limits) as response:
                return await response.read()

    @asynccontextmanager
    async def stream(
        self, request: Request, *, opening: float, idle: float, total: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; inside, it is established and gives one event a line until it ends.

        It raises QuietError if nothing comes for `idle` seconds, or no end within `total`.
        """
        limits = aiohttp.ClientTimeout(total=total, sock_connect=CONNECT_SECONDS, sock_read=idle)
        with _as_unreachable(request):
            async with asyncio.timeout(opening):
                response = await self._begin(request, limits)
        async with response:
            yield _lines(response.content, request)

    async def _begin(
        self, request: Request, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        credentials = await self._access.credentials()
        try:
            return await self._request(request, limits, credentials)
        except UnauthorizedError:
            # Tokens expire between two looks at the clock, and keys are rotated.
            renewed = await self._access.renew(credentials)
        return await self._request(request, limits, renewed)

    async def _request(
        self, request: Request, limits: aiohttp.ClientTimeout, credentials: Credentials
    ) -> aiohttp.ClientResponse:
        # Unpacking an answer costs the loop more than a cluster's network does.
        headers = {"Accept": _JSON, "Accept-Encoding": "identity", **credentials.headers}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        access = self._access
        response = await self._open.request(
            request.method,
            URL(access.host + request.path, encoded=True).with_query(request.query),
            data=request.body,
            headers=headers,
            timeout=limits,
            ssl=credentials.context if credentials.context is not None else True,
            server_hostname=access.server_name,
            proxy=access.proxy,
            allow_redirects=False,
        )
        if response.status < 300 and response.content_type == _JSON:
            return response
        async with response:
            raise await _error_of(response)

    @property
    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            raise UnreachableError("the client is not open")
        return self._session


@contextmanager
def _as_unreachable(request: Request) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise UnreachableError(f"{request.method} {request.path}: no answer in time") from error
    except (aiohttp.ClientError, OSError, ConfigError) as error:
        why = str(error) or type(error).__name__
        raise UnreachableError(f"{request.method} {request.path}: {why}") from error


async def _error_of(response: aiohttp.ClientResponse) -> ApiError:
    content_type = response.content_type
    if response.status < 300:
        body = await response.content.read(1024)
        return UnreadableError(response.status, f"no JSON but {content_type}: {excerpt(body)}")
    later = response.headers.get("Retry-After", "")
    retry_after = float(later) if later.isascii() and later.isdigit() else None
    return of_response(response.status, content_type, await response.read(), retry_after)


async def _lines(content: aiohttp.StreamReader, request: Request) -> AsyncIterator[bytes]:
    """Split a stream into its lines, however long they are."""
    rest = bytearray()
    while chunk := await _next_chunk(content, request):
        *whole, tail = chunk.split(b"\n")
        if whole and rest:
            whole[0] = bytes(rest) + whole[0]
            rest.clear()
        for line in whole:
            if line:
                yield line
        rest += tail
        if len(rest) > _LONGEST_LINE:
            raise UnreadableError(200, f"a line without an end: {excerpt(bytes(rest[:1024]))}")
    if rest:
        raise UnreachableError(f"{request.path}: cut off in the middle of an event")


async def _next_chunk(content: aiohttp.StreamReader, request: Request) -> bytes:
    try:
        with _as_unreachable(request):
            return await content.readany()
    except UnreachableError as error:
        if isinstance(error.__cause__, TimeoutError):
            raise QuietError(f"{request.path}: the watch is silent") from error.__cause__
        raise
