"""The HTTPS client for webhooks: one pool, and a TLS context for each CA bundle and host."""

import asyncio
import errno
import math
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import SplitResult, urlsplit

import aiohttp
import orjson

from webhook.dev.apiserver.webhooks.configurations import Webhook
from webhook.dev.apiserver.webhooks.credentials import WebhookCredentials
from webhook.kube.meta import Raw

_IDLE_SECONDS: Final = 90.0
_RETRIES: Final = 10
_FAILURE: Final = ("Status", "Failure")
_USER_AGENT: Final = "kube-apiserver-admission"
_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, */*",
    "User-Agent": _USER_AGENT,
}
_ERRORS_BY_CODE: Final = {
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
    """A webhook that cannot be reached or responds with an error."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a webhook: its URL, which the certificate must match, and where to connect."""

    url: str
    host: str = ""
    """The host to connect to, if it is not that of the URL."""
    port: int = 0
    problem: str = ""
    """Why the webhook cannot be called."""


class _Response(NamedTuple):
    """A response: the status code, the body, its media type and the seconds of Retry-After."""

    code: int
    body: bytes
    content_type: str
    retry_after: int | None


ResolveService: TypeAlias = Callable[[Raw], Address]
"""Returns the address of the webhook behind a Service."""


class WebhookClient:
    """Calls webhooks; has to be closed."""

    def __init__(
        self, resolve: ResolveService, credentials: WebhookCredentials | None = None
    ) -> None:
        self._resolve = resolve
        self._credentials = credentials or WebhookCredentials({})
        self._tls_contexts: dict[tuple[bytes, str], ssl.SSLContext] = {}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def call(self, webhook: Webhook, body: bytes, deadline: float) -> bytes:
        """Send a review and return the body of the response; the deadline is a time of the loop."""
        loop = asyncio.get_running_loop()
        remaining = min(deadline - loop.time(), webhook.timeout)
        address = (
            self._resolve(webhook.service) if webhook.service is not None else Address(webhook.url)
        )
        url = f"{address.url}?timeout={max(math.ceil(remaining), 1)}s"
        if address.problem:
            raise CallError(f'Post "{url}": {address.problem}')
        try:
            async with asyncio.timeout(remaining):
                return await self._post(webhook, address, url, body)
        except TimeoutError as error:
            raise CallError(f'Post "{url}": context deadline exceeded') from error
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            raise CallError(f'Post "{url}": {_network_error(error, address)}') from error

    async def _post(self, webhook: Webhook, address: Address, url: str, body: bytes) -> bytes:
        """Post a review, with retries after 429 and 5xx responses that have Retry-After."""
        for _ in range(_RETRIES):
            response = await self._post_once(webhook, address, url, body)
            if response.retry_after is None or not (response.code == 429 or response.code >= 500):
                return _check_response(response)
            await asyncio.sleep(response.retry_after)
        return _check_response(await self._post_once(webhook, address, url, body))

    async def _post_once(
        self, webhook: Webhook, address: Address, url: str, body: bytes
    ) -> _Response:
        parts = urlsplit(url)
        target, headers, name = url, dict(_HEADERS), None
        if address.host:
            target = parts._replace(netloc=f"{address.host}:{address.port}").geturl()
            headers["Host"], name = parts.netloc, parts.hostname
        async with self._open_session().post(
            target,
            data=body,
            headers=headers,
            ssl=self._tls_context(webhook.ca_bundle, parts),
            server_hostname=name,
        ) as response:
            return _Response(
                response.status,
                await response.read(),
                response.content_type,
                _retry_after(response.headers),
            )

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)
            timeout = aiohttp.ClientTimeout(total=None)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        return self._session

    def _tls_context(self, bundle: bytes, parts: SplitResult) -> ssl.SSLContext:
        target = parts.netloc if parts.port else f"{parts.netloc}:443"
        context = self._tls_contexts.get((bundle, target))
        if context is None:
            try:
                context = ssl.create_default_context(cadata=bundle.decode() if bundle else None)
            except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
                prefix = "could not get REST client: unable to load root certificates: "
                raise CallError(f"{prefix}unable to parse bytes as PEM block") from error
            client = self._credentials.find(target)
            if client is not None:
                client.load_into(context)
            self._tls_contexts[bundle, target] = context
        return context


def _retry_after(headers: Mapping[str, str]) -> int | None:
    text = headers.get("Retry-After", "")
    return int(text) if text.isdigit() else None


def _check_response(response: _Response) -> bytes:
    """Return the body of a success; raise CallError with the message of Kubernetes' client."""
    code = response.code
    if 200 <= code < 300:
        return response.body
    if response.content_type == "application/json" and (message := _status_message(response.body)):
        raise CallError(message)
    text = "unknown"
    if response.content_type.startswith("text/"):
        text = response.body.decode(errors="replace").strip() or text
    if code == 403:
        raise CallError(text)
    if code in _ERRORS_BY_CODE:
        raise CallError(_ERRORS_BY_CODE[code])
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


def _network_error(error: Exception, address: Address) -> str:
    """Return the message that Go has for a network error."""
    parts = urlsplit(address.url)
    host, port = address.host or parts.hostname or "", address.port or parts.port or 443
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        problem = _certificate_error(error, parts.hostname or "")
        return f"tls: failed to verify certificate: x509: {problem}"
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


def _certificate_error(error: aiohttp.ClientConnectorCertificateError, host: str) -> str:
    text = str(error.certificate_error)
    if "expired" in text or "not yet valid" in text:
        return "certificate has expired or is not yet valid"
    if "mismatch" in text:
        return f"certificate is not valid for any names, but wanted to match {host}"
    return "certificate signed by unknown authority"
