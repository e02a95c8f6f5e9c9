"""Two servers with one pool: whatever happens in whatever order, its bounds hold."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.clocks import FakeClock
from tests.machines import SHOOT_NAMESPACE, make_machine
from tests.unit.controllers.garden import LOST
from tests.unit.nodegroups.episodes import ALL, EPISODES, Step
from tests.unit.nodegroups.seed import HELD, Seed, SeedServer, zone_key
from webhook.api import names
from webhook.api.machines import Machine, MachineDeployment
from webhook.cluster.errors import ApiError, ConflictError, UnreachableError
from webhook.domain.lowering import Lowering

ADAPTIVE = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}
INITIAL = (1, 0, 0)
WHAT = (
    *("grow", "shrink", "list", "delete"),
    *("look", "touch", "join"),
    *("conflict", "lost", "dropped", "held", "arrive", "vanish"),
    *("restart", "wait", "sleep"),
)


@st.composite
def episodes(draw: st.DrawFn) -> list[Step]:
    """Tell a story that once went wrong, in any zones, with a step left out now and then."""
    x, y, _ = draw(st.permutations(range(3)))
    story = draw(st.sampled_from(EPISODES))
    steps = story(draw(st.integers(0, 1)), x, y, draw(st.integers(1, 4)))
    if draw(st.integers(0, 3)) == 0:
        steps.pop(draw(st.integers(0, len(steps) - 1)))
    return steps


ONE = st.builds(
    Step, st.integers(0, 1), st.sampled_from(WHAT), st.integers(0, 2), st.integers(1, 4)
)
STEPS = st.lists(st.one_of(episodes(), st.lists(ONE, min_size=1, max_size=6)), max_size=5).map(
    lambda told: [step for steps in told for step in steps]
)


class Play:
    """The seed, both servers and what they are asked, checked after every step."""

    def __init__(self, bounds: tuple[int, int]) -> None:
        self.maximum = bounds[1]
        self.clock = FakeClock()
        self.seed = Seed()
        self.seed.add_pool(*INITIAL, bounds=bounds, **ADAPTIVE)
        self.asked = [*INITIAL]
        self.listed: list[list[str]] = [[], [], []]
        self.given_up: set[str] = set()
        self.running: list[list[asyncio.Task[object]]] = [[], []]
        self.servers = [self._started(), self._started()]

    def _started(self, seen: int | None = None) -> SeedServer:
        """Start a server that knows everything, or no more than the one before it."""
        server = SeedServer(self.seed, self.clock)
        server.look(seen)
        return server

    async def take(self, step: Step) -> None:
        if step.what in ("grow", "shrink", "list", "delete"):
            self._ask(step)
        elif step.what in ("conflict", "lost", "dropped", "held"):
            self._spoil(step)
        elif step.what in ("wait", "sleep"):
            await self.clock.advance(step.amount * (0.25 if step.what == "wait" else 3.0))
        elif step.what == "restart":
            await self._kill(step.server)
            behind = None if step.amount == ALL else self.servers[step.server].seen
            self.servers[step.server] = self._started(behind)
        else:
            self._happen(step)
        self.check()
        await asyncio.sleep(0)

    def _ask(self, step: Step) -> None:
        """Ask a server as an autoscaler would."""
        server = self.servers[step.server]
        group = server.group(step.zone)
        call: Coroutine[Any, Any, object]
        match step.what:
            case "list":
                self.listed[step.zone] = [each.id for each in group.instances()]
                return
            case "grow":
                self.asked[step.zone] += step.amount
                call = server.resizer.increase(group, step.amount)
            case "shrink":
                call = server.resizer.decrease(group, step.amount)
            case _:
                ids = self.listed[step.zone][step.amount - 1 : step.amount]
                self.given_up.update(each.removeprefix("p:///") for each in ids)
                call = server.resizer.delete(group, ids)
        self.running[step.server].append(asyncio.create_task(call))

    def _spoil(self, step: Step) -> None:
        """Let one of a server's next writes go wrong."""
        faults: dict[str, list[ApiError | str]] = {
            "conflict": [ConflictError(409, "Conflict", "somebody was faster")],
            "lost": [LOST],
            "dropped": [UnreachableError("nobody answers")],
            # What comes before the write that is held is spared, as far as `amount` says.
            "held": [*[""] * (step.amount - 1), HELD],
        }
        self.servers[step.server].faults += faults[step.what]

    def _happen(self, step: Step) -> None:
        """Let something happen in the seed, or a server see of it."""
        match step.what:
            case "look":
                self.servers[step.server].look(None if step.amount == ALL else step.amount)
            case "touch":
                status = {"status": {"replicas": step.amount}}
                self.seed.change(MachineDeployment, zone_key(step.zone), status)
            case "join":
                join(self.seed, step.zone)
            case "arrive":
                self.seed.arrive()
            case _:
                self.seed.late.clear()

    def check(self) -> None:
        sizes = self.seed.sizes()
        assert sum(sizes) <= self.maximum, "the pool's maximum is passed"
        for size, live, asked in zip(sizes, live_nodes(self.seed), self.asked, strict=True):
            assert size >= live, "a live Node's replica is taken back"
            assert size <= asked, "more than anybody asked for"
        assert named(self.seed) <= self.given_up, "a live Node is taken that nobody gave up"

    async def end(self) -> None:
        """Let all come to rest; then what is left of the pool must be there for who asks."""
        self.seed.arrive()
        for seconds in (1, 4, 12):
            for server in self.servers:
                server.faults.clear()
                server.look()
            await self.clock.advance(seconds)
            self.check()
        for server in self.servers:
            server.look()
        results = [await asyncio.gather(*tasks, return_exceptions=True) for tasks in self.running]
        for each in (one for tasks in results for one in tasks):
            assert isinstance(each, int | Lowering | ApiError), each
        server = self.servers[0]
        asking = asyncio.create_task(server.resizer.increase(server.group(2), self.maximum))
        while not asking.done():
            await self.clock.advance(0.1)
            server.look()
        await asking
        assert sum(self.seed.sizes()) == self.maximum, "some of the pool is lost"

    async def _kill(self, which: int) -> None:
        """End a server with all that it was about to do; what it has sent is on its way."""
        tasks, self.running[which] = self.running[which], []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def join(seed: Seed, zone: int) -> None:
    """Let one machine more become a Node, as far as the size goes, and be counted in status."""
    seed.change(MachineDeployment, zone_key(zone), {"status": {"joined": seed.version}})
    deployment = seed.objects[MachineDeployment, zone_key(zone)]
    found = [
        key for model, key in seed.objects if model is Machine and f"z{zone + 1}-1" in key.name
    ]
    if live_nodes(seed)[zone] >= deployment["spec"]["replicas"]:
        return
    if not found:
        seed.add_machines(zone, "Running")
        return
    name = found[0].name.rpartition("-")[0]
    owner = {
        "metadata": {"name": name, "namespace": SHOOT_NAMESPACE, "uid": f"uid-{name}"},
        "spec": {},
    }
    seed.put(Machine, make_machine(owner, f"1{len(found)}"))


