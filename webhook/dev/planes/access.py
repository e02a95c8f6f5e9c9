"""The access of one user to one API server: address, CA and client certificate."""

import base64
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

import yaml

from webhook.dev.planes.certificates import KeyPairFiles, Keyring, client_context, write_secret
from webhook.tls.authority import KeyPair

ADMIN: Final = "admin"
"""The user in the kubeconfig of a control plane."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a client needs to connect to a server as a user."""

    url: str

    ca: bytes
    """The CA that signed the server's certificate, as PEM."""

    client: KeyPair
    """The user's certificate and key."""

    ca_file: Path
    client_files: KeyPairFiles

    @classmethod
    def read(cls, url: str, ca_file: Path, client_files: KeyPairFiles) -> Self:
        """Read the certificates from their files."""
        return cls(url, ca_file.read_bytes(), client_files.read(), ca_file, client_files)

    def context(self) -> ssl.SSLContext:
        """Return the TLS context for an HTTPS client."""
        return client_context(self.ca_file, self.client_files)

    def write_kubeconfig(self, path: Path, name: str = "espalier") -> Path:
        """Write a kubeconfig with all certificates embedded, readable by its owner only."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": name,
                    "cluster": {
                        "server": self.url,
                        "certificate-authority-data": _encode(self.ca),
                    },
                }
            ],
            "users": [
                {
                    "name": name,
                    "user": {
                        "client-certificate-data": _encode(self.client.certificate),
                        "client-key-data": _encode(self.client.key),
                    },
                }
            ],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
        write_secret(path, yaml.safe_dump(config, sort_keys=False).encode())
        return path


def sign_access(url: str, keyring: Keyring, user: str, groups: Sequence[str] = ()) -> Access:
    """Issue a client certificate for a user, or reuse the one that was issued before.

    It reads and writes files: on an event loop, call it through `asyncio.to_thread`.
    """
    # User names contain characters that file names must not, and groups may be too long for one.
    readable = "".join(c if c.isalnum() else "-" for c in user)
    digest = sha256("\n".join((user, *groups)).encode()).hexdigest()[:16]
    client = keyring.client(f"client-{readable}-{digest}", user, groups)
    return Access.read(url, keyring.files.certificate, client)


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()
