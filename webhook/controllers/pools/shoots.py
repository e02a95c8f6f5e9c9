"""Look into shoots whose kubeconfig is given: what cluster-autoscaler avoids, what it may fill.

cluster-autoscaler tells nobody which groups it backs off from but writes it into a ConfigMap; and
within one of its loops only a CapacityQuota binds several groups to one maximum.
"""

import asyncio
import base64
import binascii
import logging
from typing import Any, Final, Protocol

import msgspec
import yaml

from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Draft, ObjectKey
from webhook.api.names import FIELD_MANAGER, MANAGED_BY, WORKER_POOL
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError
from webhook.cluster.requests import Request
from webhook.domain import permits
from webhook.domain.fleets import granted
from webhook.domain.pools import Pool
from webhook.runtime.clock import Clock
from webhook.state import fleets
from webhook.state.snapshot import Snapshot

logger = logging.getLogger(__name__)

EVERY_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 5.0
STATUS: Final = ObjectKey("kube-system", "cluster-autoscaler-status")
QUOTAS: Final = "/apis/autoscaling.x-k8s.io/v1alpha1/capacityquotas"


class Showing(Protocol):
    """Whoever shows memory as it is now."""

    def snapshot(self) -> Snapshot: ...


class Remotes(Protocol):
    """Whoever knows the way into the cluster behind a kubeconfig."""

    async def client(self, kubeconfig: str) -> Client: ...


class Shoots:
    """Keeps looking, and remembers what shoots said last."""

    def __init__(self, client: Client, cache: Showing, remotes: Remotes, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._remotes = remotes
        self._clock = clock
        self._backed_off: dict[str, frozenset[str]] = {}
        self._written: dict[tuple[str, str], int] = {}

    def backed_off(self, group: str) -> bool | None:
        """Tell whether cluster-autoscaler avoids a group; None where nobody can tell."""
        found = self._backed_off.get(group.partition(".")[0])
        return None if found is None else group in found

    async def run(self) -> None:
        """Look at every shoot now and then, for ever."""
        while True:
            namespaces = {each.namespace for each in self._cache.snapshot().list(MachineDeployment)}
            for namespace in sorted(namespaces):
                try:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await self._look(namespace)
                except (ApiError, TimeoutError) as error:
                    self._backed_off.pop(namespace, None)
                    fields = {"namespace": namespace, "error": str(error)}
                    logger.warning("could not look into the shoot", extra=fields)
            await self._clock.sleep(EVERY_SECONDS)

    async def _look(self, namespace: str) -> None:
        kubeconfig = await self._kubeconfig(namespace)
        if not kubeconfig:
            self._backed_off.pop(namespace, None)
            return
        shoot = await self._remotes.client(kubeconfig)
        await self._read_status(namespace, shoot)
        if self._cache.snapshot().options.nodegroups.capacity_quotas:
            await self._keep_quotas(namespace, shoot)

    async def _kubeconfig(self, namespace: str) -> str:
        key = ObjectKey(namespace, self._cache.snapshot().options.nodegroups.kubeconfig_secret)
        try:
            secret = await self._client.get(kind_of_model(Secret), key)
            return base64.b64decode((secret.get("data") or {}).get("kubeconfig", "")).decode()
        except (NotFoundError, ForbiddenError, binascii.Error, UnicodeDecodeError):
            return ""

    async def _read_status(self, namespace: str, shoot: Client) -> None:
        try:
            found = await shoot.document(requests.get(kind_of_model(ConfigMap), STATUS))
        except NotFoundError:
            self._backed_off.pop(namespace, None)
            return
        self._backed_off[namespace] = read_backed_off((found.get("data") or {}).get("status", ""))

    async def _keep_quotas(self, namespace: str, shoot: Client) -> None:
        snapshot = self._cache.snapshot()
        pools, _ = fleets.pools_in(namespace, snapshot)
        wanted = {pool.key.name: quota_nodes(pool, snapshot) for pool in pools}
        for name, nodes in wanted.items():
            if self._written.get((namespace, name)) == nodes:
                continue
            path = f"{QUOTAS}/{quota_name(name)}"
            query = {"fieldManager": FIELD_MANAGER, "force": "true"}
            body = msgspec.json.encode(make_quota(name, nodes))
            request = Request("PATCH", path, query, body, "application/apply-patch+yaml")
            try:
                await shoot.document(request)
            except NotFoundError:
                return  # the kind is not served there
            self._written[namespace, name] = nodes


def read_backed_off(text: str) -> frozenset[str]:
    """Read cluster-autoscaler's status: the groups that it backs off from."""
    try:
        status: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        return frozenset()
    groups = status.get("nodeGroups") if isinstance(status, dict) else None
    return frozenset(
        str(group.get("name"))
        for group in groups or ()
        if isinstance(group, dict) and _status(group.get("scaleUp")) == "Backoff"
    )


def quota_nodes(pool: Pool, snapshot: Snapshot) -> int:
    """Say how many nodes a pool may have now: its maximum, and the surge of an update."""
    record = fleets.record_of(pool.key, snapshot)
    zones = fleets.zones_of(pool, record, snapshot)
    return pool.maximum + permits.surge_used(zones, granted(record))


def quota_name(pool: str) -> str:
    """Name the CapacityQuota of a pool."""
    return f"espalier-{pool}"


def make_quota(pool: str, nodes: int) -> Draft:
    """Write the CapacityQuota of a pool."""
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1alpha1",
        "kind": "CapacityQuota",
        "metadata": {"name": quota_name(pool), "labels": {MANAGED_BY: FIELD_MANAGER}},
        "spec": {
            "selector": {"matchLabels": {WORKER_POOL: pool}},
            "limits": {"resources": {"nodes": str(nodes)}},
        },
    }


def _status(section: Any) -> str:
    return str(section.get("status", "")) if isinstance(section, dict) else ""
