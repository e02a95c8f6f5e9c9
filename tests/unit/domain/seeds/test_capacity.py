from decimal import Decimal
from typing import Any

import pytest

from tests.support.landscape_objects import amounts, make_managed_seed
from webhook.domain.options import CapacityOptions
from webhook.domain.seeds import capacity
from webhook.domain.seeds.capacity import Capacity, CapacityError


@pytest.mark.parametrize(
    ("used", "headroom", "expected"),
    [
        pytest.param(amounts(), 0, None, id="empty"),
        pytest.param(amounts(shoots=9, persistent_volumes=7), 0, None, id="just enough"),
        pytest.param(amounts(shoots=10), 0, "shoots", id="no slot"),
        pytest.param(amounts(persistent_volumes=8), 0, "persistent-volumes", id="two volumes left"),
        pytest.param(amounts(shoots=8), 1, None, id="the last slot before the headroom"),
        pytest.param(amounts(shoots=9), 1, "shoots", id="only headroom left"),
        pytest.param(amounts(gpus=1000), 0, None, id="unlimited resource"),
    ],
)
def test_room_for_a_shoot(used: dict[str, Decimal], headroom: int, expected: str | None) -> None:
    wanted = amounts(shoots=1, persistent_volumes=3, gpus=1)
    limits = amounts(shoots=10, persistent_volumes=10)
    assert capacity.insufficient_resource(used, wanted, limits, Decimal(headroom)) == expected


def test_a_fraction_of_a_shoot_does_not_suffice() -> None:
    limits = {"shoots": Decimal("2.5")}
    assert capacity.insufficient_resource(amounts(shoots=2), amounts(shoots=1), limits) == "shoots"


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        pytest.param({"shoots": Decimal("2.5")}, amounts(shoots=3), id="rounded up"),
        pytest.param(amounts(shoots=2, lbs=1), amounts(shoots=2), id="nothing but shoots"),
        pytest.param(amounts(lbs=1), {}, id="no limit of shoots"),
    ],
)
def test_only_the_limit_of_shoots_counts_for_gardener(
    limits: dict[str, Decimal], kept: dict[str, Decimal]
) -> None:
    assert capacity.only_shoot_limit(limits) == kept


@pytest.mark.parametrize(
    ("used", "limits", "expected"),
    [
        pytest.param(amounts(), amounts(shoots=10), "0", id="empty"),
        pytest.param(amounts(shoots=5), amounts(shoots=10), "0.5", id="half"),
        pytest.param(amounts(shoots=0), amounts(shoots=0), "1", id="of nothing all is used"),
        pytest.param(
            amounts(shoots=25), amounts(), "0.1", id="without limit the default stands in"
        ),
        pytest.param(
            amounts(shoots=5, persistent_volumes=8),
            amounts(shoots=10, persistent_volumes=10),
            "0.65",
            id="mean of what is counted",
        ),
        pytest.param(
            amounts(shoots=5),
            amounts(shoots=10, gpus=7),
            "0.5",
            id="what nobody counts is left out",
        ),
    ],
)
def test_utilisation(used: dict[str, Decimal], limits: dict[str, Decimal], expected: str) -> None:
    assert capacity.utilisation(used, limits, Decimal(250)) == Decimal(expected)


def gardenlet(**resources: Any) -> dict[str, Any]:
    return {"config": {"resources": resources}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"gardenlet": {}}, Capacity({"shoots": "250"}, {"shoots": "250"}), id="default"
        ),
        pytest.param(
            {"seedTemplate": {}}, Capacity({"shoots": "250"}, {"shoots": "250"}), id="seedTemplate"
        ),
        pytest.param(
            {"gardenlet": gardenlet(capacity={"shoots": 100})},
            Capacity({"shoots": "100"}, {"shoots": "100"}),
            id="without reservation",
        ),
        pytest.param(
            {
                "gardenlet": gardenlet(
                    capacity={"shoots": 100, "persistent-volumes": "200"},
                    reserved={"persistent-volumes": 3},
                )
            },
            Capacity(
                {"persistent-volumes": "200", "shoots": "100"},
                {"persistent-volumes": "197", "shoots": "100"},
            ),
            id="the example of document 000",
        ),
    ],
)
def test_capacity_of_a_managed_seed(spec: dict[str, Any], expected: Capacity) -> None:
    assert capacity.configured(make_managed_seed("s", **spec), CapacityOptions()) == expected


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        pytest.param({"capacity": {"shoots": "many"}}, "shoots: ", id="no quantity"),
        pytest.param(
            {"capacity": {"shoots": 1}, "reserved": {"shoots": 2}},
            "more is reserved",
            id="too much",
        ),
        pytest.param(
            {"capacity": {"shoots": 1}, "reserved": {"gpus": 2}},
            "gpus: reserved without",
            id="other",
        ),
    ],
)
def test_contradictory_quantities_raise_with_the_resource(
    resources: dict[str, Any], message: str
) -> None:
    managed_seed = make_managed_seed("s", gardenlet=gardenlet(**resources))
    with pytest.raises(CapacityError, match=message):
        capacity.configured(managed_seed, CapacityOptions())
