"""Who asks: the subject of a client certificate, or a ServiceAccount by its token."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from aiohttp import web

from webhook.api import status
from webhook.apiserver.builtin.reading import Reader
from webhook.apiserver.calls import User
from webhook.apiserver.impersonation import AUTHENTICATED
from webhook.apiserver.tokens import ISSUER, BadTokenError, Signer

CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"


class Authenticator:
    """Names the user of each request, or refuses a stranger."""

    def __init__(self, signer: Signer, reader: Reader, now: Callable[[], float]) -> None:
        self._signer = signer
        self._reader = reader
        self._now = now
        self._known: WeakKeyDictionary[Any, User] = WeakKeyDictionary()
        """The users behind the open connections, so that certificates are read once."""

    async def authenticate(self, request: web.BaseRequest) -> User:
        """Name the user; a token is looked at only if there is no certificate."""
        user = self._by_certificate(request) or self._by_token(request)
        if user is None:
            raise status.unauthorized()
        if AUTHENTICATED in user.groups:
            return user
        return replace(user, groups=(*user.groups, AUTHENTICATED))

    def _by_certificate(self, request: web.BaseRequest) -> User | None:
        transport = request.transport
        tls = transport.get_extra_info("ssl_object") if transport is not None else None
        if tls is None:
            return None
        user = self._known.get(tls) or _subject(tls)
        if user is not None:
            self._known[tls] = user
        return user

    def _by_token(self, request: web.BaseRequest) -> User | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        try:
            return self._signer.verify(
                token.strip(), (ISSUER,), self._reader, int(self._now())
            ).user
        except BadTokenError as error:
            raise status.unauthorized() from error


def _subject(tls: Any) -> User | None:
    certificate = tls.getpeercert()
    if not certificate:
        return None
    subject = [pair for parts in certificate["subject"] for pair in parts]
    names = [value for key, value in subject if key == "commonName"]
    if not names:
        return None
    groups = tuple(value for key, value in subject if key == "organizationName")
    fingerprint = hashlib.sha256(tls.getpeercert(binary_form=True)).hexdigest()
    return User(names[0], groups, extra={CREDENTIAL: (f"X509SHA256={fingerprint}",)})
