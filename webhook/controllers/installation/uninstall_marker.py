"""Stops the leader's work while Espalier is being uninstalled from a cluster."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.kube.clock import Clock
from webhook.kube.meta import Draft, ObjectKey

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 5.0
"""How often the marker is read."""


class UninstallMarkedError(Exception):
    """The marker was found: this replica must not lead any more."""


class ConfigMapApi(Protocol):
    """The part of the client that reads a ConfigMap."""

    async def get(self, kind: Kind, key: ObjectKey) -> Draft: ...


class UninstallMarker:
    """Looks for the ConfigMap of `espalier manifests --uninstall`; once seen, it always counts."""

    def __init__(self, api: ConfigMapApi, namespace: str, clock: Clock) -> None:
        self._api = api
        self._key = ObjectKey(namespace, names.UNINSTALL_MARKER)
        self._clock = clock
        self._was_seen = False

    @property
    def reason(self) -> str:
        """Why this server stopped, and how to make it work again; empty while it works."""
        if not self._was_seen:
            return ""
        return f"uninstalled by ConfigMap {self._key}: to keep espalier, delete it and restart"

    async def run_until_marked(self, run: Callable[[], Awaitable[None]]) -> None:
        """Run something until the marker is seen, and never again.

        The uninstallation ends by deleting the marker. A server that still runs then must not
        resume, because it would create again what was deleted.
        """
        if not await self.is_marked():
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._watch())
                    await run()
            except* UninstallMarkedError:
                pass
        self._was_seen = True
        logger.warning(
            "stopped leading: espalier is being uninstalled", extra={"reason": self.reason}
        )
        await asyncio.Event().wait()

    async def is_marked(self) -> bool:
        """Return whether the marker exists; one that cannot be read counts as absent."""
        try:
            await self._api.get(kind_of_model(ConfigMap), self._key)
        except NotFoundError:
            return False
        except ApiError as error:
            logger.debug("could not read the uninstall marker", extra={"error": str(error)})
            return False
        return True

    async def _watch(self) -> None:
        while not await self.is_marked():
            await self._clock.sleep(POLL_SECONDS)
        raise UninstallMarkedError
