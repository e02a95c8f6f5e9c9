"""Placements under random changes and failures: invariants that always hold, and at rest."""

import asyncio
from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from tests.support.clocks import FakeClock, settle
from tests.support.fake_api_server import FakeApiServer
from tests.support.fake_cluster import LOST
from tests.support.lagging_replica import LaggingReplica
from tests.support.landscape_objects import ANYWAY, MULTI_ZONE, raw_seed, raw_shoot
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import ConflictError, ForbiddenError, UnreachableError
from webhook.domain.options import Options, SchedulingOptions
from webhook.domain.seeds import usage, zones
from webhook.domain.shoots import ha
from webhook.kube.meta import Draft
from webhook.placement import decision
from webhook.placement.ledger_gc import LedgerCollector
from webhook.placement.placer import Placer
from webhook.placement.scheduler import Scheduler
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.metrics import Metrics
from webhook.scheduling.pipeline import place
from webhook.scheduling.seed_table import SeedTable
from webhook.state.snapshot import Snapshot

REGIONS = ("eu-west-1", "eu-west-2")
LASTING = ("taints", "seedSelector", "provider", "networks")
OPTIONS = Options(scheduling=SchedulingOptions(strategy="MinimalDistance"))


class RandomLandscape:
    """A random sequence of changes to a landscape, reproducible by its seed."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.clock = FakeClock()
        self.server = FakeApiServer()
        self.server.put(CloudProfile, {"metadata": {"name": "aws"}, "spec": {"type": "aws"}})
        self.count = 0
        self.replicas = [LaggingReplica(self.server, self.clock, OPTIONS) for _ in range(2)]
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Let both replicas schedule, as if each were the leader."""
        for replica in self.replicas:
            double: Any = replica
            metrics = Metrics()
            recorder = EventRecorder(double, "test", self.clock, metrics)
            placer = Placer(double, double, self.clock, recorder)
            scheduler = Scheduler(double, double, placer, recorder, self.clock, metrics)
            collector = LedgerCollector(double, double, placer, self.clock)
            replica.deliver()
            self.tasks.append(asyncio.ensure_future(scheduler.run()))
            self.tasks.append(asyncio.ensure_future(collector.run()))

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def step(self) -> None:
        """Make one random change."""
        chance = self.chance
        happenings = [
            *[self.add_shoot] * 5,
            *[self.look] * 6,
            *[self.wait] * 4,
            *[self.fail] * 2,
            self.add_seed,
            self.change_seed,
            self.remove_shoot,
            self.report,
            self.ask_for_zones,
        ]
        chance.choice(happenings)()
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)
        if chance.random() < 0.5:
            await self.clock.advance(chance.choice((0.02, 0.1, 1.0, 5.0)))

    def add_seed(self) -> None:
        self.count += 1
        chance = self.chance
        wide = chance.random() < 0.5
        self.server.put(
            Seed,
            raw_seed(
                f"seed-{self.count:02}",
                region=chance.choice(REGIONS),
                zones=("a", "b", "c") if wide else ("a",),
                shoots=chance.randint(1, 3),
                ready=chance.random() < 0.8,
                labels={"tier": chance.choice(("gold", "plain"))},
                taints=[{"key": "private"}] if chance.random() < 0.3 else [],
            ),
        )

    def change_seed(self) -> None:
        found = self.pick(Seed)
        if found is None:
            return
        if self.chance.random() < 0.5:
            status = self.chance.choice(("True", "False"))
            change: Draft = {"conditions": [{"type": "GardenletReady", "status": status}]}
        else:
            slots = int(found.status.allocatable["shoots"]) + 1
            change = {"allocatable": {"shoots": str(slots)}}
        self.server.change(Seed, found.key, {"status": change})

    def add_shoot(self) -> None:
        self.count += 1
        chance = self.chance
        raw = raw_shoot(
            f"shoot-{self.count:03}",
            region=chance.choice(REGIONS),
            ha=chance.choice((None, None, MULTI_ZONE, ANYWAY)),
            affinity=chance.choice(("", "", "preferred", "required")),
            purpose=chance.choice(("evaluation", "production", "infrastructure", "testing")),
            seedSelector=chance.choice((None, None, {"matchLabels": {"tier": "gold"}})),
            tolerations=chance.choice(([], [{"key": "private"}])),
        )
        del raw["metadata"]["resourceVersion"]
        self.server.put(Shoot, raw)

    def remove_shoot(self) -> None:
        found = self.pick(Shoot)
        if found is not None:
            self.server.drop(Shoot, found.key)

    def report(self) -> None:
        found = self.pick(Shoot)
        if found is not None and found.spec.seed_name:
            self.server.change(Shoot, found.key, {"status": {"seedName": found.spec.seed_name}})

    def ask_for_zones(self) -> None:
        found = self.pick(Shoot)
        if found is not None:
            control_plane = {"highAvailability": MULTI_ZONE}
            change = {"spec": {"kubernetes": {"controlPlane": control_plane}}}
            self.server.change(Shoot, found.key, change)

    def look(self) -> None:
        self.chance.choice(self.replicas).deliver(self.chance.randint(1, 8))

    def wait(self) -> None:
        """Let time pass for the replicas."""

    def fail(self) -> None:
        fault = self.chance.choice(
            (
                LOST,
                UnreachableError("connection refused"),
                ConflictError(409, "Conflict", "concurrent write"),
                ForbiddenError(403, "Forbidden", "no"),
            )
        )
        self.chance.choice(self.replicas).faults.append(fault)

    def pick(self, model: type[Any]) -> Any:
        found = self.server.read(model)
        return self.chance.choice(found) if found else None

    async def rest(self) -> None:
        """Stop the failures and wait until nothing changes any more."""
        for replica in self.replicas:
            replica.faults.clear()
        quiet = 0
        while quiet < 3:
            before = self.server.version
            for replica in self.replicas:
                replica.deliver()
            await settle()
            await self.clock.advance(62.0)
            for replica in self.replicas:
                replica.deliver()
            await settle()
            quiet = quiet + 1 if self.server.version == before else 0

    def placements(self) -> dict[str, str]:
        return {shoot.name: shoot.spec.seed_name for shoot in self.server.read(Shoot)}

    def check_always(self) -> None:
        """Check that no seed has more shoots than its capacity, or resources, allow."""
        seeds = {seed.name: seed for seed in self.server.read(Seed)}
        counts: Counter[str] = Counter()
        for shoot in self.server.read(Shoot):
            counts.update(usage.seeds_of(shoot))
            seed = seeds.get(shoot.spec.seed_name)
            if seed is not None:
                self.check_fits(shoot, seed)
        for name, count in counts.items():
            assert count <= int(seeds[name].status.allocatable["shoots"]), name

    def check_fits(self, shoot: Shoot, seed: Seed) -> None:
        """Check that no shoot is on a seed that does not fit by fields that never change."""
        if ha.region_affinity(shoot) == "required":
            assert seed.spec.provider.region == shoot.spec.region
        wanted = msgspec.structs.replace(shoot.spec, seed_name="")
        free = msgspec.structs.replace(shoot, spec=wanted)
        snapshot = Snapshot.of([seed, *self.server.read(CloudProfile)], options=OPTIONS)
        step, _ = place(free, [seed], snapshot).rejected.get(seed.name, ("", None))
        assert step not in LASTING

    def check_at_rest(self) -> None:
        """Check that no shoot is pending for which a seed fits."""
        snapshot = self.server.snapshot(decision.WATCHED_KINDS, OPTIONS, self.clock)
        for shoot in decision.list_pending(snapshot):
            decided = decision.decide(shoot, SeedTable(), snapshot)
            assert not isinstance(decided, decision.Bind | decision.Weaken), shoot.name
        for seed in snapshot.list(Seed):
            for shoot in self.server.read(Shoot):
                if shoot.spec.seed_name == seed.name and shoot.status.seed_name == seed.name:
                    is_weak = ha.effective(shoot).type != ha.MULTI_ZONE
                    waits = isinstance(decision.decide(shoot, SeedTable(), snapshot), decision.Stay)
                    assert is_weak or zones.is_multi_zonal(seed) or waits


async def run_random_changes(seed: int, steps: int = 60) -> dict[str, str]:
    landscape = RandomLandscape(seed)
    for _ in range(3):
        landscape.add_seed()
    landscape.start()
    try:
        for _ in range(steps):
            await landscape.step()
            landscape.check_always()
        await landscape.rest()
        landscape.check_always()
        landscape.check_at_rest()
    finally:
        await landscape.stop()
    return landscape.placements()


@pytest.mark.parametrize("seed", range(40))
async def test_invariants_hold(seed: int) -> None:
    await run_random_changes(seed)


@pytest.mark.parametrize("seed", range(40, 44))
async def test_the_same_seed_ends_the_same_way(seed: int) -> None:
    first = await run_random_changes(seed)
    assert first == await run_random_changes(seed)
    assert any(first.values())
