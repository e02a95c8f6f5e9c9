"""Samples the use of seeds from Prometheus, for resources with a query in the settings."""

import logging
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import aiohttp

from webhook.domain.options import SeedsOptions
from webhook.kube.clock import Clock

logger = logging.getLogger(__name__)

LABEL: Final = "seed"
FRESH_SECONDS: Final = 300.0
"""Older samples do not count: not scaling is better than scaling by outdated values."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)


class Prometheus:
    """Queries Prometheus at intervals and keeps the last samples."""

    def __init__(self, options: Callable[[], SeedsOptions], clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._samples: dict[str, tuple[float, Mapping[str, Decimal]]] = {}

    def latest(self, resource: str) -> Mapping[str, Decimal] | None:
        """Return the use of a resource by seed; None if the last sample is too old."""
        known = self._samples.get(resource)
        if known is None or self._clock.monotonic() - known[0] > FRESH_SECONDS:
            return None
        return known[1]

    async def run(self) -> None:
        """Run all queries at intervals until cancelled."""
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
            while True:
                options = self._options()
                for resource, query in options.queries.items():
                    await self._query(session, options.prometheus, resource, query)
                await self._clock.sleep(options.autoscaler_seconds)

    async def _query(
        self, session: aiohttp.ClientSession, server: str, resource: str, query: str
    ) -> None:
        url = f"{server.rstrip('/')}/api/v1/query"
        try:
            async with session.get(url, params={"query": query}) as response:
                response.raise_for_status()
                found = read(await response.json())
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            fields = {"resource": resource, "error": str(error) or type(error).__name__}
            logger.warning("could not sample a resource of seeds", extra=fields)
            return
        self._samples[resource] = (self._clock.monotonic(), found)


def read(body: Any) -> Mapping[str, Decimal]:
    """Parse an instant vector with one value for each seed; raises ValueError otherwise."""
    try:
        if body["status"] != "success" or body["data"]["resultType"] != "vector":
            raise ValueError("the query must give an instant vector")
        values = {
            sample["metric"][LABEL]: Decimal(sample["value"][1])
            for sample in body["data"]["result"]
        }
    except (KeyError, TypeError, IndexError, InvalidOperation) as error:
        raise ValueError(f"each value needs a label {LABEL!r}: {error}") from error
    return {seed: value for seed, value in values.items() if value.is_finite()}
