"""Stand back while Espalier is being taken out of a cluster."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.runtime.clock import Clock

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0


class LeavingError(Exception):
    """We were told to leave: nobody leads from now on."""


class Api(Protocol):
    """The part of the client that looks."""

    async def get(self, kind: Kind, key: ObjectKey) -> Draft: ...


class Leaving:
    """Knows whether the marker was ever there that `espalier manifests --uninstall` puts up."""

    def __init__(self, api: Api, namespace: str, clock: Clock) -> None:
        self._api = api
        self._key = ObjectKey(namespace, names.LEAVING)
        self._clock = clock
        self._is_told = False

    @property
    def told(self) -> str:
        """What this server was told, and how it may stay all the same; empty if nothing."""
        if not self._is_told:
            return ""
        return f"told by ConfigMap {self._key} to leave: to stay, delete it and start anew"

    async def run_unless(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run something until the marker is seen, and never again.

        The marker goes when all is taken away, and this process may live on: a server that went
        on then would bring back what was taken away.
        """
        if not await self.is_marked():
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._watch())
                    await work()
            except* LeavingError:
                pass
        self._is_told = True
        logger.warning("leaving: leads and keeps nothing any more", extra={"reason": self.told})
        await asyncio.Event().wait()

    async def is_marked(self) -> bool:
        """Look whether the marker is there; who cannot look goes on as before."""
        try:
            await self._api.get(kind_of_model(ConfigMap), self._key)
        except NotFoundError:
            return False
        except ApiError as error:
            logger.debug("cannot see whether to leave", extra={"error": str(error)})
            return False
        return True

    async def _watch(self) -> None:
        while not await self.is_marked():
            await self._clock.sleep(LOOK_SECONDS)
        raise LeavingError
