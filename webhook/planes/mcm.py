"""machine-controller-manager, unmodified, for tests of what lives beside it."""

from collections.abc import Sequence
from pathlib import Path

from webhook.planes.binaries import find_asset
from webhook.planes.errors import PlaneError
from webhook.planes.kubernetes import KubeApiserver
from webhook.planes.parts import part_of
from webhook.planes.ports import free_port
from webhook.planes.process import Launch, Process

_BINARY = "machine-controller-manager"


class MachineControllerManager(Process):
    """MCM for one namespace; the CRDs must be there before it starts, no driver is needed."""

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
    """Find MCM's CustomResourceDefinitions, for `kubectl apply -f`."""
    folder = find_asset(part_of(_BINARY), "kubernetes/crds")
    if folder is None:
        raise PlaneError(f"the CRDs of {_BINARY} are not there: run `make real`")
    return folder
