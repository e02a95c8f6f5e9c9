"""Snapshots: reads, questions, staleness, and their end at the next turn of the loop."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

import msgspec
import pytest

from webhook.api.meta import Metadata, ObjectKey, OwnerReference
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot, ShootSpec
from webhook.state.indexes import CHILDREN_BY_OWNER, SHOOTS_BY_SEED
from webhook.state.memory import Memory, UnknownKindError
from webhook.state.questions import Get, MayI
from webhook.state.snapshot import Snapshot, StaleSnapshotError
from webhook.state.totals import SEED_USAGE

OAK = ObjectKey("garden", "oak")
SHOOT = Shoot(metadata=Metadata(namespace="garden", name="oak"), spec=ShootSpec(seed_name="alpha"))
SEED = Seed(metadata=Metadata(name="alpha", uid="u-1"))


@dataclass(frozen=True)
class User:
    username: str = "ada"
    uid: str = ""
    groups: tuple[str, ...] = ("staff",)
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)


def test_a_snapshot_of_plain_objects_answers_every_read() -> None:
    snapshot = Snapshot.of([SHOOT, SEED])
    assert snapshot.get(Shoot, OAK) is SHOOT
    assert snapshot.get(Shoot, ObjectKey("garden", "elm")) is None
    assert [*snapshot.list(Seed)] == [SEED]
    assert snapshot.by_index(SHOOTS_BY_SEED, "alpha") == (SHOOT,)
    assert snapshot.has(SHOOTS_BY_SEED, "alpha")
    assert not snapshot.has(SHOOTS_BY_SEED, "beta")
    assert snapshot.total(SEED_USAGE, "alpha")["shoots"] == Decimal(1)
    assert snapshot.raw(Seed, SEED.key) == msgspec.to_builtins(SEED)
    assert snapshot.raw(Seed, OAK) is None
    assert snapshot.malformed(Shoot) == {}
    assert snapshot.serves(Shoot)
    assert not snapshot.is_stale(Shoot)
    assert snapshot.questions == []


def test_children_are_listed_by_kind_or_altogether() -> None:
    owned = Metadata(name="x", namespace="garden", owner_references=(OwnerReference(uid="u-1"),))
    child, other = Shoot(metadata=owned), Seed(metadata=owned)
    snapshot = Snapshot.of([SEED, child, other])
    assert snapshot.children(Shoot, SEED) == (child,)
    assert {*map(type, snapshot.by_index(CHILDREN_BY_OWNER, "u-1"))} == {Shoot, Seed}
    assert snapshot.has(CHILDREN_BY_OWNER, "u-1")
    assert not snapshot.has(CHILDREN_BY_OWNER, "u-2")
    assert snapshot.children(Shoot, Seed()) == ()


def test_a_kind_that_nobody_watches_is_a_mistake_and_not_empty() -> None:
    snapshot = Snapshot(Memory([Seed]), datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(UnknownKindError, match="Shoot is read but not watched"):
        snapshot.get(Shoot, OAK)
    assert snapshot.look_up(Shoot, OAK) is None
    assert snapshot.questions == [Get(Shoot, OAK)]


def test_a_miss_asks_once_and_the_answer_settles_it() -> None:
    first = Snapshot.of([])
    assert first.look_up(Shoot, OAK) is None
    assert first.look_up(Shoot, OAK) is None
    assert first.questions == [Get(Shoot, OAK)]
    found = Snapshot.of([], answers={Get(Shoot, OAK): SHOOT})
    assert found.look_up(Shoot, OAK) is SHOOT
    absent = Snapshot.of([], answers={Get(Shoot, OAK): None})
    assert absent.look_up(Shoot, OAK) is None
    assert found.questions == absent.questions == []


def test_a_hit_asks_nothing_unless_its_kind_is_stale() -> None:
    assert Snapshot.of([SHOOT]).look_up(Shoot, OAK) is SHOOT
    stale = Snapshot.of([SHOOT], stale=[Shoot])
    assert stale.look_up(Shoot, OAK) is None
    assert stale.questions == [Get(Shoot, OAK)]


def test_reading_a_stale_kind_as_a_whole_is_noted() -> None:
    snapshot = Snapshot.of([SHOOT], stale=[Shoot])
    assert snapshot.get(Shoot, OAK) is SHOOT
    assert [*snapshot.list(Seed)] == []
    assert [*snapshot.stale_reads] == []
    assert snapshot.by_index(SHOOTS_BY_SEED, "alpha") == (SHOOT,)
    assert [*snapshot.stale_reads] == [Shoot]


def test_relying_on_a_stale_kind_is_noted_also_if_the_object_is_not_there() -> None:
    snapshot = Snapshot.of([SHOOT], stale=[Shoot])
    assert snapshot.rely_on(Shoot, OAK) is not None
    assert [*snapshot.stale_reads] == [Shoot]
    snapshot = Snapshot.of(stale=[Shoot])
    assert snapshot.rely_on(Shoot, OAK) is None
    assert [*snapshot.stale_reads] == [Shoot]


def test_relying_on_a_kind_that_is_followed_is_not_noted() -> None:
    snapshot = Snapshot.of([SHOOT], stale=[Seed])
    assert snapshot.rely_on(Shoot, OAK) is not None
    assert [*snapshot.stale_reads] == []


def test_leave_is_denied_and_asked_for_until_it_is_answered() -> None:
    user = User(extra={"scopes": ("a", "b")})
    asking = Snapshot.of([])
    assert not asking.may(user, "update", "core.gardener.cloud", "shoots", subresource="binding")
    (question,) = asking.questions
    assert question == MayI(
        "ada",
        "",
        ("staff",),
        (("scopes", ("a", "b")),),
        "update",
        "core.gardener.cloud",
        "shoots",
        "binding",
        "",
        "",
    )
    for answer in (True, False):
        told = Snapshot.of([], answers={question: answer})
        said = told.may(user, "update", "core.gardener.cloud", "shoots", subresource="binding")
        assert said is answer
        assert told.questions == []


READS: list[Callable[[Snapshot], object]] = [
    lambda snapshot: snapshot.get(Shoot, OAK),
    lambda snapshot: snapshot.list(Shoot),
    lambda snapshot: snapshot.by_index(SHOOTS_BY_SEED, "alpha"),
    lambda snapshot: snapshot.total(SEED_USAGE, "alpha"),
    lambda snapshot: snapshot.raw(Shoot, OAK),
    lambda snapshot: snapshot.malformed(Shoot),
    lambda snapshot: snapshot.look_up(Shoot, OAK),
    lambda snapshot: snapshot.children(Shoot, SEED),
    lambda snapshot: snapshot.may(User(), "get", "", "secrets"),
]


@pytest.mark.parametrize("read", READS)
async def test_a_snapshot_refuses_to_outlive_its_turn_of_the_loop(
    read: Callable[[Snapshot], object],
) -> None:
    snapshot = Snapshot.of([SHOOT], answers={Get(Shoot, OAK): SHOOT})
    asyncio.get_running_loop().call_soon(snapshot.expire)
    read(snapshot)
    await asyncio.sleep(0)
    with pytest.raises(StaleSnapshotError):
        read(snapshot)


async def test_a_snapshot_refuses_to_serve_another_task() -> None:
    snapshot = Snapshot.of([SHOOT])
    asyncio.get_running_loop().call_soon(snapshot.expire)

    async def read() -> Shoot | None:
        return snapshot.get(Shoot, OAK)

    with pytest.raises(StaleSnapshotError):
        await asyncio.create_task(read())


def test_a_raw_object_is_the_readers_own_copy() -> None:
    snapshot = Snapshot.of([SHOOT])
    draft = snapshot.raw(Shoot, OAK)
    assert draft is not None
    draft["spec"]["seedName"] = "elsewhere"
    assert snapshot.raw(Shoot, OAK) == msgspec.to_builtins(SHOOT)
