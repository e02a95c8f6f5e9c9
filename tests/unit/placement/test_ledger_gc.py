"""Garbage collection of ledgers, and what placements gain from the ledgers that it read."""

from collections import Counter
from typing import Any

import pytest
from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.fake_api_server import FakeApiServer
from tests.support.lagging_replica import LaggingReplica
from tests.support.landscape_objects import raw_seed, raw_shoot
from webhook.api.core import ConfigMap
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import ApiRequest
from webhook.domain.options import Options
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.placement.ledger_gc import LedgerCollector
from webhook.placement.placer import Placed, Placement, Placer
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.metrics import Metrics
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Ledger, LedgerEntry


class Counting(LaggingReplica):
    """Counts the requests for ledgers."""

    def __init__(self, server: FakeApiServer, clock: FakeClock) -> None:
        super().__init__(server, clock, Options())
        self.requests: Counter[str] = Counter()

    @override
    async def send(self, request: ApiRequest, *args: Any, **more: Any) -> bytes:
        if "configmaps" in request.path:
            self.requests[request.method] += 1
        return await super().send(request, *args, **more)


def put_ledger(server: FakeApiServer, *entries: LedgerEntry) -> None:
    found = Ledger("seed", {entry.uid: entry for entry in entries})
    server.put(ConfigMap, dict(ledger.write(found, Options().namespace)))


def make_collector(server: FakeApiServer, clock: FakeClock) -> tuple[Any, LedgerCollector]:
    double: Any = Counting(server, clock)
    placer = Placer(double, double, clock, EventRecorder(double, "test", clock, Metrics()))
    double.deliver()
    return double, LedgerCollector(double, double, placer, clock)


KEY = ObjectKey(Options().namespace, ledger.name_of("seed"))
OVERDUE = ledger.OVERDUE_AFTER.total_seconds() * 2


@pytest.mark.parametrize("kind", [Seed, Shoot])
@pytest.mark.parametrize("waiting", [False, True], ids=["without entries", "with an overdue one"])
async def test_a_ledger_is_kept_while_a_kind_is_not_served(kind: type[Object], waiting: bool):
    server, clock = FakeApiServer(), FakeClock()
    entry = LedgerEntry("u", ObjectKey("garden-dev", "one"), "5", clock.now(), {})
    put_ledger(server, *([entry] if waiting else []))
    clock.pass_time(OVERDUE)
    double, collector = make_collector(server, clock)
    double.unserved = frozenset({kind})
    before = server.find(ConfigMap, KEY)
    await collector.collect()
    assert server.find(ConfigMap, KEY) == before
    double.unserved = frozenset()
    await collector.collect()
    if waiting:
        assert "u" not in (server.find(ConfigMap, KEY).get("data") or {})
    else:
        assert (ConfigMap, KEY) not in server.objects


@pytest.mark.parametrize("waiting", [False, True], ids=["without entries", "with an overdue one"])
async def test_not_found_for_a_kind_does_not_mean_that_the_object_is_gone(waiting: bool):
    class Unserved(FakeApiServer):
        """Answers like an API server that does not have the kind."""

        @override
        def find(self, model: type[Object], key: ObjectKey) -> Draft:
            if model is ConfigMap:
                return super().find(model, key)
            raise NotFoundError(404, "NotFound", "404 page not found")

    server, clock = Unserved(), FakeClock()
    entry = LedgerEntry("u", ObjectKey("garden-dev", "one"), "5", clock.now(), {})
    put_ledger(server, *([entry] if waiting else []))
    clock.pass_time(OVERDUE)
    _, collector = make_collector(server, clock)
    before = server.find(ConfigMap, KEY)
    with pytest.raises(NotFoundError):
        await collector.collect()
    assert server.find(ConfigMap, KEY) == before


async def place(
    server: FakeApiServer, *, collects: bool, changes_meanwhile: bool = False
) -> Counter[str]:
    """Place one shoot and return the requests for its ledger."""
    clock = FakeClock()
    raw = raw_shoot("one")
    del raw["metadata"]["resourceVersion"]
    server.put(Shoot, raw)
    server.put(Seed, raw_seed("seed"))
    double: Any = Counting(server, clock)
    placer = Placer(double, double, clock, EventRecorder(double, "test", clock, Metrics()))
    double.deliver()
    if collects:
        await LedgerCollector(double, double, placer, clock).collect()
    if changes_meanwhile:
        put_ledger(server)
    double.requests.clear()
    shoot = double.snapshot().get(Shoot, ObjectKey("garden-dev", "one"))
    assert await placer.place(Placement(shoot, "seed")) == Placed("bound")
    found: Counter[str] = double.requests
    return found


@pytest.mark.parametrize(
    ("kept", "how", "calls"),
    [
        pytest.param(False, {"collects": False}, {"GET": 1, "POST": 1}, id="not read yet"),
        pytest.param(False, {"collects": True}, {"POST": 1}, id="no ledger yet"),
        pytest.param(True, {"collects": True}, {"PUT": 1}, id="a ledger"),
        pytest.param(
            False,
            {"collects": True, "changes_meanwhile": True},
            {"POST": 1, "GET": 1, "PUT": 1},
            id="created by another replica since",
        ),
    ],
)  # fmt: skip
async def test_a_placement_reads_its_ledger_only_if_it_was_not_read_before(kept, how, calls):
    server = FakeApiServer()
    if kept:
        put_ledger(server)
    assert await place(server, **how) == Counter(calls)
