"""How a client reaches a server: its address, whom to trust, who one is."""

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path

import yaml

from webhook.planes.credentials import Files, client_context, write_secret
from webhook.tls.authority import KeyPair


@dataclass(frozen=True, slots=True)
class Access:
    """One user's way to one server, as files."""

    url: str
    ca_file: Path
    client_files: Files

    @property
    def ca(self) -> bytes:
        """The authority that signed the server's certificate, as PEM."""
        return self.ca_file.read_bytes()

    @property
    def client(self) -> KeyPair:
        """The user's certificate and key."""
        return self.client_files.read()

    def context(self) -> ssl.SSLContext:
        """Make what an HTTPS client needs."""
        return client_context(self.ca_file, self.client_files)

    def write_kubeconfig(self, path: Path, name: str = "espalier") -> Path:
        """Write a kubeconfig that needs no other file."""
        pair = self.client
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
                        "client-certificate-data": _encode(pair.certificate),
                        "client-key-data": _encode(pair.key),
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
