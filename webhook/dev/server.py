"""`espalier serve` as a child process beside a local API server."""

from pathlib import Path

from webhook.dev.planes.process import Launch, PythonProcess


class EspalierProcess(PythonProcess):
    """The server as it runs in clusters, listening on loopback."""

    def __init__(
        self, directory: Path, kubeconfig: Path, ports: tuple[int, int], *flags: str
    ) -> None:
        """Take the TLS and the HTTP port; further flags are passed on to `serve`."""
        super().__init__("espalier", directory, self._prepare_server)
        self._kubeconfig = kubeconfig
        self._port, self._http_port = ports
        self._flags = flags
        self.url = f"https://127.0.0.1:{self._port}"
        self.http_url = f"http://127.0.0.1:{self._http_port}"

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
            # Nothing routes traffic away from a server on a laptop, so draining need not wait.
            "--drain-quiet=0",
            "--log-format=text",
            *self._flags,
        ]
        return Launch(arguments, f"{self.http_url}/readyz")
