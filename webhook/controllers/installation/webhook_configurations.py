"""Writes the webhook configurations; the leader creates them once it is ready."""

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
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError
from webhook.cluster.requests import ApiRequest
from webhook.kube.clock import Clock
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.runtime.actions import FIELD_MANAGER
from webhook.runtime.logs import LogDeduplicator
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheListener
from webhook.tls.overlap import Overlap
from webhook.tls.rotation import Rotation

logger = logging.getLogger(__name__)

MODELS: Final = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
POLL_SECONDS: Final = 5.0
"""How often configurations are compared without a change."""

BuildConfigurations = Callable[[bytes], Sequence[Draft]]
"""Returns the desired configurations with a caBundle."""


class WebhookConfigurationApi(Protocol):
    """The part of the client that reads and applies configurations."""

    async def get(self, kind: Kind, key: ObjectKey) -> Draft: ...

    async def apply(self, kind: Kind, key: ObjectKey, draft: Raw, *, manager: str) -> Draft: ...

    async def document(self, request: ApiRequest) -> Draft: ...


class RegistrationInputs(NamedTuple):
    """What the desired configurations are made from."""

    build: BuildConfigurations
    trusted: Callable[[], bytes]
    """The CAs that API servers should trust, without former ones."""
    is_ready: Callable[[], bool]
    service: ObjectKey | None = None
    """The Service that API servers call; None if they call a URL."""


class WebhookConfigurationReconciler:
    """Applies rules and caBundles where they differ, with a field manager of its own."""

    def __init__(
        self,
        api: WebhookConfigurationApi,
        cache: CacheListener,
        rotation: Rotation,
        wanted: RegistrationInputs,
        namespace: str,
        clock: Clock,
    ) -> None:
        self._api = api
        self._cache = cache
        self._rotation = rotation
        self._wanted = wanted
        self._uninstall_marker = ObjectKey(namespace, names.UNINSTALL_MARKER)
        self._clock = clock
        self._overlap = Overlap()
        self._changed = asyncio.Event()
        self._log_levels = LogDeduplicator()

    async def run(self) -> None:
        """Reconcile whenever a configuration changes, and every few seconds."""

        def on_change(_old: Any, _new: Any) -> None:
            self._changed.set()

        for model in MODELS:
            self._cache.add_listener(model, on_change, replay=False)
        try:
            while True:
                self._changed.clear()
                await self._reconcile_safely()
                timer = self._clock.call_later(POLL_SECONDS, self._changed.set)
                await self._changed.wait()
                timer.cancel()
        finally:
            for model in MODELS:
                self._cache.remove_listener(model, on_change)

    async def _reconcile_safely(self) -> None:
        try:
            await self.reconcile()
            self._log_levels.end()
        except ApiError as error:
            fields = {"error": str(error)}
            level = self._log_levels.level(error.message)
            logger.log(level, "could not reconcile the webhook configurations", extra=fields)

    async def reconcile(self) -> None:
        """Apply what differs; nothing before we are ready, or while being uninstalled."""
        if not self._wanted.is_ready():
            return
        stale = self._stale()
        if not stale or await self._is_uninstalled() or not await self._is_reachable():
            return
        for kind, draft in stale:
            key = ObjectKey("", draft["metadata"]["name"])
            await self._api.apply(kind, key, draft, manager=FIELD_MANAGER)
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

    async def _is_uninstalled(self) -> bool:
        try:
            await self._api.get(kind_of_model(ConfigMap), self._uninstall_marker)
        except NotFoundError:
            return False
        return True

    async def _is_reachable(self) -> bool:
        """Return whether the Service exists; without it API servers would reject every request."""
        service = self._wanted.service
        if service is None:
            return True
        path = f"/api/v1/namespaces/{service.namespace}/services/{service.name}"
        try:
            await self._api.document(ApiRequest("GET", path))
        except NotFoundError:
            logger.warning(
                "no Service for the webhooks: apply the manifests or set --advertise-url",
                extra={"service": str(service)},
            )
            return False
        except ForbiddenError:
            return True
        return True


def is_covered(wanted: Any, found: Any) -> bool:
    """Return whether an object has all that is wanted; defaults of the API server do not matter."""
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


def published_ca_bundles(snapshot: Snapshot, name: str) -> list[str]:
    """List the different caBundles of our configurations, in base64."""
    key = ObjectKey("", name)
    configurations = (
        snapshot.get(MutatingWebhookConfiguration, key),
        snapshot.get(ValidatingWebhookConfiguration, key),
    )
    webhooks = [webhook for found in configurations if found for webhook in found.webhooks]
    return list(dict.fromkeys(webhook.client_config.ca_bundle for webhook in webhooks))
