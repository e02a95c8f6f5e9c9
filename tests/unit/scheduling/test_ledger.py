"""Ledgers: reading, writing, pruning, and that replicas never overfill a seed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.landscape_objects import amounts, make_shoot
from webhook.api.core import ConfigMap
from webhook.api.shoots import Shoot
from webhook.kube.meta import ObjectKey
from webhook.scheduling import ledger
from webhook.scheduling.ledger import EntryAction, Ledger, LedgerEntry

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ObjectKey("garden-dev", "shoot")
ONE = amounts(shoots=1, persistent_volumes=1)
ENTRY = LedgerEntry("u", KEY, "5", NOW, ONE)
LEDGER = Ledger("s", {"u": ENTRY}, "3", "9")


def at(shoot: Shoot, version: int) -> Shoot:
    metadata = msgspec.structs.replace(shoot.metadata, resource_version=str(version))
    return msgspec.structs.replace(shoot, metadata=metadata)


def test_a_ledger_is_read_as_it_was_written() -> None:
    draft = ledger.write(LEDGER, "espalier-system")
    found = msgspec.json.decode(msgspec.json.encode(draft), type=ConfigMap)
    assert ledger.read(found) == LEDGER
    assert draft["metadata"]["resourceVersion"] == "9"


def test_a_new_ledger_has_no_resource_version() -> None:
    assert "resourceVersion" not in ledger.write(Ledger("s"), "espalier-system")["metadata"]


def test_malformed_entries_are_ignored() -> None:
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
def test_prune_removes_entries_that_the_cache_supersedes(
    cached: Shoot | None, kept: bool, seen: str
) -> None:
    pruned = ledger.prune(LEDGER, lambda _key: cached)
    assert ("u" in pruned.entries) is kept
    assert pruned.seen_through == seen


def test_seen_through_never_decreases() -> None:
    late = replace(LEDGER, seen_through="70")
    cached = at(make_shoot(uid="u", seed="s"), 8)
    assert ledger.prune(late, lambda _key: cached).seen_through == "70"


@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        pytest.param(None, ONE, id="not in the cache"),
        pytest.param(make_shoot(uid="u"), ONE, id="not placed yet"),
        pytest.param(make_shoot(uid="u", seed="s"), {}, id="counted already"),
        pytest.param(make_shoot(uid="v", seed="s"), ONE, id="another by that name"),
    ],
)
def test_outstanding(cached: Shoot | None, expected: dict[str, int]) -> None:
    assert ledger.outstanding(LEDGER, lambda _key: cached) == expected
    assert ledger.outstanding(LEDGER, lambda _key: cached, leave_out=["u"]) == {}


def test_only_the_writer_releases_its_entry() -> None:
    assert ledger.release(LEDGER, "u", "5").entries == {}
    assert ledger.release(LEDGER, "u", "6") == LEDGER
    assert ledger.release(LEDGER, "w", "5") == LEDGER


def test_overdue() -> None:
    assert ledger.overdue(LEDGER, NOW + ledger.OVERDUE_AFTER - timedelta(seconds=1)) == []
    assert ledger.overdue(LEDGER, NOW + ledger.OVERDUE_AFTER) == [ENTRY]


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
def test_classification_of_overdue_entries(live: Shoot | None, expected: EntryAction) -> None:
    assert ledger.classify_entry(ENTRY, "s", live) == expected


class Replica:
    """A replica with a cache that may lag, and a write that may be delayed."""

    def __init__(self, seen: int) -> None:
        self.seen = seen
        self.pending: tuple[str, int] | None = None


class Model:
    """A model of an API server with one seed, its ledger, some shoots and the replicas."""

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

    def add_entry(self, replica: Replica, name: str) -> None:
        """Do what a replica does before its first write: prune, count, add an entry."""
        if int(self.ledger.seen_through or 0) > replica.seen or replica.pending is not None:
            return
        shoot = self.cached(replica, name)
        if shoot is None or shoot.spec.seed_name:
            return

        def find(key: ObjectKey) -> Shoot | None:
            return self.cached(replica, key.name)

        pruned = ledger.prune(self.ledger, find)
        counted = [find(ObjectKey("garden-dev", other)) for other in self.history]
        used = sum(found is not None and found.spec.seed_name == "s" for found in counted)
        more = ledger.outstanding(pruned, find, leave_out=[shoot.uid]).get("shoots", 0)
        if used + more + 1 > self.slots:
            self.ledger = pruned
            return
        entry = LedgerEntry(shoot.uid, shoot.key, shoot.resource_version, NOW, ONE)
        self.ledger = ledger.add_entries(pruned, [entry])
        replica.pending = (name, int(shoot.resource_version))

    def act(self, replica: Replica, number: int, name: str) -> None:
        match number:
            case 0:
                self.add_entry(replica, name)
            case 1:
                self.finish_write(replica)
            case 2:
                replica.seen = self.version
            case 3:
                replica.seen = min(self.version, replica.seen + 1)
            case 4:
                replica.pending = None  # killed between its two writes
                replica.seen = 0
            case 5:
                self.collect()
            case _:
                self.write(name, "", self.live(name).resource_version)  # moved away, or edited

    def finish_write(self, replica: Replica) -> None:
        if replica.pending is None:
            return
        name, version = replica.pending
        replica.pending = None
        if not self.write(name, "s", str(version)) and self.live(name).spec.seed_name != "s":
            self.ledger = ledger.release(self.ledger, self.live(name).uid, str(version))

    def collect(self) -> None:
        for entry in ledger.overdue(self.ledger, NOW + ledger.OVERDUE_AFTER):
            action = ledger.classify_entry(entry, "s", self.live(entry.shoot.name))
            if action == "touch":
                self.write(entry.shoot.name, "", entry.version)
            if action != "keep":
                self.ledger = ledger.release(self.ledger, entry.uid, entry.version)


def test_a_delayed_write_fails_once_its_entry_is_gone() -> None:
    model = Model(replicas=2, shoots=2, slots=1)
    delayed, prompt = model.replicas
    model.add_entry(delayed, "shoot-0")
    model.add_entry(prompt, "shoot-1")
    assert prompt.pending is None
    model.collect()
    prompt.seen = model.version
    model.add_entry(prompt, "shoot-1")
    model.finish_write(prompt)
    model.finish_write(delayed)
    assert model.live("shoot-0").spec.seed_name == ""
    assert model.placed() == 1


def test_a_replica_with_a_stale_cache_waits() -> None:
    model = Model(replicas=2, shoots=2, slots=1)
    quick, slow = model.replicas
    model.add_entry(quick, "shoot-0")
    model.finish_write(quick)
    quick.seen = model.version
    model.add_entry(quick, "shoot-1")
    assert model.ledger.entries == {}
    model.add_entry(slow, "shoot-1")
    assert slow.pending is None
    slow.seen = model.version
    model.add_entry(slow, "shoot-1")
    assert slow.pending is None


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
    model = Model(replicas=2, shoots=3, slots=1)
    for who, what, which in actions:
        model.act(model.replicas[who], what, f"shoot-{which}")
        assert model.placed() <= 1


@settings(max_examples=100, deadline=None)
@given(ACTIONS)
def test_after_any_order_of_events_all_slots_can_be_filled(
    actions: list[tuple[int, int, int]],
) -> None:
    model = Model(replicas=2, shoots=3, slots=2)
    for who, what, which in actions:
        model.act(model.replicas[who], what, f"shoot-{which}")
    for replica in model.replicas:
        model.finish_write(replica)
    last = model.replicas[0]
    for name in [*model.history, *model.history]:
        model.collect()
        last.seen = model.version
        model.add_entry(last, name)
        model.finish_write(last)
    assert model.placed() == 2
