"""What the review of all ledgers tells those who keep them."""

from collections import Counter
from typing import Any

import pytest
from typing_extensions import override

from tests.clocks import FakeClock
from tests.landscapes import raw_seed, raw_shoot
from tests.unit.controllers.garden import Replica, Server
from webhook.api.core import ConfigMap
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import Request
from webhook.controllers.placement import Placed, Placement, Placer
from webhook.controllers.reviewer import Reviewer
from webhook.domain.options import Options
from webhook.runtime.metrics import Metrics
from webhook.runtime.recorder import Recorder
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Entry, Ledger


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


def put_ledger(server: Server, *entries: Entry) -> None:
    found = Ledger("seed", {entry.uid: entry for entry in entries})
    server.put(ConfigMap, dict(ledger.write(found, Options().namespace)))


def make_reviewer(server: Server, clock: FakeClock) -> tuple[Any, Reviewer]:
    double: Any = Counting(server, clock)
    placer = Placer(double, double, clock, Recorder(double, "test", clock, Metrics()))
    double.look()
    return double, Reviewer(double, double, placer, clock)


KEY = ObjectKey(Options().namespace, ledger.name_of("seed"))
OVERDUE = ledger.PATIENCE.total_seconds() * 2


@pytest.mark.parametrize("kind", [Seed, Shoot])
@pytest.mark.parametrize("waiting", [False, True], ids=["without entries", "with an overdue one"])
async def test_a_ledger_outlives_a_kind_that_is_not_served(kind: type[Object], waiting: bool):
    server, clock = Server(), FakeClock()
    entry = Entry("u", ObjectKey("garden-dev", "one"), "5", clock.now(), {})
    put_ledger(server, *([entry] if waiting else []))
    clock.pass_time(OVERDUE)
    double, reviewer = make_reviewer(server, clock)
    double.unserved = frozenset({kind})
    before = server.find(ConfigMap, KEY)
    await reviewer.review()
    assert server.find(ConfigMap, KEY) == before
    double.unserved = frozenset()
    await reviewer.review()
    if waiting:
        assert "u" not in (server.find(ConfigMap, KEY).get("data") or {})
    else:
        assert (ConfigMap, KEY) not in server.objects


@pytest.mark.parametrize("waiting", [False, True], ids=["without entries", "with an overdue one"])
async def test_a_path_that_nobody_serves_is_no_object_that_is_gone(waiting: bool):
    class Unserved(Server):
        """Answers as an API server does that does not have the kind at all."""

        @override
        def find(self, model: type[Object], key: ObjectKey) -> Draft:
            if model is ConfigMap:
                return super().find(model, key)
            raise NotFoundError(404, "NotFound", "404 page not found")

    server, clock = Unserved(), FakeClock()
    entry = Entry("u", ObjectKey("garden-dev", "one"), "5", clock.now(), {})
    put_ledger(server, *([entry] if waiting else []))
    clock.pass_time(OVERDUE)
    _, reviewer = make_reviewer(server, clock)
    before = server.find(ConfigMap, KEY)
    with pytest.raises(NotFoundError):
        await reviewer.review()
    assert server.find(ConfigMap, KEY) == before


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
