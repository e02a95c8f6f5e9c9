"""machine-controller-manager (MCM) as a child process."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from webhook.dev.planes.binaries import find_asset
from webhook.dev.planes.components import component_of
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.kubernetes import KubeApiserver
from webhook.dev.planes.ports import free_port
from webhook.dev.planes.process import Launch, Process

_BINARY: Final = "machine-controller-manager"


class MachineControllerManager(Process):
    """MCM for one namespace; its CRDs must exist before it starts, a driver is not needed."""

    def __init__(
        self,
        directory: Path,
        apiserver: KubeApiserver,
        namespace: str,
        flags: Sequence[str] = ("--v=2",),
    ) -> None:
        super().__init__(_BINARY, directory, self._prepare_manager)
        self._apiserver = apiserver
        self._namespace = namespace
        self._flags = flags
        self._port = free_port()

    def _prepare_manager(self) -> Launch:
        user = f"system:serviceaccount:{self._namespace}:{_BINARY}"
        access = self._apiserver.access(user, ("system:masters",))
        kubeconfig = access.write_kubeconfig(self.directory / "kubeconfig")
        arguments = [
            f"--control-kubeconfig={kubeconfig}",
            f"--target-kubeconfig={kubeconfig}",
            f"--namespace={self._namespace}",
            "--address=127.0.0.1",
            f"--port={self._port}",
            "--leader-elect=false",
            *self._flags,
        ]
        return Launch(arguments, f"http://127.0.0.1:{self._port}/healthz")


def crds_folder() -> Path:
    """Return the folder of MCM's CustomResourceDefinitions, for `kubectl apply -f`."""
    folder = find_asset(component_of(_BINARY), "kubernetes/crds")
    if folder is None:
        raise PlaneError(f"the CRDs of {_BINARY} are missing: run `make real`")
    return folder
