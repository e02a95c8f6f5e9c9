"""Malformed reviews over HTTP: only statuses 200, 400 and 413, and the server keeps serving."""

import asyncio
from collections import Counter
from collections.abc import Iterable

from aiohttp import ClientSession
from typing_extensions import override

from tests.properties.test_admission import ABSENT, STATE
from tests.support.admission import NOW
from tests.support.clocks import FakeClock
from tests.support.fake_cache import FakeCache
from tests.support.reviews import fuzzed
from webhook.admission.engine import TABLE
from webhook.runtime.metrics import Metrics
from webhook.server.app import Role, Services, build_app
from webhook.server.listeners import listening
from webhook.server.traffic import Traffic
from webhook.state.live_reads import LiveRead, LiveResults
from webhook.state.snapshot import Snapshot

REVIEWS = 5_000
CALLERS = 8
HEADERS = {"Content-Type": "application/json"}
ROLES: tuple[Role, ...] = ("admission",)


class CompleteCache(FakeCache):
    """A cache with all objects of the API server, which allows everything to all users."""

    @override
    def snapshot(self, live_results: LiveResults | None = None) -> Snapshot:
        return Snapshot(STATE, NOW, live_results=live_results)

    @override
    async def read_live(self, live_reads: Iterable[LiveRead], seconds: float) -> LiveResults:
        return {each: ABSENT[type(each)] for each in live_reads}


async def test_malformed_reviews_over_http() -> None:
    services = Services(CompleteCache(), TABLE, Metrics(), Traffic(FakeClock(), 500))
    statuses: Counter[int] = Counter()
    bodies = fuzzed(77, REVIEWS)
    async with (
        listening(build_app(services, ROLES), "127.0.0.1", 0) as port,
        ClientSession(f"http://127.0.0.1:{port}") as client,
    ):

        async def call(path: str) -> None:
            for body in bodies:
                async with client.post(path, data=body, headers=HEADERS) as response:
                    await response.read()
                    statuses[response.status] += 1

        paths = ("/mutate", "/validate") * (CALLERS // 2)
        await asyncio.gather(*map(call, paths))
    assert statuses.total() == REVIEWS
    assert set(statuses) <= {200, 400, 413}, statuses
    assert statuses[200] > REVIEWS / 2
