"""ServiceAccount tokens: signed JSON Web Tokens that name an account and what they are for."""

import base64
import hashlib
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from webhook.apiserver.builtin.reading import Reader
from webhook.apiserver.calls import User
from webhook.apiserver.impersonation import ACCOUNTS
from webhook.apiserver.rbac import ACCOUNT_PREFIX

Object = dict[str, Any]

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
_HALF: Final = 32
_CLAIM: Final = "kubernetes.io"
_CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
_POD: Final = "authentication.kubernetes.io/pod-"
_COLLECTIONS: Final = {"pod": "pods", "secret": "secrets", "node": "nodes"}


class BadTokenError(ValueError):
    """A token that proves nothing."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a token is asked for: for whom, until when, and on whose life it depends."""

    audiences: tuple[str, ...]
    expires: int
    bound_kind: str = ""
    bound: Mapping[str, Any] = field(default_factory=dict)
    """The object that the token dies with, `{}` if there is none."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Whom a valid token names, and which of the audiences asked for it is meant for."""

    user: User
    audiences: tuple[str, ...]


class Signer:
    """Signs and checks tokens with a key of its own, kept in a file."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.key_id = _encoded(hashlib.sha256(public).digest())

    @classmethod
    def at(cls, path: Path) -> "Signer":
        """Read the key, or make one that only its owner can read."""
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

    def issue(self, account: Object, purpose: Purpose, now: int) -> str:
        """Sign a token for an account."""
        metadata = account["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        about: Object = {
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": metadata["uid"]},
        }
        if purpose.bound:
            bound = purpose.bound["metadata"]
            about[purpose.bound_kind] = {"name": bound["name"], "uid": bound["uid"]}
        claims = {
            "aud": list(purpose.audiences),
            "exp": purpose.expires,
            "iat": now,
            "iss": ISSUER,
            "jti": str(uuid.uuid4()),
            _CLAIM: about,
            "nbf": now,
            "sub": f"{ACCOUNT_PREFIX}{namespace}:{name}",
        }
        header = {"alg": "ES256", "kid": self.key_id}
        signed = f"{_encoded(orjson.dumps(header))}.{_encoded(orjson.dumps(claims))}"
        left, right = decode_dss_signature(self._key.sign(signed.encode(), _ALGORITHM))
        signature = left.to_bytes(_HALF) + right.to_bytes(_HALF)
        return f"{signed}.{_encoded(signature)}"

    def claims(self, token: str) -> Object:
        """Return what a token says, if this server signed it."""
        try:
            head, body, tail = token.split(".")
            header, claims = orjson.loads(_decoded(head)), orjson.loads(_decoded(body))
            signature = _decoded(tail)
        except ValueError as error:
            raise BadTokenError("invalid bearer token") from error
        if header.get("alg") != "ES256" or len(signature) != 2 * _HALF:
            raise BadTokenError("invalid bearer token")
        left = int.from_bytes(signature[:_HALF])
        right = int.from_bytes(signature[_HALF:])
        try:
            self._key.public_key().verify(
                encode_dss_signature(left, right), f"{head}.{body}".encode(), _ALGORITHM
            )
        except InvalidSignature as error:
            raise BadTokenError("invalid bearer token") from error
        found: Object = claims
        return found

    def verify(self, token: str, audiences: Iterable[str], reader: Reader, now: int) -> Verified:
        """Return whom a token names, if it is for one of the audiences and still lives."""
        claims = self.claims(token)
        if claims.get("iss") != ISSUER:
            raise BadTokenError("invalid bearer token")
        if now >= int(claims.get("exp", 0)):
            raise BadTokenError("[invalid bearer token, service account token has expired]")
        meant = tuple(one for one in audiences if one in (claims.get("aud") or ()))
        if not meant:
            given = _listed(claims.get("aud") or ())
            raise BadTokenError(
                f"[invalid bearer token, token audiences {given} is invalid for the target "
                f"audiences {_listed(audiences)}]"
            )
        return Verified(_user(claims, reader), meant)


_ALGORITHM: Final = ec.ECDSA(hashes.SHA256())


def _user(claims: Object, reader: Reader) -> User:
    about = claims.get(_CLAIM) or {}
    namespace, account = about.get("namespace", ""), about.get("serviceaccount") or {}
    name, uid = account.get("name", ""), account.get("uid", "")
    found = reader.get("serviceaccounts", namespace, name)
    if found is None or found["metadata"].get("uid") != uid:
        raise BadTokenError("[invalid bearer token, service account token has been invalidated]")
    extra = {_CREDENTIAL: (f"JTI={claims.get('jti', '')}",)}
    for kind, storage in _COLLECTIONS.items():
        bound = about.get(kind)
        if not bound:
            continue
        home = "" if kind == "node" else namespace
        alive = reader.get(storage, home, bound["name"])
        if alive is None or alive["metadata"].get("uid") != bound["uid"]:
            raise BadTokenError(
                "[invalid bearer token, service account token has been invalidated]"
            )
        if kind == "pod":
            extra[f"{_POD}name"], extra[f"{_POD}uid"] = (bound["name"],), (bound["uid"],)
    groups = (ACCOUNTS, f"{ACCOUNTS}:{namespace}")
    return User(f"{ACCOUNT_PREFIX}{namespace}:{name}", groups, uid, extra)


def _listed(values: Iterable[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
