"""A Kubernetes control plane without nodes: etcd, kube-apiserver, kube-controller-manager."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from webhook.dev.planes import admissionconfig
from webhook.dev.planes.access import ADMIN, Access, sign_access
from webhook.dev.planes.certificates import (
    LOOPBACK,
    KeyPairFiles,
    Keyring,
    client_context,
    ensure_signing_key,
)
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.etcd import Etcd
from webhook.dev.planes.kubectl import Kubectl
from webhook.dev.planes.plane import Plane
from webhook.dev.planes.ports import free_port
from webhook.dev.planes.process import Launch, Process
from webhook.kube.meta import Raw

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
CONTROLLERS: Final = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "disruption-controller",
)
"""The controllers that kube-controller-manager runs."""
WORKLOAD_CONTROLLERS: Final = ("deployment-controller", "replicaset-controller")
"""Further controllers, for a cluster where Deployments get pods."""
_ADMIN: Final = (ADMIN, ("system:masters",))
_SERVICE_NAMES: Final = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")


class KubeApiserver(Process):
    """kube-apiserver with RBAC and the aggregation layer."""

    def __init__(
        self,
        directory: Path,
        etcd: Etcd,
        port: int | None = None,
        webhook_hosts: Sequence[str] = admissionconfig.EVERY_HOST,
    ) -> None:
        super().__init__("kube-apiserver", directory, self._prepare_server)
        self.etcd = etcd
        self._webhook_hosts = webhook_hosts
        self.audited = ""
        """The group whose requests are logged from the next start on; empty for none.

        Then blocking the deletion of an owner needs a permission as well.
        """
        self._port = port or free_port()
        self.url = f"https://127.0.0.1:{self._port}"
        self.service_account_key = directory / "pki" / "service-accounts.key"

    @property
    def keyring(self) -> Keyring:
        """The CA of the serving certificate and of client certificates."""
        return Keyring(self.directory / "pki", "kubernetes")

    @property
    def audit_logs(self) -> list[Path]:
        """The audit log with its older parts; empty if nothing is audited."""
        return sorted(self.directory.glob("audit*.log"))

    def access(self, user: str, groups: Sequence[str] = ()) -> Access:
        """Issue a client certificate for a user, or reuse the one that was issued before."""
        return sign_access(self.url, self.keyring, user, groups)

    def admission_flag(self) -> str:
        """Return the flag by which an API server presents a client certificate to webhooks."""
        client = self.access(admissionconfig.USER).client
        folder = self.directory / "admission"
        path = admissionconfig.write(folder, client, self._webhook_hosts)
        return f"{admissionconfig.FLAG}={path}"

    def _prepare_server(self) -> Launch:
        keyring = self.keyring
        serving = keyring.server("apiserver", (*LOOPBACK, *_SERVICE_NAMES))
        front_proxy = Keyring(self.directory / "pki", "front-proxy")
        ensure_signing_key(self.service_account_key)
        arguments = [
            *self.etcd.client_flags(),
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            # Endpoints must not be loopback addresses, so the `kubernetes` Service has none.
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/16",
            *_serving_flags(serving),
            f"--client-ca-file={keyring.files.certificate}",
            # Without credentials the answer is 401, as from the embedded server.
            "--anonymous-auth=false",
            "--authorization-mode=RBAC",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={self.service_account_key}",
            f"--service-account-signing-key-file={self.service_account_key}",
            *_front_proxy_flags(front_proxy),
            self.admission_flag(),
            *self._audit_flags(),
        ]
        return Launch(arguments, f"{self.url}/readyz", self.access(*_ADMIN).context())

    def _audit_flags(self) -> list[str]:
        if not self.audited:
            return []
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [
                {"level": "Metadata", "userGroups": [self.audited]},
                {"level": "None"},
            ],
        }
        path = self.directory / "audit-policy.yaml"
        path.write_text(yaml.safe_dump(policy, sort_keys=False))
        log = self.directory / "audit.log"
        return [
            f"--audit-policy-file={path}",
            f"--audit-log-path={log}",
            # Some distributions have it; without it one permission would not be checked.
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        ]


class KubeControllerManager(Process):
    """kube-controller-manager with the controllers that tests rely on."""

    def __init__(
        self, directory: Path, apiserver: KubeApiserver, controllers: Sequence[str] = CONTROLLERS
    ) -> None:
        super().__init__("kube-controller-manager", directory, self._prepare_manager)
        self._apiserver = apiserver
        self._controllers = controllers
        self._port = free_port()

    def _prepare_manager(self) -> Launch:
        access = self._apiserver.access("system:kube-controller-manager")
        kubeconfig = access.write_kubeconfig(self.directory / "kubeconfig")
        serving = self._apiserver.keyring.server("controller-manager")
        arguments = [
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--controllers={','.join(self._controllers)}",
            # As in real clusters, webhooks see a ServiceAccount per controller.
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
    """kube-scheduler with a configuration of the caller."""

    def __init__(self, directory: Path, apiserver: KubeApiserver, configuration: Raw) -> None:
        """Take a KubeSchedulerConfiguration without kubeconfig and leader election."""
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
    """A real control plane without nodes."""

    def __init__(
        self,
        directory: Path,
        *,
        port: int | None = None,
        durable: bool = True,
        controllers: Sequence[str] = CONTROLLERS,
        webhook_hosts: Sequence[str] = admissionconfig.EVERY_HOST,
    ) -> None:
        """Use the data that the folder has; `port` is the API server's, by default a free one.

        Webhooks at `webhook_hosts` get the API server's client certificate.
        """
        super().__init__(directory)
        self.etcd = Etcd(directory / "etcd", durable=durable)
        self.apiserver = KubeApiserver(directory / "kube-apiserver", self.etcd, port, webhook_hosts)
        self.controller_manager = KubeControllerManager(
            directory / "kube-controller-manager", self.apiserver, controllers
        )
        self.steps = [
            self._issue_admin_access,
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
        """The access of the administrator."""
        if self._admin is None:
            raise PlaneError("the control plane was not started")
        return self._admin

    def scheduler(self, configuration: Raw) -> KubeScheduler:
        """Return a kube-scheduler for this cluster; the caller starts and stops it."""
        folder = self.directory / "kube-scheduler"
        return KubeScheduler(folder, self.apiserver, configuration)

    async def _issue_admin_access(self) -> None:
        self._admin = await asyncio.to_thread(self._write_kubeconfig)

    def _write_kubeconfig(self) -> Access:
        self.directory.mkdir(parents=True, exist_ok=True)
        admin = self.apiserver.access(*_ADMIN)
        admin.write_kubeconfig(self.kubeconfig)
        return admin


def _serving_flags(files: KeyPairFiles) -> list[str]:
    return [f"--tls-cert-file={files.certificate}", f"--tls-private-key-file={files.key}"]


def _front_proxy_flags(keyring: Keyring) -> list[str]:
    """Return the flags by which aggregated API servers authenticate forwarded requests."""
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
