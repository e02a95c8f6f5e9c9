"""How patient the built-in scheduler is with an API server that refuses its placements."""

import asyncio
from typing import Any

import pytest
from typing_extensions import override

from tests.clocks import FakeClock, settle
from tests.landscapes import raw_seed, raw_shoot
from tests.unit.controllers.garden import Replica, Server
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import ApiError, ForbiddenError, UnavailableError
from webhook.controllers.dispatcher import Dispatcher
from webhook.controllers.placement import Placer
from webhook.domain.options import Options
from webhook.runtime.metrics import Metrics
from webhook.runtime.recorder import Recorder


class Refusing(Server):
    """Lets no shoot be placed, as an admission policy of somebody else might."""

    def __init__(self, error: ApiError) -> None:
        super().__init__()
        self.error = error
        self.attempts = 0

    @override
    def change(self, model: type[Object], key: ObjectKey, change: Raw) -> Draft:
        if model is Shoot and "spec" in change:
            self.attempts += 1
            raise self.error
        return super().change(model, key, change)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(ForbiddenError(403, "Forbidden", "not on this seed"), True, id="refused"),
        pytest.param(
            ForbiddenError(403, "Forbidden", 'User "system:anonymous" cannot patch'),
            False,
            id="taken for somebody else",
        ),
        pytest.param(
            UnavailableError(503, "ServiceUnavailable", "no answer"), False, id="not answered"
        ),
    ],
)
async def test_a_placement_that_fails_is_tried_less_and_less(error: ApiError, told: bool) -> None:
    clock = FakeClock()
    server = Refusing(error)
    server.put(CloudProfile, {"metadata": {"name": "aws"}, "spec": {"type": "aws"}})
    for index in range(3):
        raw = raw_shoot(f"shoot-{index}")
        del raw["metadata"]["resourceVersion"]
        server.put(Shoot, raw)
    server.put(Seed, raw_seed("seed"))
    double: Any = Replica(server, clock, Options())
    metrics = Metrics()
    recorder = Recorder(double, "test", clock, metrics)
    placer = Placer(double, double, clock, recorder)
    dispatcher = Dispatcher(double, double, placer, recorder, clock, metrics)
    double.look()
    task = asyncio.ensure_future(dispatcher.run())
    for _ in range(600):
        await clock.advance(0.1)
        await settle()
        double.look()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert server.attempts == 3 * 10
    found = server.find(Shoot, ObjectKey("garden-dev", "shoot-0"))
    assert bool((found.get("status") or {}).get("lastOperation")) is told


@pytest.mark.parametrize("kind", [Seed, None], ids=["unserved", "served"])
async def test_no_shoot_is_told_that_there_is_no_seed_while_seeds_are_not_served(
    kind: type[Object] | None,
) -> None:
    clock = FakeClock()
    server = Server()
    server.put(CloudProfile, {"metadata": {"name": "aws"}, "spec": {"type": "aws"}})
    raw = raw_shoot("one")
    del raw["metadata"]["resourceVersion"]
    server.put(Shoot, raw)
    double: Any = Replica(server, clock, Options())
    double.unserved = frozenset({kind} if kind else ())
    metrics = Metrics()
    recorder = Recorder(double, "test", clock, metrics)
    placer = Placer(double, double, clock, recorder)
    double.look()
    task = asyncio.ensure_future(Dispatcher(double, double, placer, recorder, clock, metrics).run())
    for _ in range(100):
        await clock.advance(0.1)
        await settle()
        double.look()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    found = server.find(Shoot, ObjectKey("garden-dev", "one"))
    assert bool((found.get("status") or {}).get("lastOperation")) is (kind is None)
