"""The clusters of shoots that become seeds: an embedded API server each, with its gardenlet.

A shoot of a ManagedSeed gets a Secret `<shoot>.kubeconfig` with the address of an API server of its
own. Once a gardenlet is deployed there, its start is simulated: its configuration is read and the
Seed is registered, as a real gardenlet would do.
"""

import base64
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from webhook.api import names
from webhook.api.core import ConfigMap, Deployment, Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError, NotFoundError
from webhook.dev.apiserver.server import Options, serving
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.reconciler import Result
from webhook.state.views import CacheReader

GARDENLET: Final = ObjectKey("garden", "gardenlet")
_REQUEUE_SECONDS: Final = 2.0

_SECRET: Final = kind_of_model(Secret)
_SEED: Final = kind_of_model(Seed)
_DEPLOYMENT: Final = kind_of_model(Deployment)
_CONFIG_MAP: Final = kind_of_model(ConfigMap)


class ShootClusters:
    """Starts the API server of a shoot on first use and keeps it running until exit."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stack = AsyncExitStack()
        self._open: dict[ObjectKey, tuple[str, Client]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def open(self, shoot: ObjectKey) -> tuple[str, Client]:
        """Return the kubeconfig of a shoot's cluster, as text, and a client for it."""
        if shoot not in self._open:
            folder = self._directory / f"{shoot.namespace}--{shoot.name}"
            folder.mkdir(parents=True, exist_ok=True)
            running = await self._stack.enter_async_context(serving(Options(folder)))
            access = await config.load(str(running.kubeconfig))
            client = await self._stack.enter_async_context(Client(access))
            self._open[shoot] = (running.kubeconfig.read_text(), client)
        return self._open[shoot]


class GardenletReconciler:
    """Starts the cluster of a ManagedSeed's shoot and registers the Seed for its gardenlet."""

    def __init__(self, cache: CacheReader, garden: Client, clusters: ShootClusters) -> None:
        self._cache = cache
        self._garden = garden
        self._clusters = clusters

    async def reconcile(self, key: ObjectKey) -> Result:
        """Start the cluster, publish its kubeconfig, register the Seed of a deployed gardenlet."""
        shoot = self._shoot_of(key)
        if shoot is None:
            return Result(outcome="waiting")
        kubeconfig, cluster = await self._clusters.open(shoot)
        await self._publish_kubeconfig(shoot, kubeconfig)
        configuration = await _gardenlet_configuration(cluster)
        if configuration is not None:
            await self._register(configuration)
        return Result(_REQUEUE_SECONDS)

    def _shoot_of(self, key: ObjectKey) -> ObjectKey | None:
        snapshot = self._cache.snapshot()
        managed_seed = snapshot.get(ManagedSeed, key)
        if managed_seed is None or managed_seed.spec.shoot is None:
            return None
        shoot = snapshot.get(Shoot, ObjectKey(key.namespace, managed_seed.spec.shoot.name))
        if shoot is None or not shoot.status.seed_name:
            return None
        return shoot.key

    async def _publish_kubeconfig(self, shoot: ObjectKey, kubeconfig: str) -> None:
        key = ObjectKey(shoot.namespace, f"{shoot.name}.kubeconfig")
        data = {"kubeconfig": base64.b64encode(kubeconfig.encode()).decode()}
        try:
            present = await self._garden.get(_SECRET, key)
        except NotFoundError:
            await _create(self._garden, _SECRET, key, {"type": "Opaque", "data": data})
            return
        if present.get("data") != data:
            await self._garden.patch(_SECRET, key, {"data": data})

    async def _register(self, configuration: Draft) -> None:
        """Create or update the Seed from the gardenlet's configuration, as a gardenlet does."""
        template: Draft = configuration.get("seedConfig") or {}
        metadata: Draft = template.get("metadata") or {}
        key = ObjectKey("", metadata.get("name", ""))
        if not key.name:
            return
        wanted: Draft = {
            "metadata": {
                "labels": {**(metadata.get("labels") or {}), names.ROLE: names.ROLE_SEED},
                "annotations": metadata.get("annotations") or {},
            },
            "spec": template.get("spec") or {},
        }
        seed = self._cache.snapshot().get(Seed, key)
        if seed is None:
            await _create(self._garden, _SEED, key, wanted)
            await self._publish_capacity(key, configuration)
        elif not seed.is_deleting and not _contains(await self._garden.get(_SEED, key), wanted):
            await self._garden.patch(_SEED, key, wanted)

    async def _publish_capacity(self, seed: ObjectKey, configuration: Draft) -> None:
        """Write the capacity of the gardenlet's configuration into the Seed's status."""
        resources: Draft = configuration.get("resources") or {}
        capacity = resources.get("capacity")
        if capacity and not resources.get("reserved"):
            status = {"capacity": capacity, "allocatable": capacity}
            await self._garden.patch(_SEED, seed, {"status": status}, subresource="status")


async def _gardenlet_configuration(cluster: Client) -> Draft | None:
    """Return the configuration that the deployed gardenlet mounts; None if none is deployed."""
    try:
        deployment = await cluster.get(_DEPLOYMENT, GARDENLET)
        for volume in deployment["spec"]["template"]["spec"].get("volumes", ()):
            name = (volume.get("configMap") or {}).get("name")
            if name:
                found = await cluster.get(_CONFIG_MAP, ObjectKey(GARDENLET.namespace, name))
                return _parse(found.get("data") or {})
    except NotFoundError:
        return None
    return None


def _parse(data: dict[str, str]) -> Draft | None:
    for text in data.values():
        document = yaml.safe_load(text)
        if isinstance(document, dict) and document.get("kind") == "GardenletConfiguration":
            return document
    return None


async def _create(client: Client, kind: Any, key: ObjectKey, body: Draft) -> None:
    metadata = {"name": key.name, **body.get("metadata", {})}
    if key.namespace:
        metadata["namespace"] = key.namespace
    document = {"apiVersion": kind.api_version, "kind": kind.name, **body, "metadata": metadata}
    try:
        await client.create(kind, key, document)
    except AlreadyExistsError:
        return


def _contains(present: Any, wanted: Any) -> bool:
    """Return whether every wanted value is present; additional fields do not matter."""
    if isinstance(wanted, dict):
        return isinstance(present, dict) and all(
            _contains(present.get(key), value) for key, value in wanted.items()
        )
    return bool(present == wanted)
