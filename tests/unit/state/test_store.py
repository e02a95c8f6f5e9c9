"""Stores: objects, indexes, sums and malformed objects change together."""

from decimal import Decimal

import pytest

from webhook.api.decode import MalformedField
from webhook.api.shoots import Shoot, ShootSpec, ShootStatus
from webhook.kube.meta import Metadata, ObjectKey, OwnerReference
from webhook.state.indexes import CHILDREN_BY_OWNER, SHOOTS_BY_SEED, Index
from webhook.state.store import Store, StoreEntry
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
        pytest.param(make_shoot(), (), id="an unscheduled shoot is on no seed"),
        pytest.param(make_shoot(seed="alpha"), ("alpha",), id="spec.seedName counts"),
        pytest.param(make_shoot(reported="beta"), ("beta",), id="status.seedName counts"),
        pytest.param(
            make_shoot(seed="alpha", reported="beta"),
            ("alpha", "beta"),
            id="a migration counts on both",
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


def test_a_changed_object_is_removed_from_its_old_values_and_groups() -> None:
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
    store.set(
        ObjectKey("garden", "bad"), StoreEntry(None, None, (MalformedField("spec", "wrong"),))
    )
    elm = make_shoot("elm", seed="alpha")
    store.replace([elm])
    assert [*store.list()] == [elm]
    assert store.malformed == {}
    assert store.by_index("shoots_by_seed", "alpha") == (elm,)


def test_a_malformed_object_is_listed_as_such_and_not_counted() -> None:
    store = make_store()
    faults = (MalformedField("spec.seedName", "must be a string"),)
    store.put(KEY, make_shoot(seed="alpha"), b"{}")
    store.set(KEY, StoreEntry(None, b'{"bad":1}', faults))
    assert store.get(KEY) is None
    assert store.malformed == {KEY: faults}
    assert store.raw(KEY) == b'{"bad":1}'
    assert store.total("seed_usage", "alpha") == {}
    repaired = make_shoot(seed="alpha")
    store.put(KEY, repaired)
    assert store.malformed == {}
    assert store.get(KEY) is repaired


def test_children_are_found_by_their_owner() -> None:
    store = make_store()
    child = make_shoot(owner="u-1")
    store.put(KEY, child)
    assert store.by_index("children_by_owner", "u-1") == (child,)
    assert store.by_index("children_by_owner", "u-2") == ()


def test_a_change_whose_index_function_raises_changes_nothing() -> None:
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


def test_sums_of_large_and_small_amounts_are_exact() -> None:
    amounts = {"a": Decimal(10) ** 18, "b": Decimal("0.000000001"), "c": Decimal("0.1")}
    total = Total("sum", Shoot, lambda _: ("all",), lambda shoot, _: {"x": amounts[shoot.name]})
    store = Store(Shoot, (), [total])
    for name in amounts:
        store.put(ObjectKey("garden", name), make_shoot(name))
    store.drop(ObjectKey("garden", "a"))
    store.drop(ObjectKey("garden", "c"))
    assert store.total("sum", "all") == {"x": Decimal("0.000000001")}


def test_the_objects_of_a_value_are_the_same_tuple_until_one_of_them_changes() -> None:
    store = make_store()
    oak, elm = make_shoot(seed="alpha"), make_shoot("elm", seed="beta")
    store.put(oak.key, oak)
    store.put(elm.key, elm)
    found = store.by_index("shoots_by_seed", "alpha")
    store.drop(elm.key)
    assert store.by_index("shoots_by_seed", "alpha") is found
    for change in (make_shoot(seed="alpha"), make_shoot(seed="beta"), make_shoot(seed="alpha")):
        store.put(oak.key, change)
        expected = (change,) if change.spec.seed_name == "alpha" else ()
        assert [*map(id, store.by_index("shoots_by_seed", "alpha"))] == [*map(id, expected)]
    store.drop(oak.key)
    assert store.by_index("shoots_by_seed", "alpha") == ()
