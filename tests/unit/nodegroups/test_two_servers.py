"""Two servers with one pool: its bounds hold in any order of events."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.clocks import FakeClock
from tests.support.fake_cluster import LOST
from tests.support.machine_objects import SHOOT_NAMESPACE, make_machine
from tests.unit.nodegroups.fake_seed import DELAYED, Seed, SeedServer, zone_key
from tests.unit.nodegroups.scenarios import ALL, SCENARIOS, Step
from webhook.api import names
from webhook.api.machines import Machine, MachineDeployment
from webhook.cluster.errors import ApiError, ConflictError, UnreachableError
from webhook.domain.pools.scale_down import ScaleDown

ADAPTIVE = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}
INITIAL = (1, 0, 0)
ACTIONS = (
    *("grow", "refresh", "shrink", "list", "delete"),
    *("deliver", "touch", "join"),
    *("conflict", "lost-answer", "dropped", "delay", "release", "lose"),
    *("restart", "wait", "sleep"),
)


@st.composite
def known_scenarios(draw: st.DrawFn) -> list[Step]:
    """Generate a known scenario in any zones, sometimes without one of its steps."""
    x, y, _ = draw(st.permutations(range(3)))
    scenario = draw(st.sampled_from(SCENARIOS))
    steps = scenario(draw(st.integers(0, 1)), x, y, draw(st.integers(1, 4)))
    if draw(st.integers(0, 3)) == 0:
        steps.pop(draw(st.integers(0, len(steps) - 1)))
    return steps


ONE = st.builds(
    Step, st.integers(0, 1), st.sampled_from(ACTIONS), st.integers(0, 2), st.integers(1, 4)
)
STEPS = st.lists(
    st.one_of(known_scenarios(), st.lists(ONE, min_size=1, max_size=6)), max_size=5
).map(lambda parts: [step for steps in parts for step in steps])


class TwoServers:
    """The seed and both servers; the bounds of the pool are checked after every step."""

    def __init__(self, bounds: tuple[int, int]) -> None:
        self.maximum = bounds[1]
        self.clock = FakeClock()
        self.seed = Seed()
        self.seed.add_pool(*INITIAL, bounds=bounds, **ADAPTIVE)
        self.asked = [*INITIAL]
        self.listed: list[list[str]] = [[], [], []]
        self.deleted: set[str] = set()
        self.running: list[list[asyncio.Task[object]]] = [[], []]
        self.servers = [self._started(), self._started()]

    def _started(self, seen: int | None = None) -> SeedServer:
        """Start a server with a current cache, or with that of its predecessor."""
        server = SeedServer(self.seed, self.clock)
        server.deliver(seen)
        return server

    async def run_step(self, step: Step) -> None:
        if step.what in ("grow", "refresh", "shrink", "list", "delete"):
            self._call(step)
        elif step.what in ("conflict", "lost-answer", "dropped", "delay"):
            self._add_fault(step)
        elif step.what in ("wait", "sleep"):
            await self.clock.advance(step.amount * (0.25 if step.what == "wait" else 3.0))
        elif step.what == "restart":
            await self._kill(step.server)
            behind = None if step.amount == ALL else self.servers[step.server].seen
            self.servers[step.server] = self._started(behind)
        else:
            self._change_seed(step)
        self.check()
        await asyncio.sleep(0)

    def _call(self, step: Step) -> None:
        """Call a server as an autoscaler does."""
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
            case "refresh":
                call = server.resizer.grant_rest(SHOOT_NAMESPACE)
            case "shrink":
                call = server.resizer.decrease(group, step.amount)
            case _:
                ids = self.listed[step.zone][step.amount - 1 : step.amount]
                self.deleted.update(each.removeprefix("p:///") for each in ids)
                call = server.resizer.delete(group, ids)
        self.running[step.server].append(asyncio.create_task(call))

    def _add_fault(self, step: Step) -> None:
        """Make one of the next writes of a server fail."""
        faults: dict[str, list[ApiError | str]] = {
            "conflict": [ConflictError(409, "Conflict", "somebody was faster")],
            "lost-answer": [LOST],
            "dropped": [UnreachableError("nobody answers")],
            # The first `amount - 1` writes succeed.
            "delay": [*[""] * (step.amount - 1), DELAYED],
        }
        self.servers[step.server].faults += faults[step.what]

    def _change_seed(self, step: Step) -> None:
        """Change the seed, or deliver its events to a server."""
        match step.what:
            case "deliver":
                self.servers[step.server].deliver(None if step.amount == ALL else step.amount)
            case "touch":
                status = {"status": {"replicas": step.amount}}
                self.seed.change(MachineDeployment, zone_key(step.zone), status)
            case "join":
                join(self.seed, step.zone)
            case "release":
                self.seed.release_writes()
            case _:
                self.seed.delayed.clear()

    def check(self) -> None:
        sizes = self.seed.sizes()
        assert sum(sizes) <= self.maximum, "the pool's maximum is exceeded"
        for size, live, asked in zip(sizes, live_nodes(self.seed), self.asked, strict=True):
            assert size >= live, "the replica of a live Node is removed"
            assert size <= asked, "the size is larger than requested"
        assert to_be_deleted(self.seed) <= self.deleted, "a live Node is deleted without a request"

    async def end(self) -> None:
        """Wait until all calls have ended; then the rest of the pool must be available."""
        self.seed.release_writes()
        for seconds in (1, 4, 12):
            for server in self.servers:
                server.faults.clear()
                server.deliver()
            await self.clock.advance(seconds)
            self.check()
        for server in self.servers:
            server.deliver()
        results = [await asyncio.gather(*tasks, return_exceptions=True) for tasks in self.running]
        for each in (one for tasks in results for one in tasks):
            assert isinstance(each, int | ScaleDown | ApiError), each
        server = self.servers[0]
        for call in (
            server.resizer.grant_rest(SHOOT_NAMESPACE),
            server.resizer.increase(server.group(2), self.maximum),
            server.resizer.grant_rest(SHOOT_NAMESPACE),
        ):
            asking = asyncio.create_task(call)
            while not asking.done():
                await self.clock.advance(0.1)
                server.deliver()
            await asking
        assert not self.seed.record().increases
        assert sum(self.seed.sizes()) == self.maximum, "a part of the pool is lost"

    async def _kill(self, which: int) -> None:
        """Cancel all calls of a server; writes that it has sent stay delayed."""
        tasks, self.running[which] = self.running[which], []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def join(seed: Seed, zone: int) -> None:
    """Turn one more machine into a Node, up to the size of the zone."""
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


def to_be_deleted(seed: Seed) -> set[str]:
    """Return the machines that are marked for deletion."""
    found: set[str] = set()
    for zone in range(3):
        annotations = seed.objects[MachineDeployment, zone_key(zone)]["metadata"]["annotations"]
        entries = annotations.get(names.TRIGGER_DELETION, "").split(",")
        found |= {entry.partition("~")[0] for entry in entries if entry}
    return found


def live_nodes(seed: Seed) -> list[int]:
    """Count the live Nodes of each zone that are not marked for deletion."""
    going = to_be_deleted(seed)
    found = [key.name for model, key in seed.objects if model is Machine and key.name not in going]
    prefixes = [f"{zone_key(zone).name}-1-" for zone in range(3)]
    return [sum(name.startswith(prefix) for name in found) for prefix in prefixes]


async def run_steps(steps: list[Step], bounds: tuple[int, int]) -> None:
    servers = TwoServers(bounds)
    for step in steps:
        await servers.run_step(step)
    await servers.end()


def every_scenario(test: Callable[..., None]) -> Callable[..., None]:
    """Add each known scenario as an example."""
    for scenario in SCENARIOS:
        for amount in (1, 2, 3):
            test = example(scenario(0, 1, 2, amount), (0, 5))(test)
    return test


@settings(max_examples=100, deadline=None)
@every_scenario
@given(STEPS, st.tuples(st.integers(0, 3), st.integers(4, 7)))
def test_two_servers_never_exceed_the_maximum_lose_a_part_of_it_or_remove_live_nodes(
    steps: list[Step], bounds: tuple[int, int]
) -> None:
    asyncio.run(run_steps(steps, bounds))
