"""Send reviews over HTTPS: one pool of connections, one TLS context a CA bundle."""

import asyncio
import errno
import math
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import orjson

from webhook.apiserver.webhooks.hooks import Hook

_IDLE_SECONDS: Final = 90.0
_RETRIES: Final = 10
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


#: Finds out where a Service's webhook listens; a CallError says why not.
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
            code, answer, wait = await self._once(hook, address, url, body)
            if wait is None or not (code == 429 or code >= 500):
                return _checked(code, answer)
            await asyncio.sleep(wait)
        code, answer, _ = await self._once(hook, address, url, body)
        return _checked(code, answer)

    async def _once(
        self, hook: Hook, address: Address, url: str, body: bytes
    ) -> tuple[int, bytes, int | None]:
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
            answer = await response.read()
            return response.status, answer, _retry_after(response.headers)

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


def _checked(code: int, answer: bytes) -> bytes:
    """Answer the body of a success; word all else as Kubernetes' client does."""
    if 200 <= code < 300:
        return answer
    try:
        found = orjson.loads(answer)
    except orjson.JSONDecodeError:
        found = None
    if isinstance(found, dict) and found.get("kind") == "Status" and found.get("message"):
        raise CallError(str(found["message"]))
    text = answer.decode(errors="replace").strip()
    if code == 403:
        raise CallError(text or "forbidden")
    if code in _ANSWERS_BY_CODE:
        raise CallError(_ANSWERS_BY_CODE[code])
    if code >= 500:
        shown = text or "unknown"
        raise CallError(
            f'an error on the server ("{shown}") has prevented the request from succeeding'
        )
    raise CallError(
        f"the server responded with the status code {code} but did not return more information"
    )


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
