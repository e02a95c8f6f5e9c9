"""A real Gardener: its API server, scheduler and controller-manager beside kube-apiserver."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from webhook.dev.planes import admissionconfig
from webhook.dev.planes.certificates import Keyring, client_context, ensure_signing_key
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.gardenmanifests import (
    API_VERSIONS,
    GARDEN,
    SERVICE,
    api_services,
    cloud_profile,
    default_domain,
    dns_credentials,
    extensions,
    project,
    shoot,
)
from webhook.dev.planes.kubernetes import KubeApiserver, Kubernetes
from webhook.dev.planes.ports import free_port
from webhook.dev.planes.process import Launch, Process
from webhook.kube.meta import Draft, Raw

PROJECT: Final = "local"
"""The project for the shoots of tests."""
PROJECT_NAMESPACE: Final = "garden-local"

_READY_SECONDS: Final = 60.0
_UNLIMITED: Final = 10_000
"""Requests per second that no client reaches."""
_APPLY: Final = ("apply", "--server-side", "--force-conflicts", "--field-manager=planes")


class GardenerApiserver(Process):
    """gardener-apiserver, aggregated by kube-apiserver, in the same etcd."""

    def __init__(self, directory: Path, apiserver: KubeApiserver) -> None:
        super().__init__("gardener-apiserver", directory, self._prepare_server)
        self._apiserver = apiserver
        self.port = free_port()

    @property
    def keyring(self) -> Keyring:
        """The CA of the serving certificate, which kube-apiserver trusts."""
        return Keyring(self.directory / "pki", "gardener")

    def _prepare_server(self) -> Launch:
        keyring = self.keyring
        names = (f"{SERVICE}.{GARDEN}.svc", "localhost", "127.0.0.1")
        serving = keyring.server("gardener-apiserver", names)
        kubeconfig = _kubeconfig_for(self, self._apiserver)
        signing_key = ensure_signing_key(self.directory / "pki" / "workload-identities.key")
        arguments = [
            *self._apiserver.etcd.client_flags(),
            "--etcd-prefix=/registry-gardener",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--cluster-identity=espalier",
            self._apiserver.admission_flag(),
            "--workload-identity-token-issuer=https://issuer.espalier.test",
            f"--workload-identity-signing-key-file={signing_key}",
        ]
        context = client_context(keyring.files.certificate)
        return Launch(arguments, f"https://127.0.0.1:{self.port}/readyz", context)


class GardenerScheduler(Process):
    """gardener-scheduler; changed attributes take effect at its next start."""

    def __init__(self, directory: Path, apiserver: KubeApiserver) -> None:
        super().__init__("gardener-scheduler", directory, self._prepare_scheduler)
        self._apiserver = apiserver
        self._port = free_port()
        self.strategy = "SameRegion"
        self.workers: int | None = None
        """Concurrent syncs, without client-side rate limits; None keeps the defaults of both."""

    def _prepare_scheduler(self) -> Launch:
        connection: Draft = {"kubeconfig": str(_kubeconfig_for(self, self._apiserver))}
        shoots: Draft = {"candidateDeterminationStrategy": self.strategy}
        if self.workers is not None:
            connection |= {"qps": _UNLIMITED, "burst": _UNLIMITED}
            shoots["concurrentSyncs"] = self.workers
        configuration = {
            "apiVersion": "scheduler.config.gardener.cloud/v1alpha1",
            "kind": "SchedulerConfiguration",
            "clientConnection": connection,
            "schedulers": {"shoot": shoots},
            **_manager_settings(self, self._port),
        }
        return _launch_with(self, configuration, self._port)


class GardenerControllerManager(Process):
    """gardener-controller-manager with all of its controllers."""

    def __init__(self, directory: Path, apiserver: KubeApiserver) -> None:
        super().__init__("gardener-controller-manager", directory, self._prepare_manager)
        self._apiserver = apiserver
        self._port = free_port()

    def _prepare_manager(self) -> Launch:
        configuration = {
            "apiVersion": "controllermanager.config.gardener.cloud/v1alpha1",
            "kind": "ControllerManagerConfiguration",
            "gardenClientConnection": {"kubeconfig": str(_kubeconfig_for(self, self._apiserver))},
            **_manager_settings(self, self._port),
        }
        return _launch_with(self, configuration, self._port)


class Gardener(Kubernetes):
    """A real garden cluster: Kubernetes and Gardener's control plane."""

    def __init__(
        self,
        directory: Path,
        *,
        port: int | None = None,
        durable: bool = True,
        webhook_hosts: Sequence[str] = admissionconfig.EVERY_HOST,
    ) -> None:
        super().__init__(directory, port=port, durable=durable, webhook_hosts=webhook_hosts)
        self.gardener_apiserver = GardenerApiserver(
            directory / "gardener-apiserver", self.apiserver
        )
        self.gardener_scheduler = GardenerScheduler(
            directory / "gardener-scheduler", self.apiserver
        )
        self.gardener_controller_manager = GardenerControllerManager(
            directory / "gardener-controller-manager", self.apiserver
        )
        self.steps += [
            self.gardener_apiserver,
            self._register,
            self.gardener_controller_manager,
            self.gardener_scheduler,
            self._create_objects,
        ]

    async def _register(self) -> None:
        ca = await asyncio.to_thread(lambda: self.gardener_apiserver.keyring.authority.certificate)
        manifests = api_services(self.gardener_apiserver.port, ca)
        await self.kubectl(*_APPLY, "-f", "-", input=manifests)
        names = [f"apiservice/{version}.{group}" for group, version in API_VERSIONS]
        await self.kubectl(
            "wait", "--for=condition=Available", *names, f"--timeout={_READY_SECONDS}s"
        )
        # Discovery follows availability; controllers that start before it exit at once.
        async with asyncio.timeout(_READY_SECONDS):
            for group in dict.fromkeys(group for group, _ in API_VERSIONS):
                while not await self._is_discovered(group):  # noqa: ASYNC110  there is no event
                    await asyncio.sleep(0.2)

    async def _is_discovered(self, group: str) -> bool:
        arguments = ("api-resources", f"--api-group={group}", "--cached=false", "-o", "name")
        done = await self.kubectl(*arguments, check=False)
        return done.code == 0 and bool(done.stdout.strip())

    async def _create_objects(self) -> None:
        manifests: list[Raw] = [
            *extensions(),
            *project(GARDEN, GARDEN),
            *project(PROJECT, PROJECT_NAMESPACE),
            default_domain(),
            dns_credentials(),
            cloud_profile(),
        ]
        await self._retry(*_APPLY, input=manifests)
        # Gardener's admission reads from informers: only an accepted Shoot proves that they synced.
        await self._retry(
            "create", "--dry-run=server", input=shoot("probe", PROJECT_NAMESPACE, PROJECT)
        )

    async def _retry(self, *arguments: str, input: Raw | list[Raw]) -> None:  # noqa: A002
        error = ""
        try:
            async with asyncio.timeout(_READY_SECONDS):
                while True:
                    done = await self.kubectl(*arguments, "-f", "-", input=input, check=False)
                    if done.code == 0:
                        return
                    error = done.stderr
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise PlaneError(f"Gardener rejects its first objects: {error}") from None


def _kubeconfig_for(process: Process, apiserver: KubeApiserver) -> Path:
    # The user names that webhooks see where these run as pods.
    user = f"system:serviceaccount:{GARDEN}:{process.binary}"
    groups = ("system:masters", "system:serviceaccounts", f"system:serviceaccounts:{GARDEN}")
    return apiserver.access(user, groups).write_kubeconfig(process.directory / "kubeconfig")


def _manager_settings(process: Process, port: int) -> Draft:
    return {
        "leaderElection": {
            "leaderElect": False,
            "resourceLock": "leases",
            "resourceNamespace": GARDEN,
            "resourceName": f"{process.binary}-leader-election",
        },
        "server": {
            "healthProbes": {"bindAddress": "127.0.0.1", "port": port},
            "metrics": {"bindAddress": "127.0.0.1", "port": free_port()},
        },
        "logLevel": "info",
        "logFormat": "text",
    }


def _launch_with(process: Process, configuration: Draft, port: int) -> Launch:
    path = process.directory / "config.yaml"
    path.write_text(yaml.safe_dump(configuration, sort_keys=False))
    return Launch([f"--config={path}"], f"http://127.0.0.1:{port}/healthz")
