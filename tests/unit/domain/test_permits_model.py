"""Two servers hand out one pool's permits, whatever comes, fails or is late: the bounds hold.

The model is a pool of zones, each with a manager that asks for one change of its sets at a time, as
machine-controller-manager does. Each request goes to one of two servers, which reads sets and
deployments live and machines from a cache that may lag; grants are compare-and-swap on one record.
An admitted write may come at once, late, or never.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.api.machines import MachineSet, MachineSetSpec, MachineSetStatus
from webhook.api.meta import Metadata, OwnerReference
from webhook.domain import fleets, permits, poolrecord
from webhook.domain.permits import SetState, Wish, Zone
from webhook.domain.poolrecord import Record
from webhook.domain.pools import Permits, PoolKey

KEY = PoolKey("shoot", "mcm:key", "pool")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ZONES = ("a", "b", "c")


@dataclass
class Fleet:
    """What a set really is: its size, and machines that serve, come, or go."""

    zone: str
    size: int
    serving: int = 0
    coming: int = 0
    going: int = 0
    version: int = 1

    def act(self) -> None:
        """Make or delete machines as the set's size says, those that do not serve first."""
        while self.serving + self.coming < self.size:
            self.coming += 1
        while self.serving + self.coming > self.size:
            if self.coming:
                self.coming -= 1
            else:
                self.serving -= 1
            self.going += 1


@dataclass
class Pending:
    """A write that was admitted and has not come yet."""

    uid: str
    size: int
    version: int


@dataclass
class World:
    """A pool, its record, and what two servers have seen of its machines."""

    bounds: Permits
    replicas: dict[str, int]
    sets: dict[str, Fleet] = field(default_factory=dict)
    record: Record = field(default_factory=lambda: Record(KEY))
    pending: dict[str, Pending] = field(default_factory=dict)
    caches: list[dict[str, tuple[int, int]]] = field(default_factory=lambda: [{}, {}])
    now: datetime = NOW

    def begin(self) -> None:
        for zone, size in self.replicas.items():
            self.sets[f"{zone}-old"] = Fleet(zone, size, serving=size)
            self.sets[f"{zone}-new"] = Fleet(zone, 0)
        self.see(0)
        self.see(1)

    def see(self, server: int) -> None:
        """Let a server's cache catch up with the machines."""
        self.caches[server] = {
            uid: (each.serving, each.serving + each.coming + each.going)
            for uid, each in self.sets.items()
        }

    def ask(self, server: int, uid: str, size: int) -> None:
        """Send a request to a server; the zone waits until its write has come or failed."""
        owned = self.sets[uid]
        if owned.zone in self.pending or size == owned.size or size < 0:
            return
        settled = fleets.settle(self.record, self._live(), self.now)
        zones = [self._zone(zone, server) for zone in self.replicas]
        wish = Wish(owned.zone, uid, owned.size, size)
        answer = permits.judge(self.bounds, zones, fleets.granted(settled), wish)
        if answer.is_permit:
            self.record = poolrecord.grant(settled, uid, owned.zone, answer.size, self.now)
        elif uid in self.record.grants:
            self.record = poolrecord.drop_grants(settled, [uid])
        if answer.size != owned.size:
            self.pending[owned.zone] = Pending(uid, answer.size, owned.version)

    def come(self, zone: str, *, fails: bool) -> None:
        write = self.pending.pop(zone, None)
        if write is None or fails:
            return
        owned = self.sets[write.uid]
        if owned.version == write.version:
            owned.size, owned.version = write.size, owned.version + 1

    def _zone(self, zone: str, server: int) -> Zone:
        states = []
        for uid, each in self.sets.items():
            if each.zone == zone:
                serving, existing = self.caches[server][uid]
                states.append(SetState(uid, each.size, min(serving, each.serving), existing))
        return Zone(zone, self.replicas[zone], tuple(states))

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
        """Count what is missing by sizes that shrank: machines that are just coming do not."""
        serving = dict.fromkeys(self.replicas, 0)
        for each in self.sets.values():
            serving[each.zone] += min(each.serving, each.size)
        return sum(max(0, wanted - serving[zone]) for zone, wanted in self.replicas.items())


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
                    each.serving, each.coming = each.serving + each.coming, 0
                else:
                    each.going = 0
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
