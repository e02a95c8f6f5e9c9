"""The embedded API server as a process of its own, reached as the real one is."""

import sys
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from webhook.planes.access import Access
from webhook.planes.credentials import Keyring, client_context
from webhook.planes.kubectl import Kubectl
from webhook.planes.plane import Plane
from webhook.planes.ports import free_port
from webhook.planes.process import Launch, Process


class EmbeddedApiserver(Process):
    """`python -m webhook.apiserver` on a folder."""

    def __init__(self, directory: Path, port: int | None = None, *flags: str) -> None:
        super().__init__("apiserver", directory, self._prepare_server)
        self._port = port or free_port()
        self._flags = flags
        self.url = f"https://127.0.0.1:{self._port}"

    @property
    def keyring(self) -> Keyring:
        """The authority behind the server's certificate and its users'."""
        return Keyring(self.directory / "pki", "apiserver")

    def access(self, user: str, groups: Sequence[str] = ()) -> Access:
        """Sign a certificate for a user; the same user gets the same one again."""
        keyring = self.keyring
        name = "client-" + "".join(c if c.isalnum() else "-" for c in ":".join((user, *groups)))
        client = keyring.client(name, user, groups)
        return Access.read(self.url, keyring.files.certificate, client)

    @override
    def _prepare(self) -> tuple[Path, Launch]:
        self.directory.mkdir(parents=True, exist_ok=True)
        return Path(sys.executable), self._prepare_server()

    def _prepare_server(self) -> Launch:
        arguments = ["-m", "webhook.apiserver", f"--dir={self.directory}", f"--port={self._port}"]
        context = client_context(self.keyring.files.certificate)
        return Launch([*arguments, *self._flags], f"{self.url}/readyz", context)


class Embedded(Plane):
    """The embedded API server with the interface of the real cluster."""

    def __init__(
        self, directory: Path, *, port: int | None = None, flags: Sequence[str] = ()
    ) -> None:
        """Data in the folder is gone on with; `port` is the API server's, else a free one."""
        super().__init__(directory)
        self.apiserver = EmbeddedApiserver(directory, port, *flags)
        self.steps = [self.apiserver]
        self.kubeconfig = directory / "kubeconfig"
        self.kubectl = Kubectl(self.kubeconfig)
        self.url = self.apiserver.url

    @property
    def admin(self) -> Access:
        """The way in for whoever may do everything."""
        return self.apiserver.access("admin", ("system:masters",))
