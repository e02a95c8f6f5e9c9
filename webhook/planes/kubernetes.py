"""kube-apiserver with its etcd and the few controllers without which it is not a cluster."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from webhook.planes.access import Access
from webhook.planes.credentials import LOOPBACK, Files, Keyring, client_context, keep_signing_key
from webhook.planes.errors import PlaneError
from webhook.planes.etcd import Etcd
from webhook.planes.kubectl import Kubectl
from webhook.planes.plane import Plane
from webhook.planes.ports import free_port
from webhook.planes.process import Launch, Process

ISSUER = "https://kubernetes.default.svc.cluster.local"
CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "disruption-controller",
)
_ADMIN = ("admin", ("system:masters",))
_SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")


class KubeApiserver(Process):
    """The API server, with RBAC and the aggregation layer."""

    def __init__(self, directory: Path, etcd: Etcd, port: int | None = None) -> None:
        super().__init__("kube-apiserver", directory, self._prepare_server)
        self.etcd = etcd
        self._port = port or free_port()
        self.url = f"https://127.0.0.1:{self._port}"
        self.service_account_key = directory / "pki" / "service-accounts.key"

    @property
    def keyring(self) -> Keyring:
        """The authority behind the server's certificate and its users'."""
        return Keyring(self.directory / "pki", "kubernetes")

    def access(self, user: str, groups: Sequence[str] = ()) -> Access:
        """Sign a certificate for a user; the same user gets the same one again.

        It reads and writes files: on an event loop, call it through `asyncio.to_thread`.
        """
        keyring = self.keyring
        # User names hold characters that file names must not.
        name = "client-" + "".join(c if c.isalnum() else "-" for c in ":".join((user, *groups)))
        client = keyring.client(name, user, groups)
        return Access.read(self.url, keyring.files.certificate, client)

    def _prepare_server(self) -> Launch:
        keyring = self.keyring
        serving = keyring.server("apiserver", (*LOOPBACK, *_SERVICE_NAMES))
        front_proxy = Keyring(self.directory / "pki", "front-proxy")
        keep_signing_key(self.service_account_key)
        arguments = [
            *self.etcd.client_flags(),
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            # Endpoints may not be loopback addresses, so the `kubernetes` Service has none.
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/16",
            *_serving_flags(serving),
            f"--client-ca-file={keyring.files.certificate}",
            "--anonymous-auth=false",
            "--authorization-mode=RBAC",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={self.service_account_key}",
            f"--service-account-signing-key-file={self.service_account_key}",
            *_front_proxy_flags(front_proxy),
        ]
        return Launch(arguments, f"{self.url}/readyz", self.access(*_ADMIN).context())


class KubeControllerManager(Process):
    """The controllers that every cluster has and no test can do without."""

    def __init__(self, directory: Path, apiserver: KubeApiserver) -> None:
        super().__init__("kube-controller-manager", directory, self._prepare_manager)
        self._apiserver = apiserver
        self._port = free_port()

    def _prepare_manager(self) -> Launch:
        access = self._apiserver.access("system:kube-controller-manager")
        kubeconfig = access.write_kubeconfig(self.directory / "kubeconfig")
        serving = self._apiserver.keyring.server("controller-manager")
        arguments = [
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--controllers={','.join(CONTROLLERS)}",
            # As in real clusters: each controller is a ServiceAccount of its own to webhooks.
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self._apiserver.service_account_key}",
            f"--root-ca-file={access.ca_file}",
            "--leader-elect=false",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            *_serving_flags(serving),
        ]
        context = client_context(access.ca_file)
        return Launch(arguments, f"https://127.0.0.1:{self._port}/healthz", context)


class KubeScheduler(Process):
    """kube-scheduler, unmodified, with a configuration of the caller's choice."""

    def __init__(
        self, directory: Path, apiserver: KubeApiserver, configuration: Mapping[str, object]
    ) -> None:
        """Take a KubeSchedulerConfiguration; the kubeconfig and leader election are filled in."""
        super().__init__("kube-scheduler", directory, self._prepare_scheduler)
        self._apiserver = apiserver
        self._configuration = configuration
        self._port = free_port()

    def _prepare_scheduler(self) -> Launch:
        access = self._apiserver.access("system:kube-scheduler")
        kubeconfig = access.write_kubeconfig(self.directory / "kubeconfig")
        serving = self._apiserver.keyring.server("scheduler")
        configuration = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(kubeconfig)},
        } | dict(self._configuration)
        config = self.directory / "config.yaml"
        config.write_text(yaml.safe_dump(configuration, sort_keys=False))
        arguments = [
            f"--config={config}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            *_serving_flags(serving),
        ]
        context = client_context(access.ca_file)
        return Launch(arguments, f"https://127.0.0.1:{self._port}/healthz", context)


class Kubernetes(Plane):
    """A real cluster without nodes: etcd, kube-apiserver and kube-controller-manager."""

    def __init__(self, directory: Path, *, port: int | None = None, durable: bool = True) -> None:
        """Data in the folder is gone on with; `port` is the API server's, else a free one."""
        super().__init__(directory)
        self.etcd = Etcd(directory / "etcd", durable=durable)
        self.apiserver = KubeApiserver(directory / "kube-apiserver", self.etcd, port)
        self.controller_manager = KubeControllerManager(
            directory / "kube-controller-manager", self.apiserver
        )
        self.steps = [
            self._admit_administrator,
            self.etcd,
            self.apiserver,
            self.controller_manager,
        ]
        self.kubeconfig = directory / "kubeconfig"
        self.kubectl = Kubectl(self.kubeconfig)
        self.url = self.apiserver.url
        self._admin: Access | None = None

    @property
    def admin(self) -> Access:
        """The way in for whoever may do everything."""
        if self._admin is None:
            raise PlaneError("the server was not started")
        return self._admin

    def scheduler(self, configuration: Mapping[str, object]) -> KubeScheduler:
        """Make a kube-scheduler for this cluster; the caller starts and stops it."""
        folder = self.directory / "kube-scheduler"
        return KubeScheduler(folder, self.apiserver, configuration)

    async def _admit_administrator(self) -> None:
        self._admin = await asyncio.to_thread(self._write_kubeconfig)

    def _write_kubeconfig(self) -> Access:
        self.directory.mkdir(parents=True, exist_ok=True)
        admin = self.apiserver.access(*_ADMIN)
        admin.write_kubeconfig(self.kubeconfig)
        return admin


def _serving_flags(files: Files) -> list[str]:
    return [f"--tls-cert-file={files.certificate}", f"--tls-private-key-file={files.key}"]


def _front_proxy_flags(keyring: Keyring) -> list[str]:
    """Let aggregated servers, such as Gardener's, trust who we say a request is from."""
    client = keyring.client("front-proxy-client", "front-proxy-client")
    return [
        f"--requestheader-client-ca-file={keyring.files.certificate}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={client.certificate}",
        f"--proxy-client-key-file={client.key}",
    ]
