"""Raised values: recorded with the raise, kept when a client drops the record, then restored."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.domain.scaling import raised_values
from webhook.domain.scaling.floors import NO_FLOORS, Floors, RaisedValue
from webhook.domain.scaling.raised_values import (
    ANNOTATION,
    apply_floor_to_autoscaler,
    apply_floors_to_tortoise,
)


def _autoscaler(minimum: int | None = 3, maximum: int = 20) -> dict[str, Any]:
    spec: dict[str, Any] = {"maxReplicas": maximum}
    if minimum is not None:
        spec["minReplicas"] = minimum
    return {"metadata": {"name": "tortoise-hpa-cute"}, "spec": spec}


def _tortoise(*entries: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"updateMode": "Auto"}
    if entries:
        spec["resourcePolicy"] = list(entries)
    return {"metadata": {"name": "cute"}, "spec": spec}


def test_a_floor_raises_both_bounds_and_records_them() -> None:
    raised = _autoscaler()
    apply_floor_to_autoscaler(raised, None, "cute", 50)
    assert raised["spec"] == {"minReplicas": 50, "maxReplicas": 50}
    found = raised_values.read(raised)
    assert found is not None
    assert found.tortoise == "cute"
    assert found.values == {"minReplicas": RaisedValue(3, 50), "maxReplicas": RaisedValue(20, 50)}


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(_autoscaler(), id="both bounds raised"),
        pytest.param(_autoscaler(maximum=100), id="only the minimum raised"),
        pytest.param(_autoscaler(minimum=None), id="a minimum that was absent"),
        pytest.param(_autoscaler(minimum=60, maximum=90), id="nothing raised"),
    ],
)
def test_without_a_floor_an_autoscaler_is_restored(before: dict[str, Any]) -> None:
    draft = copy.deepcopy(before)
    apply_floor_to_autoscaler(draft, None, "cute", 50)
    apply_floor_to_autoscaler(draft, None, "cute", None)
    assert draft == before


def test_the_record_survives_a_client_that_replaces_the_object() -> None:
    raised = _autoscaler()
    apply_floor_to_autoscaler(raised, None, "cute", 50)
    replaced = _autoscaler(minimum=50, maximum=50)
    apply_floor_to_autoscaler(replaced, raised, "cute", 50)
    apply_floor_to_autoscaler(replaced, None, "cute", None)
    assert replaced == _autoscaler()


FLOOR = Floors(None, {"app": {"memory": "5Gi"}})


@pytest.mark.parametrize(
    ("before", "policy"),
    [
        pytest.param(
            _tortoise(),
            [{"containerName": "app", "minAllocatedResources": {"memory": "5Gi"}}],
            id="an entry is made",
        ),
        pytest.param(
            _tortoise({"containerName": "app", "minAllocatedResources": {"cpu": "1"}}),
            [{"containerName": "app", "minAllocatedResources": {"cpu": "1", "memory": "5Gi"}}],
            id="an entry is completed",
        ),
        pytest.param(
            _tortoise(
                {
                    "containerName": "app",
                    "minAllocatedResources": {"memory": "1Gi"},
                    "maxAllocatedResources": {"memory": "2Gi"},
                }
            ),
            [
                {
                    "containerName": "app",
                    "minAllocatedResources": {"memory": "5Gi"},
                    "maxAllocatedResources": {"memory": "5Gi"},
                }
            ],
            id="a maximum that is lower rises too",
        ),
        pytest.param(
            _tortoise({"containerName": "app", "maxAllocatedResources": {"memory": "9Gi"}}),
            [
                {
                    "containerName": "app",
                    "maxAllocatedResources": {"memory": "9Gi"},
                    "minAllocatedResources": {"memory": "5Gi"},
                }
            ],
            id="a maximum that is higher stays",
        ),
        pytest.param(
            _tortoise({"containerName": "app"}),
            [{"containerName": "app", "minAllocatedResources": {"memory": "5Gi"}}],
            id="a person's empty entry is not ours to remove",
        ),
    ],
)
def test_resource_floors_raise_the_policy_and_are_removed_again(
    before: dict[str, Any], policy: list[dict[str, Any]]
) -> None:
    draft = copy.deepcopy(before)
    apply_floors_to_tortoise(draft, None, FLOOR)
    assert draft["spec"]["resourcePolicy"] == policy
    apply_floors_to_tortoise(draft, None, NO_FLOORS)
    assert draft == before


def test_an_edit_made_under_the_floor_is_kept() -> None:
    draft = _tortoise()
    apply_floors_to_tortoise(draft, None, FLOOR)
    draft["spec"]["resourcePolicy"][0]["minAllocatedResources"]["memory"] = "2Gi"
    apply_floors_to_tortoise(draft, None, FLOOR)
    assert draft["spec"]["resourcePolicy"][0]["minAllocatedResources"] == {"memory": "5Gi"}
    apply_floors_to_tortoise(draft, None, NO_FLOORS)
    assert draft["spec"]["resourcePolicy"] == [
        {"containerName": "app", "minAllocatedResources": {"memory": "2Gi"}}
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"values": 1}'])
def test_a_malformed_annotation_counts_as_absent(text: str) -> None:
    draft = {"metadata": {"name": "x", "annotations": {ANNOTATION: text}}, "spec": {}}
    assert raised_values.read(draft) is None


def test_a_malformed_quantity_is_not_changed() -> None:
    draft = _tortoise({"containerName": "app", "minAllocatedResources": {"memory": "lots"}})
    before = copy.deepcopy(draft)
    apply_floors_to_tortoise(draft, None, FLOOR)
    assert draft == before


AMOUNTS = st.sampled_from(["1Gi", "2Gi", "3G", "512Mi"])
FLOORS = st.dictionaries(
    st.sampled_from(["app", "side"]),
    st.dictionaries(st.sampled_from(["cpu", "memory"]), AMOUNTS, min_size=1),
).map(lambda resources: Floors(None, resources))
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {"containerName": st.sampled_from(["app", "side"])},
        optional={
            "minAllocatedResources": st.dictionaries(
                st.sampled_from(["cpu", "memory"]), AMOUNTS, min_size=1
            ),
            "maxAllocatedResources": st.dictionaries(
                st.sampled_from(["cpu", "memory"]), AMOUNTS, min_size=1
            ),
        },
    ),
    max_size=2,
    unique_by=lambda entry: str(entry["containerName"]),
)


@given(ENTRIES, st.lists(FLOORS, max_size=6))
def test_a_tortoise_is_restored_after_any_floors(
    entries: list[dict[str, Any]], sequence: list[Floors]
) -> None:
    before = _tortoise(*copy.deepcopy(entries))
    draft = copy.deepcopy(before)
    for floors in sequence:
        old = copy.deepcopy(draft)
        apply_floors_to_tortoise(draft, old, floors)
    apply_floors_to_tortoise(draft, None, NO_FLOORS)
    assert draft == before
