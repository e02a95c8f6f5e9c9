"""Reservations: capacity of a chosen seed counts until the shoot is bound."""

from datetime import UTC, datetime, timedelta

from tests.support.landscape_objects import amounts, make_profile, make_seed, make_shoot
from webhook.kube.meta import ObjectKey
from webhook.scheduling.pipeline import place
from webhook.scheduling.reservations import HELD_FOR, Reservations
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NO_SHOOT = ObjectKey("", "")
ONE = amounts(shoots=1, persistent_volumes=1)


def test_reservations_are_summed_by_seed_and_expire() -> None:
    reservations = Reservations()
    shoots = [make_shoot(name) for name in ("a", "b", "c")]
    snapshot = Snapshot.of(shoots, taken_at=NOW)
    for shoot, seed in zip(shoots, ("s", "s", "t"), strict=True):
        reservations.hold(shoot, seed, snapshot)
    both = {key: 2 * value for key, value in ONE.items()}
    assert reservations.held(snapshot, NO_SHOOT) == {"s": both, "t": ONE}
    assert reservations.held(snapshot, shoots[0].key) == {"s": ONE, "t": ONE}
    reservations.drop(shoots[2].key)
    assert reservations.held(snapshot, NO_SHOOT) == {"s": both}
    later = Snapshot.of(shoots, taken_at=NOW + HELD_FOR)
    assert reservations.held(later, NO_SHOOT) == {}


def test_a_bound_shoot_is_not_counted_twice() -> None:
    reservations = Reservations()
    reservations.hold(make_shoot(), "s", Snapshot.of([], taken_at=NOW))
    bound = Snapshot.of([make_shoot(seed="s")], taken_at=NOW + timedelta(seconds=1))
    assert reservations.held(bound, NO_SHOOT) == {}


def test_reserved_capacity_counts_as_used() -> None:
    seeds = [make_seed("a", shoots=1), make_seed("b", shoots=1)]
    snapshot = Snapshot.of([*seeds, make_profile()])
    assert place(make_shoot(), seeds, snapshot).seed == "a"
    assert place(make_shoot(), seeds, snapshot, held={"a": ONE}).seed == "b"
    assert place(make_shoot(), seeds, snapshot, held={"a": ONE, "b": ONE}).seed is None
