"""Keep the certificates and keys of a control plane as files in its folder."""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from webhook.tls.authority import Authority, KeyPair, is_due

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Files:
    """Where a certificate and its key are."""

    certificate: Path
    key: Path

    def read(self) -> KeyPair:
        """Read both."""
        return KeyPair(self.certificate.read_bytes(), self.key.read_bytes())

    def write(self, pair: KeyPair) -> None:
        """Write both, the key for our eyes only."""
        self.certificate.parent.mkdir(parents=True, exist_ok=True)
        write_secret(self.key, pair.key)
        self.certificate.write_bytes(pair.certificate)


class Keyring:
    """One authority in a folder, and the leaves that it signed; what is there is used again."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self.files = self._files(f"{name}-ca")
        if self.files.certificate.exists() and self.files.key.exists():
            self.authority = Authority(self.files.read())
        else:
            self.authority = Authority.create(f"{name}-ca", datetime.now(UTC))
            self.files.write(self.authority.pair)

    def server(self, name: str, names: Sequence[str] = LOOPBACK) -> Files:
        """Give a serving certificate."""
        return self._keep(name, lambda now: self.authority.sign_server(names, now))

    def peer(self, name: str) -> Files:
        """Give a certificate for both ends of a connection."""
        return self._keep(name, lambda now: self.authority.sign_peer(LOOPBACK, now))

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> Files:
        """Give a client certificate."""
        return self._keep(name, lambda now: self.authority.sign_client(user, now, groups))

    def _files(self, name: str) -> Files:
        return Files(self._directory / f"{name}.crt", self._directory / f"{name}.key")

    def _keep(self, name: str, make: Callable[[datetime], KeyPair]) -> Files:
        files = self._files(name)
        now = datetime.now(UTC)
        if not self._is_good(files, now):
            files.write(make(now))
        return files

    def _is_good(self, files: Files, now: datetime) -> bool:
        if not (files.certificate.exists() and files.key.exists()):
            return False
        certificate = files.certificate.read_bytes()
        issuer = x509.load_pem_x509_certificate(self.authority.certificate)
        try:
            x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(issuer)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return not is_due(certificate, now)


def keep_signing_key(path: Path) -> Path:
    """Give an RSA key for signing tokens, which Gardener's workload identities ask for."""
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
    """Write a file that only its owner may read, from its first moment on."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)


def client_context(ca: Path, client: Files | None = None) -> ssl.SSLContext:
    """Trust one authority, and show a client certificate if there is one."""
    context = ssl.create_default_context(cafile=str(ca))
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    return context
