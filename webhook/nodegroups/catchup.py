"""Waits at the first call of a connection until the cache is as new as the API server."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from webhook.api.machines import MachineDeployment
from webhook.cluster.client import Client
from webhook.kube.clock import Clock, within
from webhook.kube.meta import ObjectKey
from webhook.kube.resource_versions import ordinal
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE
from webhook.state.views import CacheReader

SECONDS: Final = 3.0

_PAUSE: Final = 0.02
_MAX_PEERS: Final = 4096


class CacheLagError(Exception):
    """The cache lags behind the API server."""


class CacheCatchUp:
    """Compares the cache with a live read, once for each connection.

    A caller that was connected to another server may have got newer sizes there than this cache
    has. If sizes seem to shrink, an autoscaler counts machines twice.
    """

    def __init__(self, client: Client, cache: CacheReader, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._clock = clock
        self._peers: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def wait_on_first_call(self, peer: str, namespace: str) -> None:
        """Wait for the cache on the first call; raises CacheLagError or an ApiError."""
        if (peer, namespace) in self._peers:
            self._peers.move_to_end((peer, namespace))
            return
        live = await self._live_versions(namespace)
        try:
            async with within(self._clock, SECONDS):
                while not self._is_current(namespace, live):
                    await self._clock.sleep(_PAUSE)
        except TimeoutError as error:
            raise CacheLagError(f"the cache of {namespace} lags behind") from error
        self._peers[peer, namespace] = None
        if len(self._peers) > _MAX_PEERS:
            self._peers.popitem(last=False)

    async def _live_versions(self, namespace: str) -> Mapping[ObjectKey, str]:
        found = await self._client.list_objects(MachineDeployment, namespace)
        return {each.key: each.resource_version for each in found}

    def _is_current(self, namespace: str, live: Mapping[ObjectKey, str]) -> bool:
        # By object: a watch without events may never show the version of the list itself.
        cached = {
            each.key: each.resource_version
            for each in self._cache.snapshot().by_index(DEPLOYMENTS_BY_NAMESPACE, namespace)
        }
        if any(ordinal(cached.get(key, "")) < ordinal(version) for key, version in live.items()):
            return False
        # A cached object that the list lacks must be newer than the list; else it is deleted.
        newest = max(map(ordinal, live.values()), default=0)
        return all(key in live or ordinal(version) > newest for key, version in cached.items())
