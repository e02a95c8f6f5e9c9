"""The embedded API server as a control plane in a child process."""

from collections.abc import Sequence
from pathlib import Path

from webhook.dev.planes import admissionconfig
from webhook.dev.planes.access import ADMIN, Access, sign_access
from webhook.dev.planes.certificates import Keyring, client_context
from webhook.dev.planes.kubectl import Kubectl
from webhook.dev.planes.plane import Plane
from webhook.dev.planes.ports import free_port
from webhook.dev.planes.process import Launch, PythonProcess


class EmbeddedApiserver(PythonProcess):
    """`python -m webhook.dev.apiserver` with its data in a folder."""

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        *flags: str,
        webhook_hosts: Sequence[str] = admissionconfig.EVERY_HOST,
    ) -> None:
        super().__init__("apiserver", directory, self._prepare_server)
        self._port = port or free_port()
        self._flags = flags
        self._webhook_hosts = webhook_hosts
        self.url = f"https://127.0.0.1:{self._port}"

    @property
    def keyring(self) -> Keyring:
        """The CA of the serving certificate and of client certificates."""
        return Keyring(self.directory / "pki", "apiserver")

    def access(self, user: str, groups: Sequence[str] = ()) -> Access:
        """Issue a client certificate for a user, or reuse the one that was issued before."""
        return sign_access(self.url, self.keyring, user, groups)

    def _prepare_server(self) -> Launch:
        client = self.access(admissionconfig.USER).client
        admission = admissionconfig.write(self.directory / "admission", client, self._webhook_hosts)
        arguments = [
            "-m",
            "webhook.dev.apiserver",
            f"{admissionconfig.FLAG}={admission}",
            f"--dir={self.directory}",
            f"--port={self._port}",
        ]
        context = client_context(self.keyring.files.certificate)
        return Launch([*arguments, *self._flags], f"{self.url}/readyz", context)


class Embedded(Plane):
    """The embedded API server with the interface of `Kubernetes`."""

    def __init__(
        self,
        directory: Path,
        *,
        port: int | None = None,
        flags: Sequence[str] = (),
        webhook_hosts: Sequence[str] = admissionconfig.EVERY_HOST,
    ) -> None:
        """Use the data that the folder has; `port` is the API server's, by default a free one.

        Webhooks at `webhook_hosts` get the API server's client certificate.
        """
        super().__init__(directory)
        self.apiserver = EmbeddedApiserver(directory, port, *flags, webhook_hosts=webhook_hosts)
        self.steps = [self.apiserver]
        self.kubeconfig = directory / "kubeconfig"
        self.kubectl = Kubectl(self.kubeconfig)
        self.url = self.apiserver.url

    @property
    def admin(self) -> Access:
        """The access of the administrator."""
        return self.apiserver.access(ADMIN, ("system:masters",))
