"""Garbage collection of ledgers: removes entries that were left behind, and unused ledgers."""

import logging
from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.kube.clock import Clock
from webhook.kube.meta import ObjectKey
from webhook.placement.ledger_writer import LedgerContendedError
from webhook.placement.placer import Placer
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Ledger, LedgerEntry
from webhook.state.views import AssumingCache

logger = logging.getLogger(__name__)

_CONFIG_MAP: Final = kind_of_model(ConfigMap)
_SEED: Final = kind_of_model(Seed)
_SHOOT: Final = kind_of_model(Shoot)


class LedgerCollector:
    """Reads all ledgers at intervals, on the leader.

    An entry is left behind when a replica dies between its two writes. It may be removed once the
    second write must conflict, which touching the shoot brings about.
    """

    def __init__(self, client: Client, cache: AssumingCache, placer: Placer, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._placer = placer
        self._clock = clock

    async def run(self) -> None:
        """Collect until cancelled."""
        while True:
            try:
                await self.collect()
            except (ApiError, LedgerContendedError) as error:
                logger.warning("could not collect ledgers", extra={"error": str(error)})
            await self._clock.sleep(ledger.OVERDUE_AFTER.total_seconds())

    async def collect(self) -> None:
        """Check every ledger once, and give the writers what was read.

        While seeds or shoots are not served, nothing is removed.
        """
        config_maps = await self._list()
        ledgers = [ledger.read(config_map) for config_map in config_maps]
        self._placer.prime(ledgers)
        if not self._cache.snapshot().serves(Seed, Shoot):
            return
        for config_map, found in zip(config_maps, ledgers, strict=True):
            await self._collect(config_map, found)

    async def _list(self) -> list[ConfigMap]:
        namespace = self._cache.snapshot().options.namespace
        return await self._client.list_objects(ConfigMap, namespace, names.LEDGER_LABEL)

    async def _collect(self, config_map: ConfigMap, found: Ledger) -> None:
        for entry in ledger.overdue(found, self._clock.now()):
            await self._check(found, entry)
        if not found.entries:
            await self._remove_if_gone(config_map, found.seed)

    async def _check(self, found: Ledger, entry: LedgerEntry) -> None:
        live = await self._read_shoot(entry.shoot)
        action = ledger.classify_entry(entry, found.seed, live)
        if action == "keep":
            return  # bound: the next write of the ledger removes it, and until then it counts once
        if action == "touch" and live is not None and not await self._placer.touch(live):
            return
        await self._placer.ledger_writer(found.seed).release(entry.uid, entry.version)
        fields = {"seed": found.seed, "shoot": str(entry.shoot)}
        logger.info("released a ledger entry", extra=fields)

    async def _read_shoot(self, key: ObjectKey) -> Shoot | None:
        try:
            return decode(Shoot, await self._client.send(requests.get(_SHOOT, key)))
        except NotFoundError as error:
            if not error.is_object_missing:
                raise
            return None

    async def _remove_if_gone(self, config_map: ConfigMap, seed: str) -> None:
        if self._cache.snapshot().get(Seed, ObjectKey("", seed)) is not None:
            return
        try:
            await self._client.get(_SEED, ObjectKey("", seed))
        except NotFoundError as error:
            if not error.is_object_missing:
                raise
            await self._client.delete(
                _CONFIG_MAP,
                config_map.key,
                uid=config_map.uid,
                version=config_map.resource_version,
            )
