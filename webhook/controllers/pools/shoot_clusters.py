"""Reads cluster-autoscaler's status in shoots and writes CapacityQuotas, where we have access.

cluster-autoscaler reports the groups that it backs off from in a ConfigMap only; and within one of
its loops only a CapacityQuota limits several groups to one maximum.
"""

import asyncio
import base64
import binascii
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec
import yaml

from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.names import FIELD_MANAGER, MANAGED_BY, WORKER_POOL
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError, ThrottledError
from webhook.cluster.requests import ApiRequest
from webhook.domain.pools import permits, record_encoding
from webhook.domain.pools.discovery import Pool
from webhook.domain.pools.machine_sets import granted_sizes
from webhook.kube.clock import Clock
from webhook.kube.meta import Draft, ObjectKey
from webhook.state import worker_pools
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheReader

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 10.0
TIMEOUT_SECONDS: Final = 5.0
THROTTLED_SECONDS: Final = 1.0
"""How long to wait when a shoot's API server throttles us without a retry-after."""
CONCURRENCY: Final = 8
"""Shoots that are visited at the same time, so that an unreachable one delays no other."""
STATUS: Final = ObjectKey("kube-system", "cluster-autoscaler-status")
BACKOFF: Final = "Backoff"
QUOTAS_PATH: Final = "/apis/autoscaling.x-k8s.io/v1alpha1/capacityquotas"


class RemoteClients(Protocol):
    """Gives clients for the clusters of kubeconfigs."""

    async def client(self, kubeconfig: str) -> Client: ...


