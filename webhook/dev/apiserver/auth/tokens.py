"""ServiceAccount tokens: signed JSON Web Tokens with audiences and an optional bound object."""

import base64
import hashlib
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from webhook.dev.apiserver.auth.impersonation import ACCOUNTS
from webhook.dev.apiserver.auth.rbac import ACCOUNT_PREFIX
from webhook.dev.apiserver.builtin.reader import Reader
from webhook.dev.apiserver.endpoints.calls import User
from webhook.kube.meta import Draft, Raw

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
_HALF: Final = 32
_CLAIM: Final = "kubernetes.io"
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
_POD: Final = "authentication.kubernetes.io/pod-"
_COLLECTIONS: Final = {"pod": "pods", "secret": "secrets", "node": "nodes"}


class InvalidTokenError(ValueError):
    """A token that is malformed, expired, revoked or not signed by this server."""


@dataclass(frozen=True, slots=True)
class TokenSpec:
    """The audiences, the expiration and the bound object of a token."""

    audiences: tuple[str, ...]
    expires: int
    bound_kind: str = ""
    bound: Raw = field(default_factory=dict)
    """The object with whose deletion the token becomes invalid; `{}` if there is none."""


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """The user of a valid token, and those of the requested audiences that it is for."""

    user: User
    audiences: tuple[str, ...]


class Signer:
    """Signs and verifies tokens with a key that is kept in a file.

    Tokens are signed with ES256, and those of kube-apiserver usually with RS256; clients must not
    depend on either.
    """

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.key_id = _encoded(hashlib.sha256(public).digest())

    @classmethod
    def at(cls, path: Path) -> "Signer":
        """Read the key, or create one that only its owner can read."""
        if path.exists():
            key = serialization.load_pem_private_key(path.read_bytes(), None)
            if not isinstance(key, ec.EllipticCurvePrivateKey):
                raise TypeError(f"{path} is not an elliptic curve key")
            return cls(key)
        key = ec.generate_private_key(ec.SECP256R1())
        path.parent.mkdir(parents=True, exist_ok=True)
        encoded = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(encoded)
        return cls(key)

    def issue(self, account: Draft, purpose: TokenSpec, now: int) -> str:
        """Issue a token for a ServiceAccount."""
        metadata = account["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        private: Draft = {
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": metadata["uid"]},
        }
        if purpose.bound:
            bound = purpose.bound["metadata"]
            private[purpose.bound_kind] = {"name": bound["name"], "uid": bound["uid"]}
        claims = {
            "aud": list(purpose.audiences),
            "exp": purpose.expires,
            "iat": now,
            "iss": ISSUER,
            "jti": str(uuid.uuid4()),
            _CLAIM: private,
            "nbf": now,
            "sub": f"{ACCOUNT_PREFIX}{namespace}:{name}",
        }
        header = {"alg": "ES256", "kid": self.key_id}
        signed = f"{_encoded(orjson.dumps(header))}.{_encoded(orjson.dumps(claims))}"
        left, right = decode_dss_signature(self._key.sign(signed.encode(), _ALGORITHM))
        signature = left.to_bytes(_HALF) + right.to_bytes(_HALF)
        return f"{signed}.{_encoded(signature)}"

    def claims(self, token: str) -> Draft:
        """Return the claims of a token that this server signed."""
        try:
            head, body, tail = token.split(".")
            header, claims = orjson.loads(_decoded(head)), orjson.loads(_decoded(body))
            signature = _decoded(tail)
        except ValueError as error:
            raise InvalidTokenError("invalid bearer token") from error
        if header.get("alg") != "ES256" or len(signature) != 2 * _HALF:
            raise InvalidTokenError("invalid bearer token")
        left = int.from_bytes(signature[:_HALF])
        right = int.from_bytes(signature[_HALF:])
        try:
            self._key.public_key().verify(
                encode_dss_signature(left, right), f"{head}.{body}".encode(), _ALGORITHM
            )
        except InvalidSignature as error:
            raise InvalidTokenError("invalid bearer token") from error
        found: Draft = claims
        return found

    def verify(
        self, token: str, audiences: Iterable[str], reader: Reader, now: int
    ) -> VerifiedToken:
        """Verify a token for some audiences, including its expiration and bound object."""
        claims = self.claims(token)
        if claims.get("iss") != ISSUER:
            raise InvalidTokenError("invalid bearer token")
        if now >= int(claims.get("exp", 0)):
            raise InvalidTokenError("[invalid bearer token, service account token has expired]")
        matching = tuple(each for each in audiences if each in (claims.get("aud") or ()))
        if not matching:
            given = _format_list(claims.get("aud") or ())
            raise InvalidTokenError(
                f"[invalid bearer token, token audiences {given} is invalid for the target "
                f"audiences {_format_list(audiences)}]"
            )
        return VerifiedToken(_user(claims, reader), matching)


_ALGORITHM: Final = ec.ECDSA(hashes.SHA256())


def _user(claims: Draft, reader: Reader) -> User:
    private = claims.get(_CLAIM) or {}
    namespace, account = private.get("namespace", ""), private.get("serviceaccount") or {}
    name, uid = account.get("name", ""), account.get("uid", "")
    found = reader.get("serviceaccounts", namespace, name)
    if found is None or found["metadata"].get("uid") != uid:
        raise InvalidTokenError(
            "[invalid bearer token, service account token has been invalidated]"
        )
    extra = {CREDENTIAL_ID: (f"JTI={claims.get('jti', '')}",)}
    for kind, storage in _COLLECTIONS.items():
        bound = private.get(kind)
        if not bound:
            continue
        home = "" if kind == "node" else namespace
        current = reader.get(storage, home, bound["name"])
        if current is None or current["metadata"].get("uid") != bound["uid"]:
            raise InvalidTokenError(
                "[invalid bearer token, service account token has been invalidated]"
            )
        if kind == "pod":
            extra[f"{_POD}name"], extra[f"{_POD}uid"] = (bound["name"],), (bound["uid"],)
    groups = (ACCOUNTS, f"{ACCOUNTS}:{namespace}")
    return User(f"{ACCOUNT_PREFIX}{namespace}:{name}", groups, uid, extra)


def _format_list(values: Iterable[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
