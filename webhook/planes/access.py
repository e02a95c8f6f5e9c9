"""How a client reaches a server: its address, whom to trust, who one is."""

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import yaml

from webhook.planes.credentials import Files, client_context, write_secret
from webhook.tls.authority import KeyPair


@dataclass(frozen=True, slots=True)
class Access:
    """One user's way to one server."""

    url: str

    ca: bytes
    """The authority that signed the server's certificate, as PEM."""

    client: KeyPair
    """The user's certificate and key."""

    ca_file: Path
    client_files: Files

    @classmethod
    def read(cls, url: str, ca_file: Path, client_files: Files) -> Self:
        """Take the certificates from their files."""
        return cls(url, ca_file.read_bytes(), client_files.read(), ca_file, client_files)

    def context(self) -> ssl.SSLContext:
        """Make what an HTTPS client needs."""
        return client_context(self.ca_file, self.client_files)

    def write_kubeconfig(self, path: Path, name: str = "espalier") -> Path:
        """Write a kubeconfig that needs no other file."""
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


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()