class ShootClusters:
    """Visits all shoots at intervals and stores which groups cluster-autoscaler backs off from."""

    def __init__(
        self,
        client: Client,
        cache: CacheReader,
        remotes: RemoteClients,
        clock: Clock,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._client = client
        self._timeout = timeout
        self._cache = cache
        self._remotes = remotes
        self._clock = clock
        self._backed_off: dict[str, frozenset[str]] = {}
        self.on_change: Callable[[ObjectKey], None] = lambda _record: None
        """Called with the record of each pool whose shoot reports something new."""

    def backed_off(self, group: str) -> bool | None:
        """Return whether cluster-autoscaler backs off from a group; None if that is unknown."""
        found = self._backed_off.get(group.partition(".")[0])
        return None if found is None else group in found

    async def run(self) -> None:
        """Visit all shoots at intervals until cancelled."""
        semaphore = asyncio.Semaphore(CONCURRENCY)
        while True:
            namespaces = {each.namespace for each in self._cache.snapshot().list(MachineDeployment)}
            async with asyncio.TaskGroup() as tasks:
                for namespace in sorted(namespaces):
                    tasks.create_task(self._visit(namespace, semaphore))
            await self._clock.sleep(POLL_SECONDS)

    async def _visit(self, namespace: str, semaphore: asyncio.Semaphore) -> None:
        """Visit one shoot; the status of an unreachable one is unknown.

        The record keeps what an unreachable shoot reported last. A shoot without Secret or
        ConfigMap reports no backoff, so that no zone is avoided for ever.
        """
        async with semaphore:
            try:
                async with asyncio.timeout(self._timeout):
                    shoot = await self._read(namespace)
            except (ApiError, TimeoutError) as error:
                self._backed_off.pop(namespace, None)
                _warn("could not read the shoot's cluster", namespace, error)
                return
            if shoot is None:
                return
            try:
                async with asyncio.timeout(self._timeout):
                    await self._write_quotas(shoot, namespace)
            except (ApiError, TimeoutError) as error:
                _warn("could not write the quotas of the shoot", namespace, error)

    async def _read(self, namespace: str) -> Client | None:
        """Read the status of cluster-autoscaler; return a client if the shoot gives access."""
        kubeconfig = await self._kubeconfig(namespace)
        shoot = await self._remotes.client(kubeconfig) if kubeconfig else None
        self._store(namespace, await _read_status(shoot) if shoot else frozenset())
        return shoot

    async def _write_quotas(self, shoot: Client, namespace: str) -> None:
        """Write the quotas of a shoot; retry while its API server throttles, as for a new kind."""
        while True:
            try:
                await _write_quotas(shoot, self._wanted_quotas(namespace))
            except ThrottledError as error:
                await self._clock.sleep(error.retry_after or THROTTLED_SECONDS)
            else:
                return

    async def _kubeconfig(self, namespace: str) -> str:
        # We may read Secrets of other namespaces only where somebody adds a Role. Without it
        # nothing is read, and that is no fault to log.
        key = ObjectKey(namespace, self._cache.snapshot().options.nodegroups.kubeconfig_secret)
        try:
            secret = await self._client.get(kind_of_model(Secret), key)
            return base64.b64decode((secret.get("data") or {}).get("kubeconfig", "")).decode()
        except (NotFoundError, ForbiddenError, binascii.Error, UnicodeDecodeError):
            return ""

    def _store(self, namespace: str, groups: frozenset[str]) -> None:
        """Store the groups in backoff, and report the pools if they changed."""
        if self._backed_off.get(namespace) == groups:
            return
        self._backed_off[namespace] = groups
        snapshot = self._cache.snapshot()
        pools, _ = worker_pools.pools_in(namespace, snapshot)
        for pool in pools:
            self.on_change(ObjectKey(snapshot.options.namespace, record_encoding.name_of(pool.key)))

    def _wanted_quotas(self, namespace: str) -> Mapping[str, Draft]:
        snapshot = self._cache.snapshot()
        if not snapshot.options.nodegroups.capacity_quotas:
            return {}
        nodes: Counter[str] = Counter()
        for pool in worker_pools.pools_in(namespace, snapshot)[0]:
            nodes[pool.key.name] += quota_nodes(pool, snapshot)
        return {quota_name(name): make_quota(name, most) for name, most in nodes.items()}


async def _read_status(shoot: Client) -> frozenset[str]:
    try:
        found = await shoot.document(requests.get(kind_of_model(ConfigMap), STATUS))
    except NotFoundError:
        return frozenset()
    return read_backed_off((found.get("data") or {}).get("status", ""))


async def _write_quotas(shoot: Client, wanted: Mapping[str, Draft]) -> None:
    """Apply wanted quotas and delete others of ours; quotas of other owners stay.

    They are compared with a list on each visit and not with what was written before: a quota that
    somebody deletes or changes is restored.
    """
    ours = {"labelSelector": f"{MANAGED_BY}={FIELD_MANAGER}"}
    try:
        listed = await shoot.document(ApiRequest("GET", QUOTAS_PATH, ours))
    except NotFoundError:
        return  # the kind is not served there
    found = {str(each["metadata"]["name"]): each for each in listed.get("items") or ()}
    for name, quota in wanted.items():
        if found.get(name, {}).get("spec") != quota["spec"]:
            query = {"fieldManager": FIELD_MANAGER, "force": "true"}
            body = msgspec.json.encode(quota)
            path = f"{QUOTAS_PATH}/{name}"
            await shoot.document(
                ApiRequest("PATCH", path, query, body, "application/apply-patch+yaml")
            )
    for name in sorted({*found} - {*wanted}):
        with suppress(NotFoundError):
            await shoot.document(ApiRequest("DELETE", f"{QUOTAS_PATH}/{name}"))


def read_backed_off(text: str) -> frozenset[str]:
    """Parse the groups in backoff from cluster-autoscaler's status."""
    if BACKOFF not in text:
        return frozenset()  # the usual case; parsing YAML is slow
    try:
        status: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        return frozenset()
    groups = status.get("nodeGroups") if isinstance(status, dict) else None
    return frozenset(
        str(group.get("name"))
        for group in groups or ()
        if isinstance(group, dict) and _status(group.get("scaleUp")) == BACKOFF
    )


def quota_nodes(pool: Pool, snapshot: Snapshot) -> int:
    """Return how many nodes a pool may have now: its maximum and the surge of an update."""
    record = worker_pools.record_of(pool.key, snapshot)
    zones = worker_pools.zones_of(pool, record, snapshot)
    return pool.maximum + permits.surge_used(zones, granted_sizes(record))


def quota_name(pool: str) -> str:
    """Return the name of a pool's CapacityQuota."""
    return f"espalier-{pool}"


def make_quota(pool: str, nodes: int) -> Draft:
    """Render the CapacityQuota of a pool."""
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1alpha1",
        "kind": "CapacityQuota",
        "metadata": {"name": quota_name(pool), "labels": {MANAGED_BY: FIELD_MANAGER}},
        "spec": {
            "selector": {"matchLabels": {WORKER_POOL: pool}},
            "limits": {"resources": {"nodes": str(nodes)}},
        },
    }


def _warn(message: str, namespace: str, error: Exception) -> None:
    logger.warning(message, extra={"namespace": namespace, "error": str(error)})


def _status(section: Any) -> str:
    return str(section.get("status", "")) if isinstance(section, dict) else ""
