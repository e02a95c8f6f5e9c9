"""Computes the results that the extender caches before a kube-scheduler waits for them.

After a start, and after a seed is added or removed, no filter has a cached result, and the first
call would compute all of them: dozens of times as much as the next call. New shoots are mostly like
those that exist, so the results for a few of these are computed in the background.
"""

import asyncio
import logging
from itertools import islice
from typing import Any, Final

import msgspec

from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot, ShootStatus
from webhook.domain.shoots import ha
from webhook.kube.clock import Clock
from webhook.placement.extender_service import ExtenderService
from webhook.scheduling import profiles
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheListener

logger = logging.getLogger(__name__)

MAX_EXAMINED: Final = 500
MAX_SAMPLES: Final = 20
SETTLE_SECONDS: Final = 0.5
"""Seeds often come and go in groups, e.g. when a set is scaled."""


class ExtenderWarmUp:
    """Keeps the extender's cached results filled while seeds come and go."""

    def __init__(self, cache: CacheListener, service: ExtenderService, clock: Clock) -> None:
        self._cache = cache
        self._service = service
        self._clock = clock
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Warm up now, and again whenever a seed is added or removed; runs until cancelled."""
        self._cache.add_listener(Seed, self._on_seed, replay=False)
        while True:
            self._changed.clear()
            await self.warm_up()
            await self._changed.wait()
            await self._clock.sleep(SETTLE_SECONDS)

    async def warm_up(self) -> None:
        """Compute the results for a sample of shoots, with a pause after each.

        Nothing depends on it. So a shoot that cannot be placed, or a cache that is stale, is only
        logged: otherwise one object could stop the server.
        """
        try:
            for shoot in samples(self._cache.snapshot()):
                await asyncio.sleep(0)
                self._service.warm_up(shoot, self._cache.snapshot())
        except Exception as error:  # noqa: BLE001 - nothing may stop the server for this
            logger.warning("could not warm the extender up", extra={"error": repr(error)})

    def _on_seed(self, old: Any, new: Any) -> None:
        if old is None or new is None:
            self._changed.set()


def samples(snapshot: Snapshot) -> list[Shoot]:
    """Return a shoot of each sort among the first ones; without any shoot, an empty one."""
    found: dict[tuple[str, ...], Shoot] = {}
    for shoot in islice(snapshot.list(Shoot), MAX_EXAMINED):
        profile = profiles.of_shoot(shoot, snapshot.options).name
        spec = shoot.spec
        key = (profile, spec.provider.type, spec.region, ha.effective(shoot).type)
        found.setdefault(key, shoot)
    return [_without_seed(each) for each in islice(found.values(), MAX_SAMPLES)] or [Shoot()]


def _without_seed(shoot: Shoot) -> Shoot:
    """Return a shoot as it was when it was new: seeds count those that they host already."""
    spec = msgspec.structs.replace(shoot.spec, seed_name="")
    return msgspec.structs.replace(shoot, spec=spec, status=ShootStatus())
