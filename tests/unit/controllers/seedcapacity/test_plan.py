"""Which seeds get their capacity from us, and which capacity."""

from typing import Any

import pytest

from tests.support.landscape_objects import make_managed_seed, make_seed, raw_seed, read
from webhook.api.seeds import Seed
from webhook.controllers.seedcapacity import plan
from webhook.controllers.seedcapacity.controller import SEED_CAPACITY
from webhook.domain.options import CapacityOptions, Options, SeedCapacity
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.runtime.actions import NOTHING, Emit, Patch
from webhook.state.snapshot import Snapshot


def gardenlet(**resources: Any) -> Draft:
    return {"config": {"resources": resources}}


def change(seed: Seed, *others: Object, options: Options | None = None) -> Any:
    planned = plan.plan(seed, Snapshot.of([seed, *others], options=options))
    if planned == NOTHING:
        return None
    (action,) = planned.actions
    if isinstance(action, Emit):
        return action.message
    assert isinstance(action, Patch)
    assert (action.key, action.subresource) == (seed.key, "status")
    assert (action.uid, action.version) == (seed.uid, seed.resource_version)
    return action.change["status"]  # type: ignore[call-overload]


NAMED = Options(
    capacity=CapacityOptions(seeds={"seed": SeedCapacity({"shoots": 10}, {"shoots": 2})})
)


@pytest.mark.parametrize(
    ("seed", "others", "options", "expected"),
    [
        pytest.param(make_seed(shoots=None), [], None, None, id="not configured"),
        pytest.param(make_seed(shoots=7), [], None, None, id="written by others"),
        pytest.param(
            make_seed(shoots=None),
            [make_managed_seed("seed", gardenlet={})],
            None,
            {"capacity": {"shoots": "250"}, "allocatable": {"shoots": "250"}},
            id="a gardenlet without resources",
        ),
        pytest.param(
            make_seed(shoots=None),
            [make_managed_seed("seed", seedTemplate={})],
            Options(capacity=CapacityOptions(default=99)),
            {"capacity": {"shoots": "99"}, "allocatable": {"shoots": "99"}},
            id="a seed template takes the setting",
        ),
        pytest.param(
            make_seed(shoots=7),
            [
                make_managed_seed(
                    "seed", gardenlet=gardenlet(capacity={"shoots": 5}, reserved={"shoots": 1})
                )
            ],
            None,
            {"capacity": {"shoots": "5"}, "allocatable": {"shoots": "4"}},
            id="a gardenlet overrides the status",
        ),
        pytest.param(
            make_seed(shoots=5, allocatable={"gpus": 3}),
            [make_managed_seed("seed", gardenlet=gardenlet(capacity={"shoots": 5}))],
            None,
            {
                "capacity": {"shoots": "5", "gpus": None},
                "allocatable": {"shoots": "5", "gpus": None},
            },
            id="a resource is removed",
        ),
        pytest.param(
            make_seed(shoots="0.25k"),
            [make_managed_seed("seed", gardenlet={})],
            None,
            None,
            id="the same quantity in another notation",
        ),
        pytest.param(
            make_seed(shoots=None),
            [],
            NAMED,
            {"capacity": {"shoots": "10"}, "allocatable": {"shoots": "8"}},
            id="the settings name it",
        ),
        pytest.param(
            make_seed(shoots=None),
            [make_managed_seed("seed", gardenlet={})],
            Options(beside_gardener=True),
            None,
            id="beside a Gardener gardenlets write it",
        ),
        pytest.param(
            make_seed(shoots=None),
            [make_managed_seed("seed", gardenlet=gardenlet(capacity={"shoots": "many"}))],
            None,
            "the capacity of the seed cannot be read: shoots: 'many' is not a quantity,"
            " write a number with an optional suffix such as 2, 500m or 5Gi",
            id="invalid: an Event",
        ),
    ],
)
def test_capacity(seed: Seed, others: list[Object], options: Options | None, expected: Any) -> None:
    assert change(seed, *others, options=options) == expected


def test_a_seed_may_name_its_managed_seed() -> None:
    raw = raw_seed(shoots=None)
    raw["metadata"]["annotations"] = {"seedmanagement.gardener.cloud/managed-seed": "garden/other"}
    seed = read(Seed, raw)
    assert change(seed, make_managed_seed("seed", gardenlet={})) is None
    assert change(seed, make_managed_seed("other", gardenlet={})) is not None


def test_a_managed_seed_is_mapped_to_its_seed() -> None:
    (watch,) = SEED_CAPACITY.watches
    found = watch.mapper(None, make_managed_seed("a"), Snapshot.of([]))
    assert [*found] == [ObjectKey("", "a")]
