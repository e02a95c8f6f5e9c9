"""Authentication of clients by a client certificate or a bearer token."""

import asyncio
import hashlib
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from webhook.cluster import requests
from webhook.cluster.errors import ApiError
from webhook.cluster.live_reader import LiveReadError
from webhook.cluster.requests import ApiRequest
from webhook.kube.clock import Clock
from webhook.kube.meta import ObjectKey
from webhook.server.errors import AccessDeniedError, RetryLaterError, UnauthenticatedError
from webhook.state.live_reads import AccessReview
from webhook.state.views import CacheReader
from webhook.tls.bundle import is_issued_by

TOKEN_SECONDS: Final = 10.0
"""How long the result of a TokenReview is cached."""

_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
_MAX_TOKENS: Final = 1024


class Identity(NamedTuple):
    """The user info of a client, as in Kubernetes."""

    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class TokenReviewApi(Protocol):
    """The method of the client that posts a TokenReview."""

    async def document(self, request: ApiRequest, timeout: float) -> dict[str, Any]: ...


class Authenticator:
    """Authenticates clients, and authorizes them to bind shoots."""

    def __init__(
        self, api: TokenReviewApi, cache: CacheReader, clock: Clock, authorities: bytes = b""
    ) -> None:
        self._api = api
        self._cache = cache
        self._clock = clock
        self._authorities = authorities
        self._tokens: dict[bytes, tuple[float, Identity]] = {}

    async def identify(self, request: web.Request, seconds: float) -> Identity:
        """Return the identity of a client; raises UnauthenticatedError without a proof."""
        if self._authorities:
            identity = certificate_identity(request.transport, self._authorities)
            if identity is not None:
                return identity
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return await self._review(token.strip(), seconds)
        raise UnauthenticatedError("authenticate with a client certificate or a bearer token")

    async def authorize(self, identity: Identity, shoot: ObjectKey, seconds: float) -> None:
        """Raise AccessDeniedError unless the client may update shoots/binding."""
        question = AccessReview(
            identity.username,
            identity.uid,
            identity.groups,
            tuple(sorted(identity.extra.items())),
            verb="update",
            group="core.gardener.cloud",
            resource="shoots",
            subresource="binding",
            namespace=shoot.namespace,
            name=shoot.name,
        )
        try:
            live_results = await self._cache.read_live([question], seconds)
        except LiveReadError as error:
            raise RetryLaterError(str(error)) from error
        if live_results.get(question) is not True:
            raise AccessDeniedError(
                f"{identity.username} may not update shoots/binding in {shoot.namespace}"
            )

    async def _review(self, token: str, seconds: float) -> Identity:
        digest = hashlib.sha256(token.encode()).digest()
        now = self._clock.monotonic()
        known = self._tokens.get(digest)
        if known is not None and now - known[0] < TOKEN_SECONDS:
            return known[1]
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        try:
            answer = await self._api.document(requests.post(_TOKEN_REVIEWS, review), seconds)
        except ApiError as error:
            raise RetryLaterError(f"the token could not be checked: {error}") from error
        status = answer.get("status") or {}
        if status.get("authenticated") is not True:
            raise UnauthenticatedError("the bearer token is not valid")
        identity = _identity(status.get("user") or {})
        if len(self._tokens) >= _MAX_TOKENS:
            self._tokens.clear()
        self._tokens[digest] = (now, identity)
        return identity


def certificate_identity(
    transport: asyncio.BaseTransport | None, authorities: bytes
) -> Identity | None:
    """Return the identity in the client certificate of a connection, if a given CA issued it."""
    connection: ssl.SSLObject | None = (
        transport.get_extra_info("ssl_object") if transport is not None else None
    )
    der = connection.getpeercert(binary_form=True) if connection is not None else None
    return _identity_of_certificate(der, authorities) if der else None


@lru_cache(maxsize=256)
def _identity_of_certificate(der: bytes, authorities: bytes) -> Identity | None:
    # The handshake has verified it against all CAs; here it matters which of them issued it.
    certificate = x509.load_der_x509_certificate(der)
    if not is_issued_by(certificate.public_bytes(Encoding.PEM), authorities):
        return None
    names = [str(name.value) for name in _attributes(certificate, NameOID.COMMON_NAME)]
    groups = [str(name.value) for name in _attributes(certificate, NameOID.ORGANIZATION_NAME)]
    return Identity(names[0], groups=(*groups, "system:authenticated")) if names else None


def _attributes(
    certificate: x509.Certificate, oid: x509.ObjectIdentifier
) -> list[x509.NameAttribute[str | bytes]]:
    return certificate.subject.get_attributes_for_oid(oid)


def _identity(user: Mapping[str, Any]) -> Identity:
    extra = {str(key): tuple(values) for key, values in (user.get("extra") or {}).items()}
    return Identity(
        str(user.get("username") or ""),
        str(user.get("uid") or ""),
        tuple(user.get("groups") or ()),
        extra,
    )
