"""etcd: one member on loopback that requires client certificates."""

from pathlib import Path
from typing import Final

from webhook.dev.planes.certificates import Keyring, client_context
from webhook.dev.planes.ports import free_port
from webhook.dev.planes.process import Launch, Process

_QUOTA_BYTES: Final = 8 * 2**30


class Etcd(Process):
    """The storage of kube-apiserver and gardener-apiserver."""

    def __init__(self, directory: Path, *, durable: bool = True) -> None:
        """Without `durable`, writes do not wait for the disk, and a power failure may lose them."""
        super().__init__("etcd", directory, self._prepare_member)
        self._durable = durable
        self.url = f"https://127.0.0.1:{free_port()}"
        self._peer_url = f"https://127.0.0.1:{free_port()}"

    def client_flags(self) -> list[str]:
        """Return the flags with which an API server connects; writes the certificates they name."""
        keyring = self.keyring()
        client = keyring.client("client", "apiserver")
        return [
            f"--etcd-servers={self.url}",
            f"--etcd-cafile={keyring.files.certificate}",
            f"--etcd-certfile={client.certificate}",
            f"--etcd-keyfile={client.key}",
        ]

    def keyring(self) -> Keyring:
        """Return the CA that members and clients trust."""
        return Keyring(self.directory / "pki", "etcd")

    def _prepare_member(self) -> Launch:
        keyring = self.keyring()
        member = keyring.peer("member")
        arguments = [
            f"--data-dir={self.directory / 'data'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={self._peer_url}",
            f"--initial-advertise-peer-urls={self._peer_url}",
            "--name=espalier",
            f"--initial-cluster=espalier={self._peer_url}",
            f"--quota-backend-bytes={_QUOTA_BYTES}",
            "--log-level=warn",
        ]
        # Even on loopback: other users of the machine could write past the API server.
        for prefix in ("", "peer-"):
            arguments += [
                f"--{prefix}cert-file={member.certificate}",
                f"--{prefix}key-file={member.key}",
                f"--{prefix}trusted-ca-file={keyring.files.certificate}",
                f"--{prefix}client-cert-auth",
            ]
        if not self._durable:
            arguments.append("--unsafe-no-fsync")
        context = client_context(keyring.files.certificate, keyring.client("client", "apiserver"))
        return Launch(arguments, f"{self.url}/health", context)
