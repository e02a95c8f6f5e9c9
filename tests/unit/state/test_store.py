"""Stores: keys, indexes, sums and malformed objects in step."""

from decimal import Decimal

import pytest

from webhook.api.decode import Fault
from webhook.api.meta import Metadata, ObjectKey, OwnerReference
from webhook.api.shoots import Shoot, ShootSpec, ShootStatus
from webhook.state.indexes import CHILDREN_BY_OWNER, SHOOTS_BY_SEED, Index
from webhook.state.store import Entry, Store
from webhook.state.totals import SEED_USAGE, Total

KEY = ObjectKey("garden", "oak")


def make_shoot(name: str = "oak", seed: str = "", reported: str = "", owner: str = "") -> Shoot:
    owners = (OwnerReference(uid=owner),) if owner else ()
    return Shoot(
        metadata=Metadata(namespace="garden", name=name, owner_references=owners),
        spec=ShootSpec(seed_name=seed),
        status=ShootStatus(seed_name=reported),
    )


def make_store() -> Store[Shoot]:
    return Store(Shoot, [SHOOTS_BY_SEED, CHILDREN_BY_OWNER], [SEED_USAGE])


@pytest.mark.parametrize(
    ("shoot", "seeds"),
    [
        pytest.param(make_shoot(), (), id="an unplaced shoot is on no seed"),
        pytest.param(make_shoot(seed="alpha"), ("alpha",), id="a wish counts"),
        pytest.param(make_shoot(reported="beta"), ("beta",), id="a report counts"),
        pytest.param(
            make_shoot(seed="alpha", reported="beta"), ("alpha", "beta"), id="a move counts on both"
        ),
        pytest.param(
            make_shoot(seed="alpha", reported="alpha"), ("alpha",), id="the same seed counts once"
        ),
    ],
)
def test_shoots_are_found_and_counted_on_their_seeds(shoot: Shoot, seeds: tuple[str, ...]) -> None:
    store = make_store()
    store.put(shoot.key, shoot)
    for seed in ("alpha", "beta"):
        assert store.by_index("shoots_by_seed", seed) == ((shoot,) if seed in seeds else ())
        one = {"shoots": Decimal(1), "persistent-volumes": Decimal(1)}
        usage = one if seed in seeds else {}
        assert store.total("seed_usage", seed) == usage


def test_a_changed_object_leaves_its_old_values_and_groups() -> None:
    store = make_store()
    first, second = make_shoot(seed="alpha"), make_shoot(seed="beta")
    assert store.put(KEY, first) is None
    assert store.put(KEY, second) is first
    assert store.by_index("shoots_by_seed", "alpha") == ()
    assert store.total("seed_usage", "alpha") == {}
    assert store.by_index("shoots_by_seed", "beta") == (second,)
    assert store.drop(KEY) is second
    assert store.by_index("shoots_by_seed", "beta") == ()
    assert store.total("seed_usage", "beta") == {}
    assert store.drop(KEY) is None


def test_every_change_raises_the_generation() -> None:
    store = make_store()
    store.put(KEY, make_shoot())
    store.drop(KEY)
    assert store.generation == 2


def test_a_replaced_store_holds_exactly_the_new_objects() -> None:
    store = make_store()
    store.put(KEY, make_shoot(seed="alpha"))
    store.set(ObjectKey("garden", "bad"), Entry(None, None, (Fault("spec", "wrong"),)))
    elm = make_shoot("elm", seed="alpha")
    store.replace([elm])
    assert [*store.list()] == [elm]
    assert store.malformed == {}
    assert store.by_index("shoots_by_seed", "alpha") == (elm,)


def test_a_malformed_object_is_named_and_counted_nowhere() -> None:
    store = make_store()
    faults = (Fault("spec.seedName", "must be a string"),)
    store.put(KEY, make_shoot(seed="alpha"), b"{}")
    store.set(KEY, Entry(None, b'{"bad":1}', faults))
    assert store.get(KEY) is None
    assert store.malformed == {KEY: faults}
    assert store.raw(KEY) == b'{"bad":1}'
    assert store.total("seed_usage", "alpha") == {}
    mended = make_shoot(seed="alpha")
    store.put(KEY, mended)
    assert store.malformed == {}
    assert store.get(KEY) is mended


def test_children_are_found_by_their_owner() -> None:
    store = make_store()
    child = make_shoot(owner="u-1")
    store.put(KEY, child)
    assert store.by_index("children_by_owner", "u-1") == (child,)
    assert store.by_index("children_by_owner", "u-2") == ()


def test_a_change_that_a_table_cannot_read_changes_nothing() -> None:
    def refuse_elms(shoot: Shoot) -> tuple[str, ...]:
        if shoot.name == "elm":
            raise ValueError("no elms")
        return (shoot.name,)

    store = Store(
        Shoot,
        [SHOOTS_BY_SEED, Index("by_name", Shoot, refuse_elms)],
        [Total("n", Shoot, refuse_elms, lambda _shoot, _reader: {"n": Decimal(1)})],
    )
    oak = make_shoot(seed="alpha")
    store.put(KEY, oak)
    with pytest.raises(ValueError, match="no elms"):
        store.put(KEY, make_shoot("elm", seed="beta"))
    assert store.get(KEY) is oak
    assert store.by_index("shoots_by_seed", "alpha") == (oak,)
    assert store.by_index("shoots_by_seed", "beta") == ()
    assert store.total("n", "oak") == {"n": Decimal(1)}


def test_sums_stay_exact_however_large_and_small_their_parts() -> None:
    amounts = {"a": Decimal(10) ** 18, "b": Decimal("0.000000001"), "c": Decimal("0.1")}
    total = Total("sum", Shoot, lambda _: ("all",), lambda shoot, _: {"x": amounts[shoot.name]})
    store = Store(Shoot, (), [total])
    for name in amounts:
        store.put(ObjectKey("garden", name), make_shoot(name))
    store.drop(ObjectKey("garden", "a"))
    store.drop(ObjectKey("garden", "c"))
    assert store.total("sum", "all") == {"x": Decimal("0.000000001")}
