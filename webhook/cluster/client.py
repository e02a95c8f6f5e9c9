"""The client of one API server: every request has a deadline, every failure is an ApiError."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec
from typing_extensions import override
from yarl import URL

from webhook.api.kinds import Kind
from webhook.cluster import requests
from webhook.cluster.config import Access, ConfigError, Credentials
from webhook.cluster.errors import (
    DECODE_ERRORS,
    ApiError,
    SilentWatchError,
    UnauthorizedError,
    UnreachableError,
    UnreadableError,
    error_from_response,
    excerpt,
)
from webhook.cluster.lists import ListReader, Page, decode_page
from webhook.cluster.requests import ApiRequest, Propagation, Selection
from webhook.kube.meta import Draft, ObjectKey, Raw

REQUEST_SECONDS: Final = 15.0
PAGE_SECONDS: Final = 60.0
CONNECT_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 30.0

# No event is longer: etcd takes 1.5 MiB by default, and few clusters raise that tenfold.
_MAX_LINE_BYTES: Final = 32 * 2**20

_JSON: Final = "application/json"
_NO_QUERY: Final[Mapping[str, str]] = {}


class Client(ListReader):
    """Sends requests to one API server; an async context manager that holds the connections."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # No limit: every watch keeps a connection, and the number of workers is limited elsewhere.
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

    @override
    async def page(
        self, selection: Selection, token: str = "", limit: int = requests.PAGE_SIZE
    ) -> Page:
        return decode_page(
            await self.send(requests.list_page(selection, token, limit), PAGE_SECONDS)
        )

    async def document(self, request: ApiRequest, timeout: float = REQUEST_SECONDS) -> Draft:
        """Send a request and decode the object in the response."""
        body = await self.send(request, timeout)
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except DECODE_ERRORS as error:
            raise UnreadableError(200, f"no object but {excerpt(body)}") from error

    async def send(self, request: ApiRequest, timeout: float = REQUEST_SECONDS) -> bytes:
        """Send a request and return the JSON of the response; raises an ApiError otherwise."""
        limits = aiohttp.ClientTimeout(
            total=timeout, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
        )
        with _as_unreachable(request):
            async with await self._connect(request, limits) as response:
                return await response.read()

    @asynccontextmanager
    async def stream(
        self, request: ApiRequest, *, opening: float, idle: float, total: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; inside the block it is established and yields one line per event.

        Reading raises SilentWatchError if nothing arrives for `idle` seconds, or if the watch lasts
        longer than `total` seconds.
        """
        limits = aiohttp.ClientTimeout(total=total, sock_connect=CONNECT_SECONDS, sock_read=idle)
        with _as_unreachable(request):
            async with asyncio.timeout(opening):
                response = await self._connect(request, limits)
        async with response:
            yield _lines(response.content, request)

    async def _connect(
        self, request: ApiRequest, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        credentials = await self._access.credentials()
        try:
            return await self._request(request, limits, credentials)
        except UnauthorizedError:
            # The token has expired since it was read, or the keys were rotated.
            renewed = await self._access.renew(credentials)
        return await self._request(request, limits, renewed)

    async def _request(
        self, request: ApiRequest, limits: aiohttp.ClientTimeout, credentials: Credentials
    ) -> aiohttp.ClientResponse:
        # Decompressing a response costs the event loop more than the transfer in a cluster.
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
            raise await _read_error(response)

    @property
    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            raise UnreachableError("the client is not open")
        return self._session


@contextmanager
def _as_unreachable(request: ApiRequest) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise UnreachableError(f"{request.method} {request.path}: no answer in time") from error
    except (aiohttp.ClientError, OSError, ConfigError) as error:
        why = str(error) or type(error).__name__
        raise UnreachableError(f"{request.method} {request.path}: {why}") from error


async def _read_error(response: aiohttp.ClientResponse) -> ApiError:
    content_type = response.content_type
    if response.status < 300:
        body = await response.content.read(1024)
        return UnreadableError(response.status, f"no JSON but {content_type}: {excerpt(body)}")
    later = response.headers.get("Retry-After", "")
    retry_after = float(later) if later.isascii() and later.isdigit() else None
    return error_from_response(response.status, content_type, await response.read(), retry_after)


async def _lines(content: aiohttp.StreamReader, request: ApiRequest) -> AsyncIterator[bytes]:
    """Split a stream into lines of any length."""
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
        if len(rest) > _MAX_LINE_BYTES:
            raise UnreadableError(200, f"a line without an end: {excerpt(bytes(rest[:1024]))}")
    if rest:
        raise UnreachableError(f"{request.path}: cut off in the middle of an event")


async def _next_chunk(content: aiohttp.StreamReader, request: ApiRequest) -> bytes:
    try:
        with _as_unreachable(request):
            return await content.readany()
    except UnreachableError as error:
        if isinstance(error.__cause__, TimeoutError):
            raise SilentWatchError(f"{request.path}: the watch is silent") from error.__cause__
        raise
