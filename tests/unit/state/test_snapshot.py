"""Snapshots: reads, live reads, staleness and expiry."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

import msgspec
import pytest

from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot, ShootSpec
from webhook.kube.meta import Metadata, ObjectKey, OwnerReference
from webhook.state.cluster_state import ClusterState, UnwatchedKindError
from webhook.state.indexes import CHILDREN_BY_OWNER, SHOOTS_BY_SEED
from webhook.state.live_reads import AccessReview, LiveGet
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


def test_a_snapshot_of_plain_objects_supports_every_read() -> None:
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
    assert snapshot.live_reads == []


def test_children_are_listed_by_kind_or_for_all_kinds() -> None:
    owned = Metadata(name="x", namespace="garden", owner_references=(OwnerReference(uid="u-1"),))
    child, other = Shoot(metadata=owned), Seed(metadata=owned)
    snapshot = Snapshot.of([SEED, child, other])
    assert snapshot.children(Shoot, SEED) == (child,)
    assert {*map(type, snapshot.by_index(CHILDREN_BY_OWNER, "u-1"))} == {Shoot, Seed}
    assert snapshot.has(CHILDREN_BY_OWNER, "u-1")
    assert not snapshot.has(CHILDREN_BY_OWNER, "u-2")
    assert snapshot.children(Shoot, Seed()) == ()


def test_reading_a_kind_that_is_not_watched_raises() -> None:
    snapshot = Snapshot(ClusterState([Seed]), datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(UnwatchedKindError, match="Shoot is read but not watched"):
        snapshot.get(Shoot, OAK)
    assert snapshot.look_up(Shoot, OAK) is None
    assert snapshot.live_reads == [LiveGet(Shoot, OAK)]


def test_a_miss_requests_one_live_read_and_its_result_is_final() -> None:
    first = Snapshot.of([])
    assert first.look_up(Shoot, OAK) is None
    assert first.look_up(Shoot, OAK) is None
    assert first.live_reads == [LiveGet(Shoot, OAK)]
    found = Snapshot.of([], live_results={LiveGet(Shoot, OAK): SHOOT})
    assert found.look_up(Shoot, OAK) is SHOOT
    absent = Snapshot.of([], live_results={LiveGet(Shoot, OAK): None})
    assert absent.look_up(Shoot, OAK) is None
    assert found.live_reads == absent.live_reads == []


def test_a_hit_requests_no_live_read_unless_its_kind_is_stale() -> None:
    assert Snapshot.of([SHOOT]).look_up(Shoot, OAK) is SHOOT
    stale = Snapshot.of([SHOOT], stale=[Shoot])
    assert stale.look_up(Shoot, OAK) is None
    assert stale.live_reads == [LiveGet(Shoot, OAK)]


def test_listing_a_stale_kind_is_recorded() -> None:
    snapshot = Snapshot.of([SHOOT], stale=[Shoot])
    assert snapshot.get(Shoot, OAK) is SHOOT
    assert [*snapshot.list(Seed)] == []
    assert [*snapshot.stale_reads] == []
    assert snapshot.by_index(SHOOTS_BY_SEED, "alpha") == (SHOOT,)
    assert [*snapshot.stale_reads] == [Shoot]


def test_counting_reads_of_a_stale_kind_are_recorded_even_if_the_object_is_absent() -> None:
    snapshot = Snapshot.of([SHOOT], stale=[Shoot])
    assert snapshot.get_counting_stale(Shoot, OAK) is not None
    assert [*snapshot.stale_reads] == [Shoot]
    snapshot = Snapshot.of(stale=[Shoot])
    assert snapshot.get_counting_stale(Shoot, OAK) is None
    assert [*snapshot.stale_reads] == [Shoot]


def test_counting_reads_of_a_kind_that_is_not_stale_are_not_recorded() -> None:
    snapshot = Snapshot.of([SHOOT], stale=[Seed])
    assert snapshot.get_counting_stale(Shoot, OAK) is not None
    assert [*snapshot.stale_reads] == []


def test_access_is_denied_with_a_live_read_until_its_result_is_known() -> None:
    user = User(extra={"scopes": ("a", "b")})
    first = Snapshot.of([])
    assert not first.is_allowed(
        user, "update", "core.gardener.cloud", "shoots", subresource="binding"
    )
    (review,) = first.live_reads
    assert review == AccessReview(
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
    for result in (True, False):
        second = Snapshot.of([], live_results={review: result})
        allowed = second.is_allowed(
            user, "update", "core.gardener.cloud", "shoots", subresource="binding"
        )
        assert allowed is result
        assert second.live_reads == []


READS: list[Callable[[Snapshot], object]] = [
    lambda snapshot: snapshot.get(Shoot, OAK),
    lambda snapshot: snapshot.list(Shoot),
    lambda snapshot: snapshot.by_index(SHOOTS_BY_SEED, "alpha"),
    lambda snapshot: snapshot.total(SEED_USAGE, "alpha"),
    lambda snapshot: snapshot.raw(Shoot, OAK),
    lambda snapshot: snapshot.malformed(Shoot),
    lambda snapshot: snapshot.look_up(Shoot, OAK),
    lambda snapshot: snapshot.children(Shoot, SEED),
    lambda snapshot: snapshot.is_allowed(User(), "get", "", "secrets"),
]


@pytest.mark.parametrize("read", READS)
async def test_every_read_raises_after_the_turn_of_the_event_loop(
    read: Callable[[Snapshot], object],
) -> None:
    snapshot = Snapshot.of([SHOOT], live_results={LiveGet(Shoot, OAK): SHOOT})
    asyncio.get_running_loop().call_soon(snapshot.expire)
    read(snapshot)
    await asyncio.sleep(0)
    with pytest.raises(StaleSnapshotError):
        read(snapshot)


async def test_a_read_from_another_task_raises() -> None:
    snapshot = Snapshot.of([SHOOT])
    asyncio.get_running_loop().call_soon(snapshot.expire)

    async def read() -> Shoot | None:
        return snapshot.get(Shoot, OAK)

    with pytest.raises(StaleSnapshotError):
        await asyncio.create_task(read())


def test_a_raw_object_is_a_copy() -> None:
    snapshot = Snapshot.of([SHOOT])
    draft = snapshot.raw(Shoot, OAK)
    assert draft is not None
    draft["spec"]["seedName"] = "elsewhere"
    assert snapshot.raw(Shoot, OAK) == msgspec.to_builtins(SHOOT)
