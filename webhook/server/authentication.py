"""Who is calling: a client certificate of an authority we were told of, or a bearer token."""

import hashlib
import ssl
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from webhook.api.meta import ObjectKey
from webhook.cluster import requests
from webhook.cluster.answers import UnanswerableError
from webhook.cluster.errors import ApiError
from webhook.cluster.requests import Request
from webhook.runtime.clock import Clock
from webhook.server.errors import LaterError, NotAllowedError, StrangerError
from webhook.state.questions import Answers, MayI, Question
from webhook.tls.bundle import is_vouched_for

TOKEN_SECONDS = 10.0
"""How long an API server's word about a token is taken for granted."""

_TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
_MOST_TOKENS = 1024


class Identity(NamedTuple):
    """A caller, as an API server would know it."""

    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class Api(Protocol):
    """The part of the client that reviews tokens."""

    async def document(self, request: Request, timeout: float) -> dict[str, Any]: ...


class Asking(Protocol):
    """Whoever can answer questions about access."""

    async def answer(self, questions: Sequence[Question], seconds: float) -> Answers: ...


class Authenticator:
    """Says who a caller is and whether it may bind shoots."""

    def __init__(self, api: Api, asking: Asking, clock: Clock, authorities: bytes = b"") -> None:
        self._api = api
        self._asking = asking
        self._clock = clock
        self._authorities = authorities
        self._tokens: dict[bytes, tuple[float, Identity]] = {}

    async def identify(self, request: web.Request, seconds: float) -> Identity:
        """Say who calls; StrangerError if nothing proves it."""
        if self._authorities:
            identity = certified(request, self._authorities)
            if identity is not None:
                return identity
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return await self._review(token.strip(), seconds)
        raise StrangerError("say who you are: with a client certificate or a bearer token")

    async def authorize(self, identity: Identity, shoot: ObjectKey, seconds: float) -> None:
        """Raise NotAllowedError unless the caller may update shoots/binding."""
        question = MayI(
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
            answers = await self._asking.answer([question], seconds)
        except UnanswerableError as error:
            raise LaterError(str(error)) from error
        if answers.get(question) is not True:
            raise NotAllowedError(
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
            raise LaterError(f"the token could not be checked: {error}") from error
        status = answer.get("status") or {}
        if status.get("authenticated") is not True:
            raise StrangerError("the bearer token is not valid")
        identity = _identity(status.get("user") or {})
        if len(self._tokens) >= _MOST_TOKENS:
            self._tokens.clear()
        self._tokens[digest] = (now, identity)
        return identity


def certified(request: web.Request, authorities: bytes) -> Identity | None:
    """Say whose certificate the connection came with, if one of the authorities issued it."""
    transport = request.transport
    connection: ssl.SSLObject | None = (
        transport.get_extra_info("ssl_object") if transport is not None else None
    )
    der = connection.getpeercert(binary_form=True) if connection is not None else None
    return _certified(der, authorities) if der else None


@lru_cache(maxsize=256)
def _certified(der: bytes, authorities: bytes) -> Identity | None:
    # The handshake has verified it against all authorities; here it matters which one it was.
    certificate = x509.load_der_x509_certificate(der)
    if not is_vouched_for(certificate.public_bytes(Encoding.PEM), authorities):
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
