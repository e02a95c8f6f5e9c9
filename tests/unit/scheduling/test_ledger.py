"""What a ledger says, who may strike out what, and that replicas never overfill a seed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.landscapes import amounts, make_shoot
from webhook.api.core import ConfigMap
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Entry, Fate, Ledger

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ObjectKey("garden-dev", "shoot")
ONE = amounts(shoots=1, persistent_volumes=1)
ENTRY = Entry("u", KEY, "5", NOW, ONE)
LEDGER = Ledger("s", {"u": ENTRY}, "3", "9")


def at(shoot: Shoot, version: int) -> Shoot:
    metadata = msgspec.structs.replace(shoot.metadata, resource_version=str(version))
    return msgspec.structs.replace(shoot, metadata=metadata)


def test_a_ledger_survives_the_wire() -> None:
    draft = ledger.write(LEDGER, "espalier-system")
    found = msgspec.json.decode(msgspec.json.encode(draft), type=ConfigMap)
    assert ledger.read(found) == LEDGER
    assert draft["metadata"]["resourceVersion"] == "9"


def test_a_new_ledger_has_no_version_to_insist_on() -> None:
    assert "resourceVersion" not in ledger.write(Ledger("s"), "espalier-system")["metadata"]


def test_entries_that_nobody_can_read_are_left_out() -> None:
    data = {"seenThrough": "3", "x": "{", "y": '{"shoot": "a/b", "at": "yesterday"}'}
    draft = ledger.write(LEDGER, "ns")
    draft["data"] |= data
    found = msgspec.json.decode(msgspec.json.encode(draft), type=ConfigMap)
    assert ledger.read(found).entries == LEDGER.entries


@pytest.mark.parametrize(
    ("cached", "kept", "seen"),
    [
        pytest.param(None, True, "3", id="not in the cache"),
        pytest.param(at(make_shoot(uid="u"), 5), True, "3", id="not placed yet"),
        pytest.param(at(make_shoot(uid="u", seed="s"), 5), True, "3", id="only assumed"),
        pytest.param(at(make_shoot(uid="u", seed="s"), 8), False, "8", id="placed"),
        pytest.param(at(make_shoot(uid="u", actual_seed="s"), 8), False, "8", id="still there"),
        pytest.param(at(make_shoot(uid="u"), 8), False, "3", id="changed before the write"),
        pytest.param(at(make_shoot(uid="u", seed="t"), 8), False, "3", id="placed elsewhere"),
        pytest.param(at(make_shoot(uid="v", seed="s"), 8), False, "3", id="another by that name"),
    ],
)
def test_the_cache_overtakes_entries(cached: Shoot | None, kept: bool, seen: str) -> None:
    settled = ledger.settle(LEDGER, lambda _key: cached)
    assert ("u" in settled.entries) is kept
    assert settled.seen_through == seen


def test_seen_through_never_falls() -> None:
    late = replace(LEDGER, seen_through="70")
    cached = at(make_shoot(uid="u", seed="s"), 8)
    assert ledger.settle(late, lambda _key: cached).seen_through == "70"


@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        pytest.param(None, ONE, id="not in the cache"),
        pytest.param(make_shoot(uid="u"), ONE, id="not placed yet"),
        pytest.param(make_shoot(uid="u", seed="s"), {}, id="counted already"),
        pytest.param(make_shoot(uid="v", seed="s"), ONE, id="another by that name"),
    ],
)
def test_what_is_outstanding(cached: Shoot | None, expected: dict[str, int]) -> None:
    assert ledger.outstanding(LEDGER, lambda _key: cached) == expected
    assert ledger.outstanding(LEDGER, lambda _key: cached, leave_out=["u"]) == {}


def test_only_the_writer_releases_its_entry() -> None:
    assert ledger.release(LEDGER, "u", "5").entries == {}
    assert ledger.release(LEDGER, "u", "6") == LEDGER
    assert ledger.release(LEDGER, "w", "5") == LEDGER


def test_overdue() -> None:
    assert ledger.overdue(LEDGER, NOW + ledger.PATIENCE - timedelta(seconds=1)) == []
    assert ledger.overdue(LEDGER, NOW + ledger.PATIENCE) == [ENTRY]


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param(None, "drop", id="the shoot is gone"),
        pytest.param(at(make_shoot(uid="v"), 5), "drop", id="another by that name"),
        pytest.param(at(make_shoot(uid="u", seed="s"), 8), "keep", id="placed: wait for the cache"),
        pytest.param(at(make_shoot(uid="u"), 8), "drop", id="the write would fail"),
        pytest.param(at(make_shoot(uid="u"), 5), "touch", id="the write could still come"),
    ],
)
def test_what_becomes_of_an_overdue_entry(live: Shoot | None, expected: Fate) -> None:
    assert ledger.judge(ENTRY, "s", live) == expected


class Replica:
    """A replica with a cache of its own that lags as it likes, and a write that it sleeps on."""

    def __init__(self, seen: int) -> None:
        self.seen = seen
        self.sleeping: tuple[str, int] | None = None


class World:
    """An API server with one seed, its ledger and some shoots, and the replicas that fill it."""

    def __init__(self, replicas: int, shoots: int, slots: int) -> None:
        self.version = shoots
        self.history = {
            f"shoot-{index}": [at(make_shoot(f"shoot-{index}", uid=f"u{index}"), index + 1)]
            for index in range(shoots)
        }
        self.ledger = Ledger("s")
        self.replicas = [Replica(seen=shoots) for _ in range(replicas)]
        self.slots = slots

    def live(self, name: str) -> Shoot:
        return self.history[name][-1]

    def cached(self, replica: Replica, name: str) -> Shoot | None:
        known = [
            found for found in self.history[name] if int(found.resource_version) <= replica.seen
        ]
        return known[-1] if known else None

    def write(self, name: str, seed: str, version: str) -> bool:
        if self.live(name).resource_version != version:
            return False
        self.version += 1
        spec = msgspec.structs.replace(self.live(name).spec, seed_name=seed)
        shoot = msgspec.structs.replace(self.live(name), spec=spec)
        self.history[name].append(at(shoot, self.version))
        return True

    def placed(self) -> int:
        return sum(self.live(name).spec.seed_name == "s" for name in self.history)

    def enter(self, replica: Replica, name: str) -> None:
        """Do what a replica does before its first write: settle, count, enter."""
        if int(self.ledger.seen_through or 0) > replica.seen or replica.sleeping is not None:
            return
        shoot = self.cached(replica, name)
        if shoot is None or shoot.spec.seed_name:
            return

        def find(key: ObjectKey) -> Shoot | None:
            return self.cached(replica, key.name)

        settled = ledger.settle(self.ledger, find)
        counted = [find(ObjectKey("garden-dev", other)) for other in self.history]
        used = sum(found is not None and found.spec.seed_name == "s" for found in counted)
        more = ledger.outstanding(settled, find, leave_out=[shoot.uid]).get("shoots", 0)
        if used + more + 1 > self.slots:
            self.ledger = settled
            return
        entry = Entry(shoot.uid, shoot.key, shoot.resource_version, NOW, ONE)
        self.ledger = ledger.enter(settled, [entry])
        replica.sleeping = (name, int(shoot.resource_version))

    def act(self, replica: Replica, number: int, name: str) -> None:
        match number:
            case 0:
                self.enter(replica, name)
            case 1:
                self.wake(replica)
            case 2:
                replica.seen = self.version
            case 3:
                replica.seen = min(self.version, replica.seen + 1)
            case 4:
                replica.sleeping = None  # killed between its two writes
                replica.seen = 0
            case 5:
                self.review()
            case _:
                self.write(name, "", self.live(name).resource_version)  # moved away, or edited

    def wake(self, replica: Replica) -> None:
        if replica.sleeping is None:
            return
        name, version = replica.sleeping
        replica.sleeping = None
        if not self.write(name, "s", str(version)) and self.live(name).spec.seed_name != "s":
            self.ledger = ledger.release(self.ledger, self.live(name).uid, str(version))

    def review(self) -> None:
        for entry in ledger.overdue(self.ledger, NOW + ledger.PATIENCE):
            fate = ledger.judge(entry, "s", self.live(entry.shoot.name))
            if fate == "touch":
                self.write(entry.shoot.name, "", entry.version)
            if fate != "keep":
                self.ledger = ledger.release(self.ledger, entry.uid, entry.version)


def test_a_frozen_write_fails_once_its_entry_is_gone() -> None:
    world = World(replicas=2, shoots=2, slots=1)
    frozen, awake = world.replicas
    world.enter(frozen, "shoot-0")
    world.enter(awake, "shoot-1")
    assert awake.sleeping is None
    world.review()
    awake.seen = world.version
    world.enter(awake, "shoot-1")
    world.wake(awake)
    world.wake(frozen)
    assert world.live("shoot-0").spec.seed_name == ""
    assert world.placed() == 1


def test_a_cache_that_is_too_old_waits() -> None:
    world = World(replicas=2, shoots=2, slots=1)
    quick, slow = world.replicas
    world.enter(quick, "shoot-0")
    world.wake(quick)
    quick.seen = world.version
    world.enter(quick, "shoot-1")
    assert world.ledger.entries == {}
    world.enter(slow, "shoot-1")
    assert slow.sleeping is None
    slow.seen = world.version
    world.enter(slow, "shoot-1")
    assert slow.sleeping is None


ACTIONS = st.lists(
    st.tuples(
        st.integers(0, 1), st.sampled_from((0, 0, 0, 1, 1, 2, 3, 4, 5, 6)), st.integers(0, 2)
    ),
    min_size=4,
    max_size=40,
)


@settings(max_examples=500, deadline=None)
@given(ACTIONS)
def test_no_order_of_events_overfills_a_seed(actions: list[tuple[int, int, int]]) -> None:
    world = World(replicas=2, shoots=3, slots=1)
    for who, what, which in actions:
        world.act(world.replicas[who], what, f"shoot-{which}")
        assert world.placed() <= 1


@settings(max_examples=100, deadline=None)
@given(ACTIONS)
def test_whatever_happened_all_slots_can_be_filled_again(
    actions: list[tuple[int, int, int]],
) -> None:
    world = World(replicas=2, shoots=3, slots=2)
    for who, what, which in actions:
        world.act(world.replicas[who], what, f"shoot-{which}")
    for replica in world.replicas:
        world.wake(replica)
    last = world.replicas[0]
    for name in [*world.history, *world.history]:
        world.review()
        last.seen = world.version
        world.enter(last, name)
        world.wake(last)
    assert world.placed() == 2
