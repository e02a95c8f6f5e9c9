"""What the review of all ledgers tells those who keep them."""

from collections import Counter
from typing import Any

import pytest
from typing_extensions import override

from tests.clocks import FakeClock
from tests.landscapes import raw_seed, raw_shoot
from tests.unit.controllers.garden import Replica, Server
from webhook.api.core import ConfigMap
from webhook.api.meta import ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.requests import Request
from webhook.controllers.placement import Placed, Placement, Placer
from webhook.controllers.reviewer import Reviewer
from webhook.domain.options import Options
from webhook.runtime.metrics import Metrics
from webhook.runtime.recorder import Recorder
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Ledger


class Counting(Replica):
    """Counts what is asked of ledgers."""

    def __init__(self, server: Server, clock: FakeClock) -> None:
        super().__init__(server, clock, Options())
        self.calls: Counter[str] = Counter()

    @override
    async def send(self, request: Request, *args: Any, **more: Any) -> bytes:
        if "configmaps" in request.path:
            self.calls[request.method] += 1
        return await super().send(request, *args, **more)


def put_ledger(server: Server) -> None:
    server.put(ConfigMap, dict(ledger.write(Ledger("seed"), Options().namespace)))


async def place(server: Server, *, reviews: bool, meddles: bool = False) -> Counter[str]:
    """Place one shoot, and give the calls that its ledger cost."""
    clock = FakeClock()
    raw = raw_shoot("one")
    del raw["metadata"]["resourceVersion"]
    server.put(Shoot, raw)
    server.put(Seed, raw_seed("seed"))
    double: Any = Counting(server, clock)
    placer = Placer(double, double, clock, Recorder(double, "test", clock, Metrics()))
    double.look()
    if reviews:
        await Reviewer(double, double, placer, clock).review()
    if meddles:
        put_ledger(server)
    double.calls.clear()
    shoot = double.snapshot().get(Shoot, ObjectKey("garden-dev", "one"))
    assert await placer.place(Placement(shoot, "seed")) == Placed("bound")
    found: Counter[str] = double.calls
    return found


@pytest.mark.parametrize(
    ("kept", "how", "calls"),
    [
        pytest.param(False, {"reviews": False}, {"GET": 1, "POST": 1}, id="nobody has looked"),
        pytest.param(False, {"reviews": True}, {"POST": 1}, id="there is none yet"),
        pytest.param(True, {"reviews": True}, {"PUT": 1}, id="there is one already"),
        pytest.param(
            False,
            {"reviews": True, "meddles": True},
            {"POST": 1, "GET": 1, "PUT": 1},
            id="somebody else has made one since",
        ),
    ],
)  # fmt: skip
async def test_a_placement_looks_for_its_ledger_only_if_nobody_has(kept, how, calls):
    server = Server()
    if kept:
        put_ledger(server)
    assert await place(server, **how) == Counter(calls)
