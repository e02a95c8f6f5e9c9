"""`espalier serve` as a process of its own beside a local API server."""

import sys
from pathlib import Path

from typing_extensions import override

from webhook.planes.process import Launch, Process


class Server(Process):
    """The same server that runs in clusters, reached by the API server on loopback."""

    def __init__(
        self, directory: Path, kubeconfig: Path, ports: tuple[int, int], *flags: str
    ) -> None:
        """Take the TLS port and the plain one; further flags go to `serve` as they are."""
        super().__init__("espalier", directory, self._prepare_server)
        self._kubeconfig = kubeconfig
        self._port, self._http_port = ports
        self._flags = flags
        self.url = f"https://127.0.0.1:{self._port}"
        self.plain_url = f"http://127.0.0.1:{self._http_port}"

    @override
    def _prepare(self) -> tuple[Path, Launch]:
        self.directory.mkdir(parents=True, exist_ok=True)
        return Path(sys.executable), self._prepare_server()

    def _prepare_server(self) -> Launch:
        arguments = [
            "-m",
            "webhook",
            "serve",
            f"--kubeconfig={self._kubeconfig}",
            "--host=127.0.0.1",
            "--http-host=127.0.0.1",
            f"--port={self._port}",
            f"--http-port={self._http_port}",
            f"--advertise-url={self.url}",
            # Nobody routes around a server on a laptop, so there is nothing to wait for.
            "--drain-quiet=0",
            "--log-format=text",
            *self._flags,
        ]
        return Launch(arguments, f"{self.plain_url}/readyz")
