"""Spoiled reviews over HTTP: no answer outside 200, 400 and 413, and the server goes on."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from aiohttp import ClientSession

from tests.admission import NOW
from tests.clocks import FakeClock
from tests.properties.test_admission import ABSENT, MEMORY
from tests.reviews import spoiled
from webhook.admission.engine import TABLE
from webhook.runtime.metrics import Metrics
from webhook.server.app import Role, Services, build_app
from webhook.server.listeners import listening
from webhook.server.traffic import Traffic
from webhook.state.questions import Answers, Question
from webhook.state.snapshot import Snapshot

REVIEWS = 5_000
CALLERS = 8
HEADERS = {"Content-Type": "application/json"}
ROLES: tuple[Role, ...] = ("admission",)


class Landscape:
    """Memory of a landscape whose API server has nothing else, and lets everybody do everything."""

    def snapshot(self, answers: Answers | None = None) -> Snapshot:
        return Snapshot(MEMORY, NOW, answers=answers)

    async def answer(self, questions: Sequence[Question], seconds: float) -> Answers:
        return {each: ABSENT[type(each)] for each in questions}


async def test_spoiled_reviews_over_http() -> None:
    services = Services(Landscape(), TABLE, Metrics(), Traffic(FakeClock(), 500))
    statuses: Counter[int] = Counter()
    bodies = spoiled(77, REVIEWS)
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
