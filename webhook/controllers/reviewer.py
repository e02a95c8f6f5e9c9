"""Look into ledger entries that have had no effect for too long, so that they block nobody."""

import logging
from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import Selection
from webhook.controllers.ledgers import BusyError, Remembering
from webhook.controllers.placement import Placer
from webhook.runtime.clock import Clock
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Entry, Ledger

logger = logging.getLogger(__name__)

_CONFIG_MAP: Final = kind_of_model(ConfigMap)
_SEED: Final = kind_of_model(Seed)
_SHOOT: Final = kind_of_model(Shoot)


class Reviewer:
    """Reads all ledgers now and then, on the replica that leads.

    An entry stays behind when a replica dies between its two writes. It may go as soon as the
    write that it announces must fail, and a shoot that is touched makes it fail.
    """

    def __init__(self, client: Client, cache: Remembering, placer: Placer, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._placer = placer
        self._clock = clock

    async def run(self) -> None:
        """Review until cancelled."""
        while True:
            try:
                await self.review()
            except (ApiError, BusyError) as error:
                logger.warning("could not review ledgers", extra={"error": str(error)})
            await self._clock.sleep(ledger.PATIENCE.total_seconds())

    async def review(self) -> None:
        """Look into every ledger once, and tell those who keep them what was read.

        A kind that is not served says nothing about its objects: what they hold stays as it is.
        """
        config_maps = await self._list()
        ledgers = [ledger.read(config_map) for config_map in config_maps]
        self._placer.learn(ledgers)
        if not self._cache.snapshot().serves(Seed, Shoot):
            return
        for config_map, found in zip(config_maps, ledgers, strict=True):
            await self._review(config_map, found)

    async def _list(self) -> list[ConfigMap]:
        namespace = self._cache.snapshot().options.namespace
        selection = Selection(_CONFIG_MAP, namespace, labels=names.LEDGER_LABEL)
        page = await self._client.page(selection)
        items = [*page.items]
        while page.token:
            page = await self._client.page(selection, page.token)
            items += page.items
        return [decode(ConfigMap, bytes(item)) for item in items]

    async def _review(self, config_map: ConfigMap, found: Ledger) -> None:
        for entry in ledger.overdue(found, self._clock.now()):
            await self._look_into(found, entry)
        if not found.entries:
            await self._remove_if_gone(config_map, found.seed)

    async def _look_into(self, found: Ledger, entry: Entry) -> None:
        live = await self._live(entry.shoot)
        fate = ledger.judge(entry, found.seed, live)
        if fate == "keep":
            return  # placed: the next placement strikes it out, and until then it counts once
        if fate == "touch" and live is not None and not await self._placer.touch(live):
            return
        await self._placer.clerk(found.seed).release(entry.uid, entry.version)
        fields = {"seed": found.seed, "shoot": str(entry.shoot)}
        logger.info("released a ledger entry", extra=fields)

    async def _live(self, key: ObjectKey) -> Shoot | None:
        try:
            return decode(Shoot, await self._client.send(requests.get(_SHOOT, key)))
        except NotFoundError as error:
            if not error.names_object:
                raise
            return None

    async def _remove_if_gone(self, config_map: ConfigMap, seed: str) -> None:
        if self._cache.snapshot().get(Seed, ObjectKey("", seed)) is not None:
            return
        try:
            await self._client.get(_SEED, ObjectKey("", seed))
        except NotFoundError as error:
            if not error.names_object:
                raise
            await self._client.delete(
                _CONFIG_MAP,
                config_map.key,
                uid=config_map.uid,
                version=config_map.resource_version,
            )
