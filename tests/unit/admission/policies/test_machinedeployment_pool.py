"""machinedeployment.pool: every MachineDeployment has valid bounds of its whole pool."""

from typing import Any

import pytest

from tests.support.admission import mutate, validate
from tests.support.builders import make_object
from tests.support.machine_objects import SHOOT_NAMESPACE, make_deployment
from webhook.api import names
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.domain.options import Options

POLICY = "machinedeployment.pool"
WORKERS = "extensions.gardener.cloud/v1alpha1"


def worker(**pool: Any) -> dict[str, Any]:
    described = {
        "name": "pool",
        "minimum": 3,
        "maximum": 6,
        "maxSurge": 2,
        "maxUnavailable": "10%",
        "zones": ["zone-1", "zone-0", "zone-2"],
        **pool,
    }
    return make_object(WORKERS, "Worker", "one", SHOOT_NAMESPACE, spec={"pools": [described]})


def cluster(strategy: str) -> dict[str, Any]:
    shoot = {"spec": {"kubernetes": {"clusterAutoscaler": {"sizingStrategy": strategy}}}}
    return make_object(WORKERS, "Cluster", SHOOT_NAMESPACE, spec={"shoot": shoot})


def test_fields_of_the_pool_are_set_as_annotations() -> None:
    result, _ = mutate(POLICY, make_deployment(bounds=None), around=[worker(), cluster("Adaptive")])
    assert result["metadata"]["annotations"] == {
        names.POOL_MINIMUM: "3",
        names.POOL_MAXIMUM: "6",
        names.POOL_MAX_SURGE: "2",
        names.POOL_MAX_UNAVAILABLE: "10%",
        names.POOL_ZONE_COUNT: "3",
        names.POOL_ZONE_INDEX: "1",
        names.SIZING_STRATEGY: "Adaptive",
    }


def test_fields_are_used_if_the_served_kind_has_them() -> None:
    ours = crd(kind_of_model(MachineDeployment), beside_gardener=False)
    old = make_deployment(bounds=(1, 2))
    result, _ = mutate(POLICY, old, around=[worker(), ours])
    spec = result["spec"]
    assert (spec["poolMinimum"], spec["poolMaximum"], spec["zoneIndex"]) == (3, 6, 1)
    assert result["metadata"]["annotations"] == {}


def test_without_a_worker_the_zone_index_comes_from_the_name() -> None:
    result, _ = mutate(POLICY, make_deployment(zone=9))
    assert result["metadata"]["annotations"][names.POOL_ZONE_INDEX] == "9"


@pytest.mark.parametrize("strategy", ["", "Adaptive"])
def test_beside_a_gardener_only_pools_that_opt_in_are_defaulted(strategy: str) -> None:
    around = [worker(), cluster(strategy)] if strategy else [worker()]
    new = make_deployment(bounds=None)
    result, _ = mutate(POLICY, new, around=around, options=Options(beside_gardener=True))
    assert bool(result["metadata"]["annotations"]) == bool(strategy)


def test_correct_fields_are_not_patched() -> None:
    once, _ = mutate(POLICY, make_deployment(), around=[worker()])
    twice, _ = mutate(POLICY, once, around=[worker()])
    assert twice == once


@pytest.mark.parametrize(
    ("notes", "refused", "warned"),
    [
        pytest.param((3, 4, "3"), set(), set(), id="as it should be"),
        pytest.param((4, 4, "4"), set(), set(), id="all equal"),
        pytest.param(
            (5, 4, "3"),
            {("spec.poolMinimum", "Invalid")},
            {"spec.poolMinimum"},
            id="minimum above maximum",
        ),
        pytest.param(
            (1, 2, "3"),
            {("spec.poolMaximum", "Invalid")},
            set(),
            id="fewer nodes than zones",
        ),
        pytest.param((1, 2, "many"), set(), set(), id="a count that is none is left to discovery"),
    ],
)
def test_bounds_within_one_object(
    notes: tuple[int, int, str], refused: set[tuple[str, str]], warned: set[str]
) -> None:
    metadata = {"annotations": {names.POOL_ZONE_COUNT: notes[2]}}
    new = make_deployment(bounds=notes[:2], metadata=metadata)
    assert validate(POLICY, new).refused == refused
    updated = validate(POLICY, new, make_deployment())
    is_bad_order = notes[0] > notes[1]
    assert updated.fields == (warned if is_bad_order else set())
    is_short = notes[2] == "3" and notes[1] < 3
    assert updated.warned == ({"spec.poolMaximum"} if is_short else set())


def test_a_deployment_without_bounds_is_allowed() -> None:
    assert validate(POLICY, make_deployment(bounds=None)).refused == set()
