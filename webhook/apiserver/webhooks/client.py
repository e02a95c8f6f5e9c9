"""Send reviews over HTTPS: one pool of connections, one TLS context a CA bundle."""

import asyncio
import errno
import math
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import orjson

from webhook.apiserver.webhooks.hooks import Hook

_IDLE_SECONDS: Final = 90.0
_RETRIES: Final = 10
_FAILURE: Final = ("Status", "Failure")
_AGENT: Final = "kube-apiserver-admission"
_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, */*",
    "User-Agent": _AGENT,
}
_ANSWERS_BY_CODE: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    410: "the server reported that the requested resource is no longer available",
    415: "the body of the request was in an unknown format - accepted media types include: ",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be "
    "processing the request",
}


class CallError(Exception):
    """A webhook that could not be reached or did not answer as it should."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a webhook listens: what is shown and checked, and what is dialled."""

    url: str
    host: str = ""
    """The host to connect to, where it is not that of the URL."""
    port: int = 0
    problem: str = ""
    """Why nobody can be called there."""


class _Answer(NamedTuple):
    """What came back: the code, the body and its type, and when to come again."""

    code: int
    body: bytes
    content_type: str
    wait: int | None


#: Finds out where a Service's webhook listens.
Resolver = Callable[[Mapping[str, Any]], Address]


class Client:
    """Calls webhooks; close it at the end."""

    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve
        self._contexts: dict[bytes, ssl.SSLContext] = {}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the pool."""
        if self._session is not None:
            await self._session.close()

    async def call(self, hook: Hook, body: bytes, deadline: float) -> bytes:
        """Send a review before the deadline (of the loop's clock), and answer the body."""
        loop = asyncio.get_running_loop()
        remaining = min(deadline - loop.time(), hook.timeout)
        address = self._resolve(hook.service) if hook.service is not None else Address(hook.url)
        url = f"{address.url}?timeout={max(math.ceil(remaining), 1)}s"
        if address.problem:
            raise CallError(f'Post "{url}": {address.problem}')
        try:
            async with asyncio.timeout(remaining):
                return await self._post(hook, address, url, body)
        except TimeoutError as error:
            raise CallError(f'Post "{url}": context deadline exceeded') from error
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            raise CallError(f'Post "{url}": {_told(error, address)}') from error

    async def _post(self, hook: Hook, address: Address, url: str, body: bytes) -> bytes:
        """Post, and try again as long as the webhook says when."""
        for _ in range(_RETRIES):
            answer = await self._once(hook, address, url, body)
            if answer.wait is None or not (answer.code == 429 or answer.code >= 500):
                return _checked(answer)
            await asyncio.sleep(answer.wait)
        return _checked(await self._once(hook, address, url, body))

    async def _once(self, hook: Hook, address: Address, url: str, body: bytes) -> _Answer:
        parts = urlsplit(url)
        target, headers, name = url, dict(_HEADERS), None
        if address.host:
            target = parts._replace(netloc=f"{address.host}:{address.port}").geturl()
            headers["Host"], name = parts.netloc, parts.hostname
        async with self._pool().post(
            target,
            data=body,
            headers=headers,
            ssl=self._context(hook.ca_bundle),
            server_hostname=name,
        ) as response:
            return _Answer(
                response.status,
                await response.read(),
                response.content_type,
                _retry_after(response.headers),
            )

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)
            timeout = aiohttp.ClientTimeout(total=None)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        return self._session

    def _context(self, bundle: bytes) -> ssl.SSLContext:
        context = self._contexts.get(bundle)
        if context is None:
            try:
                context = ssl.create_default_context(cadata=bundle.decode() if bundle else None)
            except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
                why = "could not get REST client: unable to load root certificates: "
                raise CallError(f"{why}unable to parse bytes as PEM block") from error
            self._contexts[bundle] = context
        return context


def _retry_after(headers: Mapping[str, str]) -> int | None:
    text = headers.get("Retry-After", "")
    return int(text) if text.isdigit() else None


def _checked(answer: _Answer) -> bytes:
    """Answer the body of a success; word all else as Kubernetes' client does."""
    code = answer.code
    if 200 <= code < 300:
        return answer.body
    if answer.content_type == "application/json" and (message := _status_message(answer.body)):
        raise CallError(message)
    text = "unknown"
    if answer.content_type.startswith("text/"):
        text = answer.body.decode(errors="replace").strip() or text
    if code == 403:
        raise CallError(text)
    if code in _ANSWERS_BY_CODE:
        raise CallError(_ANSWERS_BY_CODE[code])
    if code >= 500:
        raise CallError(
            f'an error on the server ("{text}") has prevented the request from succeeding'
        )
    raise CallError(
        f"the server responded with the status code {code} but did not return more information"
    )


def _status_message(body: bytes) -> str:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    if not isinstance(found, dict) or (found.get("kind"), found.get("status")) != _FAILURE:
        return ""
    return str(found.get("message") or "")


def _told(error: Exception, address: Address) -> str:
    """Word a failure of the network as Go does."""
    parts = urlsplit(address.url)
    host, port = address.host or parts.hostname or "", address.port or parts.port or 443
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return (
            f"tls: failed to verify certificate: x509: {_certificate(error, parts.hostname or '')}"
        )
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {parts.hostname}: no such host"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return "http: server gave HTTP response to HTTPS client"
    if isinstance(error, aiohttp.ClientConnectorError):
        refused = error.os_error.errno == errno.ECONNREFUSED
        why = "connection refused" if refused else str(error.os_error)
        return f"dial tcp {host}:{port}: connect: {why}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error) or type(error).__name__


def _certificate(error: aiohttp.ClientConnectorCertificateError, host: str) -> str:
    text = str(error.certificate_error)
    if "expired" in text or "not yet valid" in text:
        return "certificate has expired or is not yet valid"
    if "mismatch" in text:
        return f"certificate is not valid for any names, but wanted to match {host}"
    return "certificate signed by unknown authority"
