"""Which entries fit a seed's ledger, and ledgers that are newer than the cluster."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from tests.support.clocks import FakeClock, settle
from tests.support.fake_api_server import FakeApiServer
from tests.support.lagging_replica import LaggingReplica
from tests.support.landscape_objects import raw_seed, raw_shoot
from webhook.api.core import ConfigMap, Event
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options, SchedulingOptions
from webhook.kube.meta import ObjectKey
from webhook.placement.ledger_writer import SEEN_SECONDS
from webhook.placement.placer import RESET, Placement, Placer
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.metrics import Metrics
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Ledger

KEY = ObjectKey("garden-dev", "one")


class World:
    """A server with one seed, one pending shoot and a placer."""

    def __init__(self, options: Options | None = None, *, taken: int = 0, **seed: Any) -> None:
        self.clock = FakeClock()
        self.server = FakeApiServer()
        self.server.put(Seed, raw_seed("seed", **seed))
        for index in range(taken):
            self.put_shoot(f"there-{index}", seed="seed", actual_seed="seed")
        self.put_shoot("one", schedulerName="espalier")
        double: Any = LaggingReplica(self.server, self.clock, options or Options())
        self.replica = double
        self.recorder = EventRecorder(self.replica, "test", self.clock, Metrics())
        self.placer = Placer(self.replica, self.replica, self.clock, self.recorder)
        self.replica.deliver()

    def put_shoot(self, name: str, **fields: Any) -> None:
        raw = raw_shoot(name, **fields)
        del raw["metadata"]["resourceVersion"]
        self.server.put(Shoot, raw)

    def put_ledger(self, found: Ledger) -> None:
        self.server.put(ConfigMap, dict(ledger.write(found, Options().namespace)))

    def read_ledger(self) -> Ledger:
        key = ObjectKey(Options().namespace, ledger.name_of("seed"))
        raw = msgspec.json.encode(self.server.find(ConfigMap, key))
        return ledger.read(msgspec.json.decode(raw, type=ConfigMap))

    async def place(self) -> str:
        shoot = self.replica.snapshot().get(Shoot, KEY)
        return (await self.placer.place(Placement(shoot, "seed"))).result


def options(profile: str = "default", headroom: int = 0) -> Options:
    return Options(scheduling=SchedulingOptions(profile=profile, headroom=headroom))


@pytest.mark.parametrize(
    ("chosen", "seed", "taken", "result"),
    [
        pytest.param(options(), {"shoots": 2}, 1, "bound", id="the last slot"),
        pytest.param(options(), {"shoots": 2}, 2, "full", id="no slot"),
        pytest.param(options(headroom=1), {"shoots": 3}, 1, "bound", id="a slot beside headroom"),
        pytest.param(options(headroom=1), {"shoots": 2}, 1, "full", id="only headroom is left"),
        pytest.param(
            options("gardener", 1), {"shoots": 2}, 1, "full", id="only headroom, as Gardener"
        ),
        pytest.param(
            options(headroom=9), {"shoots": None}, 1, "bound", id="headroom without a limit"
        ),
        pytest.param(
            options(),
            {"allocatable": {"persistent-volumes": 1}},
            *(1, "full"),
            id="no volume is left",
        ),
        pytest.param(
            options("gardener"),
            {"allocatable": {"persistent-volumes": 1}},
            *(1, "bound"),
            id="Gardener counts no volumes",
        ),
        pytest.param(options(), {"shoots": "1500m"}, 1, "full", id="half a slot is none"),
        pytest.param(
            options("gardener"), {"shoots": "1500m"}, 1, "bound", id="Gardener rounds slots up"
        ),
        pytest.param(
            options("gardener"), {"shoots": "1500m"}, 2, "full", id="Gardener's seeds get full"
        ),
    ],
)
async def test_entries_that_fit(
    chosen: Options, seed: dict[str, Any], taken: int, result: str
) -> None:
    world = World(chosen, taken=taken, **seed)
    assert await world.place() == result
    bound = world.server.find(Shoot, KEY)["spec"].get("seedName")
    assert bound == ("seed" if result == "bound" else None)


@pytest.mark.parametrize(
    ("taken", "message"),
    [
        pytest.param(1, "placed", id="the last slot"),
        pytest.param(2, "not placed", id="no slot"),
    ],
)
async def test_only_what_was_placed_is_logged_as_placed(
    caplog: pytest.LogCaptureFixture, taken: int, message: str
) -> None:
    caplog.set_level(logging.INFO, "webhook.placement.placer")
    result = await World(options(), taken=taken, shoots=2).place()
    (line,) = (each for each in caplog.records if each.name == "webhook.placement.placer")
    assert (line.message, getattr(line, "result", "bound")) == (message, result)


async def test_resources_that_gardener_ignores_are_counted_for_others() -> None:
    world = World(options("gardener"), allocatable={"persistent-volumes": 1})
    assert await world.place() == "bound"
    (entry,) = world.read_ledger().entries.values()
    assert entry.amounts == {"shoots": 1, "persistent-volumes": 1}


@pytest.mark.parametrize(
    ("seen_through", "reset"),
    [
        pytest.param("1000", True, id="newer than anything the server has"),
        pytest.param("1", False, id="long seen"),
    ],
)
async def test_a_ledger_newer_than_the_cluster_is_reset_with_an_event(
    seen_through: str, reset: bool
) -> None:
    world = World()
    world.put_ledger(Ledger("seed", seen_through=seen_through))
    world.replica.deliver()
    present = world.server.version
    placing = asyncio.ensure_future(world.place())
    await settle()
    assert placing.done() is not reset
    await world.clock.advance(SEEN_SECONDS)
    assert await placing == "bound"
    assert world.read_ledger().seen_through == (str(present) if reset else seen_through)
    await world.recorder.flush()
    events = [(event.reason, event.involved_object.name) for event in world.server.read(Event)]
    assert events == ([(RESET, "seed")] if reset else [])


async def test_a_lagging_cache_is_waited_for_and_nothing_is_reset() -> None:
    world = World()
    seen = str(world.server.version + 2)
    world.put_ledger(Ledger("seed", seen_through=seen))
    world.put_shoot("another")
    placing = asyncio.ensure_future(world.place())
    await world.clock.advance(SEEN_SECONDS / 2)
    assert not placing.done()
    world.replica.deliver()
    assert await placing == "bound"
    await world.recorder.flush()
    assert (world.read_ledger().seen_through, world.server.read(Event)) == (seen, [])
