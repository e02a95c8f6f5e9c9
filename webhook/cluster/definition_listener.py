"""Retries and reconnects watches when the CRD or the APIService behind their kind changes."""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.kinds import Kind
from webhook.cluster.reflector import Reflector
from webhook.kube.clock import Clock
from webhook.kube.meta import Object, ObjectKey
from webhook.state.views import CacheListener

T = TypeVar("T", bound=Object)

RECONNECT_AGAIN_AFTER: Final = (1.0, 5.0, 30.0)
"""Seconds after the deletion of a definition at which its watches are reconnected once more.

Once is not enough: we may learn of a deleted APIService before the aggregator of the API server
does, and a watch that is opened in between is proxied to the old server for as long as it lasts.
"""


class DefinitionListener:
    """Wakes the watches of a kind when what defines the kind comes, changes or goes."""

    def __init__(
        self,
        cache: CacheListener,
        watches: Iterable[tuple[Kind, Reflector]],
        clock: Clock,
    ) -> None:
        self._cache = cache
        self._watches = tuple(watches)
        self._clock = clock

    def listen(self) -> None:
        watched = {kind.model for kind, _ in self._watches}
        if CustomResourceDefinition in watched:
            self._follow(CustomResourceDefinition, _is_defined_by)
        if APIService in watched:
            self._follow(APIService, _is_served_by)

    def _follow(self, model: type[T], defines: Callable[[T, Kind], bool]) -> None:
        def on_change(old: T | None, new: T | None) -> None:
            if new is not None:
                for watch in self._watches_of(new, defines):
                    watch.retry_now()
            elif old is not None:
                self._reconnect(model, old.key, self._watches_of(old, defines))

        self._cache.add_listener(model, on_change)

    def _watches_of(self, definition: T, defines: Callable[[T, Kind], bool]) -> list[Reflector]:
        return [watch for kind, watch in self._watches if defines(definition, kind)]

    def _reconnect(self, model: type[T], key: ObjectKey, affected: list[Reflector]) -> None:
        def reconnect() -> None:
            for watch in affected:
                watch.reconnect()

        def reconnect_if_gone() -> None:
            if self._cache.peek(model, key) is None:
                reconnect()

        reconnect()
        for delay in RECONNECT_AGAIN_AFTER:
            self._clock.call_later(delay, reconnect_if_gone)


def _is_defined_by(definition: CustomResourceDefinition, kind: Kind) -> bool:
    return definition.name == kind.resource


def _is_served_by(service: APIService, kind: Kind) -> bool:
    return service.name == f"{kind.version}.{kind.group}"