def named(seed: Seed) -> set[str]:
    """Name the machines that are to be deleted."""
    found: set[str] = set()
    for zone in range(3):
        notes = seed.objects[MachineDeployment, zone_key(zone)]["metadata"]["annotations"]
        entries = notes.get(names.TRIGGER_DELETION, "").split(",")
        found |= {entry.partition("~")[0] for entry in entries if entry}
    return found


def live_nodes(seed: Seed) -> list[int]:
    """Count the live Nodes of each zone that nobody has asked to delete."""
    going = named(seed)
    found = [key.name for model, key in seed.objects if model is Machine and key.name not in going]
    prefixes = [f"{zone_key(zone).name}-1-" for zone in range(3)]
    return [sum(name.startswith(prefix) for name in found) for prefix in prefixes]


async def play(steps: list[Step], bounds: tuple[int, int]) -> None:
    game = Play(bounds)
    for step in steps:
        await game.take(step)
    await game.end()


def every_story(test: Callable[..., None]) -> Callable[..., None]:
    """Tell each story as it went wrong, besides those that are made up."""
    for story in EPISODES:
        for amount in (1, 2, 3):
            test = example(story(0, 1, 2, amount), (0, 5))(test)
    return test


@settings(max_examples=100, deadline=None)
@every_story
@given(STEPS, st.tuples(st.integers(0, 3), st.integers(4, 7)))
def test_two_servers_never_pass_the_maximum_lose_none_of_it_and_take_no_live_node_back(
    steps: list[Step], bounds: tuple[int, int]
) -> None:
    asyncio.run(play(steps, bounds))
