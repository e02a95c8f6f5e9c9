"""Two servers grant one pool's permits: its bounds hold whatever fails or is late.

The model is a pool of zones, each with a manager that requests one change of its sets at a time, as
machine-controller-manager does. Each request goes to one of two servers, which reads sets and
deployments live and machines from a cache that may lag; grants are compare-and-swap on one record.
An admitted write may be stored at once, late, or never.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.api.machines import MachineSet, MachineSetSpec, MachineSetStatus
from webhook.domain.pools import machine_sets, permits, pool_record
from webhook.domain.pools.discovery import Permits, PoolKey
from webhook.domain.pools.permits import SetState, SizeRequest, ZoneMachines
from webhook.domain.pools.pool_record import PoolRecord
from webhook.kube.meta import Metadata, OwnerReference

KEY = PoolKey("shoot", "mcm:key", "pool")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ZONES = ("a", "b", "c")


@dataclass
class RealSet:
    """The real state of a set: its size, and machines available, starting or terminating."""

    zone: str
    size: int
    available: int = 0
    starting: int = 0
    terminating: int = 0
    version: int = 1

    def act(self) -> None:
        """Create or delete machines to match the size, those that are not available first."""
        while self.available + self.starting < self.size:
            self.starting += 1
        while self.available + self.starting > self.size:
            if self.starting:
                self.starting -= 1
            else:
                self.available -= 1
            self.terminating += 1


@dataclass
class Pending:
    """A write that was admitted and is not stored yet."""

    uid: str
    size: int
    version: int


@dataclass
class World:
    """A pool, its record, and what two servers have seen of its machines."""

    bounds: Permits
    replicas: dict[str, int]
    sets: dict[str, RealSet] = field(default_factory=dict)
    record: PoolRecord = field(default_factory=lambda: PoolRecord(KEY))
    pending: dict[str, Pending] = field(default_factory=dict)
    caches: list[dict[str, tuple[int, int]]] = field(default_factory=lambda: [{}, {}])
    now: datetime = NOW

    def begin(self) -> None:
        for zone, size in self.replicas.items():
            self.sets[f"{zone}-old"] = RealSet(zone, size, available=size)
            self.sets[f"{zone}-new"] = RealSet(zone, 0)
        self.see(0)
        self.see(1)

    def see(self, server: int) -> None:
        """Let a server's cache catch up with the machines."""
        self.caches[server] = {
            uid: (each.available, each.available + each.starting + each.terminating)
            for uid, each in self.sets.items()
        }

    def ask(self, server: int, uid: str, size: int) -> None:
        """Send a request to a server; the zone waits until its write has come or failed."""
        owned = self.sets[uid]
        if owned.zone in self.pending or size == owned.size or size < 0:
            return
        current = machine_sets.drop_fulfilled_grants(self.record, self._live(), self.now)
        zones = [self._zone(zone, server) for zone in self.replicas]
        request = SizeRequest(owned.zone, uid, owned.size, size)
        permitted = permits.permit_size(
            self.bounds, zones, machine_sets.granted_sizes(current), request
        )
        if permitted.is_permit:
            self.record = pool_record.add_grant(current, uid, owned.zone, permitted.size, self.now)
        elif uid in self.record.grants:
            self.record = pool_record.drop_grants(current, [uid])
        if permitted.size != owned.size:
            self.pending[owned.zone] = Pending(uid, permitted.size, owned.version)

    def come(self, zone: str, *, fails: bool) -> None:
        write = self.pending.pop(zone, None)
        if write is None or fails:
            return
        owned = self.sets[write.uid]
        if owned.version == write.version:
            owned.size, owned.version = write.size, owned.version + 1

    def _zone(self, zone: str, server: int) -> ZoneMachines:
        states = []
        for uid, each in self.sets.items():
            if each.zone == zone:
                available, existing = self.caches[server][uid]
                states.append(SetState(uid, each.size, min(available, each.available), existing))
        return ZoneMachines(zone, self.replicas[zone], tuple(states))

    def _live(self) -> list[MachineSet]:
        return [
            MachineSet(
                metadata=Metadata(
                    name=uid,
                    uid=uid,
                    resource_version=str(each.version),
                    owner_references=(OwnerReference(kind="MachineDeployment", name=each.zone),),
                ),
                spec=MachineSetSpec(replicas=each.size),
                status=MachineSetStatus(),
            )
            for uid, each in self.sets.items()
        ]

    def surge(self) -> int:
        sizes = dict.fromkeys(self.replicas, 0)
        for each in self.sets.values():
            sizes[each.zone] += each.size
        return sum(max(0, sizes[zone] - wanted) for zone, wanted in self.replicas.items())

    def missing(self) -> int:
        """Count what is missing by sizes that shrank: machines that are just starting do not."""
        available = dict.fromkeys(self.replicas, 0)
        for each in self.sets.values():
            available[each.zone] += min(each.available, each.size)
        return sum(max(0, wanted - available[zone]) for zone, wanted in self.replicas.items())


