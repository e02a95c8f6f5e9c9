"""Keep the webhook configurations: the leader makes them once it is ready, never before."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from webhook.api import names
from webhook.api.core import (
    ConfigMap,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError
from webhook.cluster.requests import Request
from webhook.runtime.actions import MANAGER
from webhook.runtime.clock import Clock
from webhook.runtime.logs import Repeats
from webhook.state.snapshot import Snapshot
from webhook.tls.overlap import Overlap
from webhook.tls.rotation import Rotation

logger = logging.getLogger(__name__)

MODELS: Final = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
LOOK_SECONDS: Final = 5.0

Build = Callable[[bytes], Sequence[Draft]]
"""Gives the configurations as they should be, with this caBundle."""


class Cache(Protocol):
    """The part of the cache that shows the configurations."""

    def snapshot(self) -> Snapshot: ...

    def add_listener(
        self, model: type[Any], listener: Callable[[Any, Any], None], *, replay: bool = ...
    ) -> None: ...

    def remove_listener(self, model: type[Any], listener: Callable[[Any, Any], None]) -> None: ...


class Api(Protocol):
    """The part of the client that keeps configurations."""

    async def get(self, kind: Kind, key: ObjectKey) -> Draft: ...

    async def apply(self, kind: Kind, key: ObjectKey, draft: Raw, *, manager: str) -> Draft: ...

    async def document(self, request: Request) -> Draft: ...


class Wanted(NamedTuple):
    """What the keeper goes by."""

    build: Build
    trusted: Callable[[], bytes]
    """The authorities that clients should trust, without those of the past."""
    is_ready: Callable[[], bool]
    service: ObjectKey | None = None
    """The Service that API servers call; None if they are given a URL."""


class Keeper:
    """Brings rules and caBundle to where they should be, with a field manager of our own."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        rotation: Rotation,
        wanted: Wanted,
        namespace: str,
        clock: Clock,
    ) -> None:
        self._api = api
        self._cache = cache
        self._rotation = rotation
        self._wanted = wanted
        self._leaving = ObjectKey(namespace, names.LEAVING)
        self._clock = clock
        self._overlap = Overlap()
        self._changed = asyncio.Event()
        self._trouble = Repeats()

    async def run(self) -> None:
        """Look whenever a configuration changes, and every few seconds."""

        def wake(_old: Any, _new: Any) -> None:
            self._changed.set()

        for model in MODELS:
            self._cache.add_listener(model, wake, replay=False)
        try:
            while True:
                self._changed.clear()
                await self._look_safely()
                timer = self._clock.call_later(LOOK_SECONDS, self._changed.set)
                await self._changed.wait()
                timer.cancel()
        finally:
            for model in MODELS:
                self._cache.remove_listener(model, wake)

    async def _look_safely(self) -> None:
        try:
            await self.look()
            self._trouble.end()
        except ApiError as error:
            fields = {"error": str(error)}
            level = self._trouble.level(error.message)
            logger.log(level, "could not keep the webhook configurations", extra=fields)

    async def look(self) -> None:
        """Write what is not as it should be; nothing before we are ready, or while we leave."""
        if not self._wanted.is_ready():
            return
        stale = self._stale()
        if not stale or await self._is_leaving() or not await self._is_reachable():
            return
        for kind, draft in stale:
            key = ObjectKey("", draft["metadata"]["name"])
            await self._api.apply(kind, key, draft, manager=MANAGER)
            logger.info("wrote the webhook configuration", extra={"kind": kind.name})

    def _stale(self) -> list[tuple[Kind, Draft]]:
        snapshot = self._cache.snapshot()
        if any(snapshot.is_stale(model) for model in MODELS):
            return []
        bundle = self._overlap.bundle(
            self._wanted.trusted(),
            self._rotation.published,
            self._rotation.serving.pair.certificate,
            self._clock.now(),
            self._clock.monotonic(),
        )
        found = []
        for draft in self._wanted.build(bundle):
            kind = next(kind for kind in map(kind_of_model, MODELS) if kind.name == draft["kind"])
            raw = snapshot.raw(kind.model, ObjectKey("", draft["metadata"]["name"]))
            if raw is None or not is_covered(draft, raw):
                found.append((kind, draft))
        return found

    async def _is_leaving(self) -> bool:
        try:
            await self._api.get(kind_of_model(ConfigMap), self._leaving)
        except NotFoundError:
            return False
        return True

    async def _is_reachable(self) -> bool:
        """Never point API servers at a Service that is not there: they would refuse everything."""
        service = self._wanted.service
        if service is None:
            return True
        path = f"/api/v1/namespaces/{service.namespace}/services/{service.name}"
        try:
            await self._api.document(Request("GET", path))
        except NotFoundError:
            logger.warning(
                "no Service, no webhooks: apply the manifests or set --advertise-url",
                extra={"service": str(service)},
            )
            return False
        except ForbiddenError:
            return True
        return True


def is_covered(wanted: Any, found: Any) -> bool:
    """Tell whether something has all that is wanted; the API server adds defaults of its own."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            is_covered(value, found.get(key)) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(wanted) == len(found)
            and all(is_covered(*pair) for pair in zip(wanted, found, strict=True))
        )
    return bool(wanted == found) or (not wanted and found is None)


def published(snapshot: Snapshot, name: str) -> list[str]:
    """List the different caBundles, as base64, that our configurations carry now."""
    key = ObjectKey("", name)
    configurations = (
        snapshot.get(MutatingWebhookConfiguration, key),
        snapshot.get(ValidatingWebhookConfiguration, key),
    )
    webhooks = [webhook for found in configurations if found for webhook in found.webhooks]
    return list(dict.fromkeys(webhook.client_config.ca_bundle for webhook in webhooks))
