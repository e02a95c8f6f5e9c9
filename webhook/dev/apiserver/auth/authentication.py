"""Authentication by client certificates and ServiceAccount tokens."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from aiohttp import web

from webhook.dev.apiserver.auth.impersonation import AUTHENTICATED
from webhook.dev.apiserver.auth.tokens import CREDENTIAL_ID, ISSUER, InvalidTokenError, Signer
from webhook.dev.apiserver.builtin.reader import Reader
from webhook.dev.apiserver.endpoints.calls import User
from webhook.kube import status


class Authenticator:
    """Returns the user of each request, or rejects it."""

    def __init__(self, signer: Signer, reader: Reader, now: Callable[[], float]) -> None:
        self._signer = signer
        self._reader = reader
        self._now = now
        self._known: WeakKeyDictionary[Any, User] = WeakKeyDictionary()
        """The users of open connections, so that each certificate is parsed once."""

    async def authenticate(self, request: web.BaseRequest) -> User:
        """Return the user; a token counts only if there is no certificate."""
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
        except InvalidTokenError as error:
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
    return User(names[0], groups, extra={CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)})
