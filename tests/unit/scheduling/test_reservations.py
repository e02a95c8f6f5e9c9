"""What a scheduler was told to choose counts until it binds."""

from datetime import UTC, datetime, timedelta

from tests.landscapes import amounts, make_profile, make_seed, make_shoot
from webhook.api.meta import ObjectKey
from webhook.scheduling.pipeline import place
from webhook.scheduling.reservations import HELD_FOR, Reservations
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOBODY = ObjectKey("", "")
ONE = amounts(shoots=1, persistent_volumes=1)


def test_reservations_are_summed_by_seed_and_expire() -> None:
    reservations = Reservations()
    shoots = [make_shoot(name) for name in ("a", "b", "c")]
    snapshot = Snapshot.of(shoots, taken_at=NOW)
    for shoot, seed in zip(shoots, ("s", "s", "t"), strict=True):
        reservations.hold(shoot, seed, snapshot)
    both = {key: 2 * value for key, value in ONE.items()}
    assert reservations.held(snapshot, NOBODY) == {"s": both, "t": ONE}
    assert reservations.held(snapshot, shoots[0].key) == {"s": ONE, "t": ONE}
    reservations.drop(shoots[2].key)
    assert reservations.held(snapshot, NOBODY) == {"s": both}
    later = Snapshot.of(shoots, taken_at=NOW + HELD_FOR)
    assert reservations.held(later, NOBODY) == {}


def test_a_shoot_that_has_arrived_is_not_counted_twice() -> None:
    reservations = Reservations()
    reservations.hold(make_shoot(), "s", Snapshot.of([], taken_at=NOW))
    arrived = Snapshot.of([make_shoot(seed="s")], taken_at=NOW + timedelta(seconds=1))
    assert reservations.held(arrived, NOBODY) == {}


def test_a_reserved_place_is_taken() -> None:
    seeds = [make_seed("a", shoots=1), make_seed("b", shoots=1)]
    snapshot = Snapshot.of([*seeds, make_profile()])
    assert place(make_shoot(), seeds, snapshot).seed == "a"
    assert place(make_shoot(), seeds, snapshot, held={"a": ONE}).seed == "b"
    assert place(make_shoot(), seeds, snapshot, held={"a": ONE, "b": ONE}).seed is None
