"""Make sure that a new connection is not answered from a cache that lags."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, Protocol

from webhook.api.machines import MachineDeployment
from webhook.api.meta import ObjectKey
from webhook.api.versions import ordinal
from webhook.cluster.client import Client
from webhook.nodegroups.crews import live_list
from webhook.runtime.clock import Clock, within
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

SECONDS: Final = 3.0

_PAUSE: Final = 0.02
_MOST_PEERS: Final = 4096


class NotCaughtUpError(Exception):
    """The cache lags behind the API server."""


class Cached(Protocol):
    """The part of the cache that is compared."""

    def snapshot(self) -> Snapshot: ...


class CatchUp:
    """Compares the cache with a live read, once for every connection.

    A caller that comes from another server may have seen sizes there that this one has yet to
    see; sizes that seem to fall back make an autoscaler count machines twice.
    """

    def __init__(self, client: Client, cache: Cached, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._clock = clock
        self._peers: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def first(self, peer: str, namespace: str) -> None:
        """Wait, on the first call of a connection; raises NotCaughtUpError or an ApiError."""
        if (peer, namespace) in self._peers:
            self._peers.move_to_end((peer, namespace))
            return
        live = await self._live(namespace)
        try:
            async with within(self._clock, SECONDS):
                while not self._is_as_new(namespace, live):
                    await self._clock.sleep(_PAUSE)
        except TimeoutError as error:
            raise NotCaughtUpError(f"the cache of {namespace} lags behind") from error
        self._peers[peer, namespace] = None
        if len(self._peers) > _MOST_PEERS:
            self._peers.popitem(last=False)

    async def _live(self, namespace: str) -> Mapping[ObjectKey, str]:
        found = await live_list(self._client, MachineDeployment, namespace)
        return {each.key: each.resource_version for each in found}

    def _is_as_new(self, namespace: str, live: Mapping[ObjectKey, str]) -> bool:
        cached = {
            each.key: each.resource_version
            for each in self._cache.snapshot().by_index(DEPLOYMENTS_BY_NAMESPACE, namespace)
        }
        if any(ordinal(cached.get(key, "")) < ordinal(version) for key, version in live.items()):
            return False
        # What is cached and was not there live is new since, or has gone and will be dropped.
        newest = max(map(ordinal, live.values()), default=0)
        return all(key in live or ordinal(version) > newest for key, version in cached.items())
