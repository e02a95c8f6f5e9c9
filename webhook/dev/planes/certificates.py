"""The certificates and keys of a control plane, kept as files in its folder."""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from webhook.tls.authority import Authority, KeyPair, needs_renewal

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class KeyPairFiles:
    """The paths of a certificate and its key."""

    certificate: Path
    key: Path

    def read(self) -> KeyPair:
        """Read both files."""
        return KeyPair(self.certificate.read_bytes(), self.key.read_bytes())

    def write(self, pair: KeyPair) -> None:
        """Write both files; only the owner may read the key."""
        self.certificate.parent.mkdir(parents=True, exist_ok=True)
        write_secret(self.key, pair.key)
        self.certificate.write_bytes(pair.certificate)


class Keyring:
    """A CA in a folder with the certificates that it signed; valid certificates are reused."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self.files = self._files(f"{name}-ca")
        if self.files.certificate.exists() and self.files.key.exists():
            self.authority = Authority(self.files.read())
        else:
            self.authority = Authority.create(f"{name}-ca", datetime.now(UTC))
            self.files.write(self.authority.pair)

    def server(self, name: str, names: Sequence[str] = LOOPBACK) -> KeyPairFiles:
        """Return a serving certificate."""
        return self._ensure(name, lambda now: self.authority.sign_server(names, now))

    def peer(self, name: str) -> KeyPairFiles:
        """Return a certificate for servers and clients."""
        return self._ensure(name, lambda now: self.authority.sign_peer(LOOPBACK, now))

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> KeyPairFiles:
        """Return a client certificate."""
        return self._ensure(name, lambda now: self.authority.sign_client(user, now, groups))

    def _files(self, name: str) -> KeyPairFiles:
        return KeyPairFiles(self._directory / f"{name}.crt", self._directory / f"{name}.key")

    def _ensure(self, name: str, make: Callable[[datetime], KeyPair]) -> KeyPairFiles:
        files = self._files(name)
        now = datetime.now(UTC)
        if not self._is_valid(files, now):
            files.write(make(now))
        return files

    def _is_valid(self, files: KeyPairFiles, now: datetime) -> bool:
        if not (files.certificate.exists() and files.key.exists()):
            return False
        certificate = files.certificate.read_bytes()
        issuer = x509.load_pem_x509_certificate(self.authority.certificate)
        try:
            x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(issuer)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return not needs_renewal(certificate, now)


def ensure_signing_key(path: Path) -> Path:
    """Create an RSA key for signing tokens, unless it exists; workload identities require RSA."""
    if not path.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_secret(
            path,
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
    return path


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that is created readable by its owner only."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)


def client_context(ca: Path, client: KeyPairFiles | None = None) -> ssl.SSLContext:
    """Return a TLS context that trusts one CA and presents a client certificate, if given."""
    context = ssl.create_default_context(cafile=str(ca))
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    return context