STEPS = st.one_of(
    st.tuples(
        st.just("ask"),
        st.integers(0, 1),
        st.sampled_from([f"{zone}-{which}" for zone in ZONES for which in ("old", "new")]),
        st.integers(0, 6),
    ),
    st.tuples(st.just("come"), st.sampled_from(ZONES), st.booleans()),
    st.tuples(st.just("act"), st.sampled_from(ZONES)),
    st.tuples(st.just("join"), st.sampled_from(ZONES)),
    st.tuples(st.just("leave"), st.sampled_from(ZONES)),
    st.tuples(st.just("see"), st.integers(0, 1)),
    st.tuples(st.just("wait"), st.integers(1, 40)),
)


def _step(world: World, step: tuple[object, ...]) -> None:
    match step:
        case ("ask", int(server), str(uid), int(size)):
            world.ask(server, uid, size)
        case ("come", str(zone), bool(fails)):
            world.come(zone, fails=fails)
        case ("see", int(server)):
            world.see(server)
        case ("wait", int(seconds)):
            # A write comes or fails within the minute that an API server gives it.
            if not world.pending:
                world.now += timedelta(seconds=seconds)
        case (str(what), str(zone)):
            for each in world.sets.values():
                if each.zone != zone:
                    continue
                if what == "act":
                    each.act()
                elif what == "join":
                    each.available, each.starting = each.available + each.starting, 0
                else:
                    each.terminating = 0
        case _:
            raise AssertionError(step)


@settings(max_examples=300)
@given(
    sizes=st.tuples(*(st.integers(0, 3) for _ in ZONES)),
    surge=st.integers(0, 2),
    unavailable=st.integers(0, 2),
    steps=st.lists(STEPS, max_size=60),
)
def test_set_sizes_and_availability_hold_at_every_instant(
    sizes: tuple[int, ...], surge: int, unavailable: int, steps: list[tuple[object, ...]]
) -> None:
    world = World(Permits(surge, unavailable), dict(zip(ZONES, sizes, strict=True)))
    world.begin()
    for step in steps:
        _step(world, step)
        assert world.surge() <= surge, step
        assert world.missing() <= unavailable, step


@settings(max_examples=60)
@given(
    sizes=st.tuples(*(st.integers(1, 3) for _ in ZONES)),
    bounds=st.sampled_from([Permits(1, 0), Permits(0, 1), Permits(2, 1), Permits(2, 0)]),
    seed=st.integers(0, 2**32),
)
def test_a_roll_always_ends_and_keeps_its_bounds_on_the_way(
    sizes: tuple[int, ...], bounds: Permits, seed: int
) -> None:
    """Managers that go on asking, in any order and over either server, get all zones rolled."""
    order = random.Random(seed)
    world = World(bounds, dict(zip(ZONES, sizes, strict=True)))
    world.begin()
    for _ in range(400):
        if not any(world.sets[f"{zone}-old"].size for zone in ZONES):
            break
        zone = order.choice(ZONES)
        server = order.randrange(2)
        old, new = world.sets[f"{zone}-old"], world.sets[f"{zone}-new"]
        world.ask(server, f"{zone}-new", min(world.replicas[zone], new.size + 1))
        world.come(zone, fails=order.random() < 0.3)
        world.ask(server, f"{zone}-old", max(0, old.size - 1))
        world.come(zone, fails=order.random() < 0.3)
        for step in (("act", zone), ("join", zone), ("leave", zone), ("see", 0), ("see", 1)):
            _step(world, step)
        world.now += timedelta(seconds=1)
        assert world.surge() <= bounds.surge
        assert world.missing() <= bounds.unavailable
    assert not any(world.sets[f"{zone}-old"].size for zone in ZONES)
