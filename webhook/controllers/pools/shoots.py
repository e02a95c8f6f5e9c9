"""Look into shoots whose kubeconfig is given: what cluster-autoscaler avoids, what it may fill.

cluster-autoscaler tells nobody which groups it backs off from but writes it into a ConfigMap; and
within one of its loops only a CapacityQuota binds several groups to one maximum.
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
from webhook.api.meta import Draft, ObjectKey
from webhook.api.names import FIELD_MANAGER, MANAGED_BY, WORKER_POOL
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError, ThrottledError
from webhook.cluster.requests import Request
from webhook.domain import permits, poolencoding
from webhook.domain.fleets import granted
from webhook.domain.pools import Pool
from webhook.runtime.clock import Clock
from webhook.state import fleets
from webhook.state.snapshot import Snapshot

logger = logging.getLogger(__name__)

EVERY_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 5.0
THROTTLED_SECONDS: Final = 1.0
"""Until a shoot that says "later" is asked again, if it does not say how much later."""
AT_ONCE: Final = 8
"""Shoots that are looked into at the same time, so that one out of reach holds up no other."""
STATUS: Final = ObjectKey("kube-system", "cluster-autoscaler-status")
BACKOFF: Final = "Backoff"
QUOTAS: Final = "/apis/autoscaling.x-k8s.io/v1alpha1/capacityquotas"


class Showing(Protocol):
    """Whoever shows memory as it is now."""

    def snapshot(self) -> Snapshot: ...


class Remotes(Protocol):
    """Whoever knows the way into the cluster behind a kubeconfig."""

    async def client(self, kubeconfig: str) -> Client: ...


class Shoots:
    """Keeps looking, remembers what shoots said last, and tells whom that concerns."""

    def __init__(
        self,
        client: Client,
        cache: Showing,
        remotes: Remotes,
        clock: Clock,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._client = client
        self._patience = patience
        self._cache = cache
        self._remotes = remotes
        self._clock = clock
        self._backed_off: dict[str, frozenset[str]] = {}
        self.wake: Callable[[ObjectKey], None] = lambda _record: None
        """Told the record of each pool of which its shoot says something new."""

    def backed_off(self, group: str) -> bool | None:
        """Tell whether cluster-autoscaler avoids a group; None where nobody can tell."""
        found = self._backed_off.get(group.partition(".")[0])
        return None if found is None else group in found

    async def run(self) -> None:
        """Look at every shoot now and then, for ever."""
        at_once = asyncio.Semaphore(AT_ONCE)
        while True:
            namespaces = {each.namespace for each in self._cache.snapshot().list(MachineDeployment)}
            async with asyncio.TaskGroup() as tasks:
                for namespace in sorted(namespaces):
                    tasks.create_task(self._visit(namespace, at_once))
            await self._clock.sleep(EVERY_SECONDS)

    async def _visit(self, namespace: str, at_once: asyncio.Semaphore) -> None:
        """Look into one shoot; one that cannot be reached keeps what was said of it."""
        async with at_once:
            try:
                async with asyncio.timeout(self._patience):
                    shoot = await self._look(namespace)
            except (ApiError, TimeoutError) as error:
                self._backed_off.pop(namespace, None)
                _warn("could not look into the shoot", namespace, error)
                return
            if shoot is None:
                return
            try:
                async with asyncio.timeout(self._patience):
                    await self._keep_quotas(shoot, namespace)
            except (ApiError, TimeoutError) as error:
                _warn("could not keep the quotas of the shoot", namespace, error)

    async def _look(self, namespace: str) -> Client | None:
        """Note what a shoot says, and give the way into it, if there is one."""
        kubeconfig = await self._kubeconfig(namespace)
        shoot = await self._remotes.client(kubeconfig) if kubeconfig else None
        self._note(namespace, await _read_status(shoot) if shoot else frozenset())
        return shoot

    async def _keep_quotas(self, shoot: Client, namespace: str) -> None:
        """Keep the quotas of a shoot; a kind that was defined just now is served in a moment."""
        while True:
            try:
                await _keep_quotas(shoot, self._wanted_quotas(namespace))
            except ThrottledError as error:
                await self._clock.sleep(error.retry_after or THROTTLED_SECONDS)
            else:
                return

    async def _kubeconfig(self, namespace: str) -> str:
        key = ObjectKey(namespace, self._cache.snapshot().options.nodegroups.kubeconfig_secret)
        try:
            secret = await self._client.get(kind_of_model(Secret), key)
            return base64.b64decode((secret.get("data") or {}).get("kubeconfig", "")).decode()
        except (NotFoundError, ForbiddenError, binascii.Error, UnicodeDecodeError):
            return ""

    def _note(self, namespace: str, groups: frozenset[str]) -> None:
        """Remember what a shoot says, and wake whoever goes by it where that is news."""
        if self._backed_off.get(namespace) == groups:
            return
        self._backed_off[namespace] = groups
        snapshot = self._cache.snapshot()
        pools, _ = fleets.pools_in(namespace, snapshot)
        for pool in pools:
            self.wake(ObjectKey(snapshot.options.namespace, poolencoding.name_of(pool.key)))

    def _wanted_quotas(self, namespace: str) -> Mapping[str, Draft]:
        snapshot = self._cache.snapshot()
        if not snapshot.options.nodegroups.capacity_quotas:
            return {}
        nodes: Counter[str] = Counter()
        for pool in fleets.pools_in(namespace, snapshot)[0]:
            nodes[pool.key.name] += quota_nodes(pool, snapshot)
        return {quota_name(name): make_quota(name, most) for name, most in nodes.items()}


async def _read_status(shoot: Client) -> frozenset[str]:
    try:
        found = await shoot.document(requests.get(kind_of_model(ConfigMap), STATUS))
    except NotFoundError:
        return frozenset()
    return read_backed_off((found.get("data") or {}).get("status", ""))


async def _keep_quotas(shoot: Client, wanted: Mapping[str, Draft]) -> None:
    """Make the quotas of a shoot what they should be, whoever changed them; ours, and no others."""
    ours = {"labelSelector": f"{MANAGED_BY}={FIELD_MANAGER}"}
    try:
        listed = await shoot.document(Request("GET", QUOTAS, ours))
    except NotFoundError:
        return  # the kind is not served there
    found = {str(each["metadata"]["name"]): each for each in listed.get("items") or ()}
    for name, quota in wanted.items():
        if found.get(name, {}).get("spec") != quota["spec"]:
            query = {"fieldManager": FIELD_MANAGER, "force": "true"}
            body = msgspec.json.encode(quota)
            path = f"{QUOTAS}/{name}"
            await shoot.document(
                Request("PATCH", path, query, body, "application/apply-patch+yaml")
            )
    for name in sorted({*found} - {*wanted}):
        with suppress(NotFoundError):
            await shoot.document(Request("DELETE", f"{QUOTAS}/{name}"))


def read_backed_off(text: str) -> frozenset[str]:
    """Read cluster-autoscaler's status: the groups that it backs off from."""
    if BACKOFF not in text:
        return frozenset()  # as nearly always, and YAML is slow to read
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


def _warn(message: str, namespace: str, error: Exception) -> None:
    logger.warning(message, extra={"namespace": namespace, "error": str(error)})


def _status(section: Any) -> str:
    return str(section.get("status", "")) if isinstance(section, dict) else ""
