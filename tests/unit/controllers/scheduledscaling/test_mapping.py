"""Which changes requeue which objects: most status updates of Tortoise requeue none."""

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.support.fake_scaling_cluster import (
    AUTOSCALER,
    ROWS,
    SHOP,
    TORTOISE,
    FakeScalingCluster,
    Raw,
    make_autoscaler,
    make_scaling,
    make_tortoise,
)
from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler, Namespace
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.domain.scaling import raised_values
from webhook.kube.meta import Object, ObjectKey

NOTE = '{"tortoise":"cute","values":{"minReplicas":[3,50]},"made":[]}'


def requeued(model: type[Object], old: Raw | None, new: Raw | None) -> set[str]:
    """Return the controllers that a change enqueues something for, besides the kind's own."""
    world = FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling())
    before, after = (None if raw is None else msgspec.convert(raw, model) for raw in (old, new))
    return {
        row.name.removeprefix("scaling.")
        for row in ROWS
        for watch in row.watches
        if watch.model is model and [*watch.mapper(before, after, world.snapshot())]
    }


def reports(raw: Raw) -> None:
    raw["status"]["recommendations"]["horizontal"]["minReplicas"][0]["value"] += 1


def overrides(raw: Raw) -> None:
    condition = {"type": names.EFFECTIVE_MODE_OVERRIDDEN, "status": "True"}
    raw["status"]["conditions"] = {"tortoiseConditions": [condition]}


def gives_requests(raw: Raw) -> None:
    entry = {"containerName": "app", "resource": {"memory": "5Gi"}}
    raw["status"]["conditions"] = {"containerResourceRequests": [entry]}


def switches_off(raw: Raw) -> None:
    raw["spec"]["updateMode"] = "Off"


def changes_autoscaler(raw: Raw) -> None:
    raw["status"]["targets"] = {"horizontalPodAutoscaler": "other"}


def annotates(raw: Raw) -> None:
    raw["metadata"]["annotations"] = {raised_values.ANNOTATION: NOTE}


def scales(raw: Raw) -> None:
    raw["status"]["currentReplicas"] += 1


def moves_bounds(raw: Raw) -> None:
    raw["spec"]["minReplicas"] = 4


def writes_status(raw: Raw) -> None:
    raw["metadata"]["finalizers"] = [names.SCHEDULED_SCALING_FINALIZER]
    raw["status"] = {"observedGeneration": 1}


def opens(raw: Raw) -> None:
    raw["status"] = {"observedGeneration": 1, "phase": "Active"}


def is_edited(raw: Raw) -> None:
    raw["spec"]["strategy"]["static"]["minimumMinReplicas"] = 60


def is_deleted(raw: Raw) -> None:
    raw["metadata"]["deletionTimestamp"] = "2026-03-01T00:00:00Z"


@pytest.mark.parametrize(
    ("model", "raw", "change", "expected"),
    [
        pytest.param(Tortoise, make_tortoise(), reports, set(), id="a Tortoise recommends"),
        pytest.param(
            Tortoise, make_tortoise(), gives_requests, {"status"}, id="it raises requests"
        ),
        pytest.param(
            Tortoise,
            make_tortoise(),
            overrides,
            {"autoscaler", "status"},
            id="its mode is overridden",
        ),
        pytest.param(
            Tortoise,
            make_tortoise(),
            switches_off,
            {"autoscaler", "status"},
            id="it is switched off",
        ),
        pytest.param(
            Tortoise,
            make_tortoise(),
            changes_autoscaler,
            {"autoscaler", "status"},
            id="it takes another autoscaler",
        ),
        pytest.param(
            Tortoise,
            make_tortoise(),
            annotates,
            {"namespace", "status"},
            id="an annotation is set on it",
        ),
        pytest.param(
            HorizontalPodAutoscaler,
            make_autoscaler(),
            scales,
            {"tortoise"},
            id="an autoscaler scales",
        ),
        pytest.param(
            HorizontalPodAutoscaler,
            make_autoscaler(),
            moves_bounds,
            {"tortoise", "status"},
            id="its bounds move",
        ),
        pytest.param(
            HorizontalPodAutoscaler,
            make_autoscaler(),
            annotates,
            {"tortoise", "status", "namespace"},
            id="an annotation is set on the autoscaler",
        ),
        pytest.param(
            ScheduledScaling,
            make_scaling(),
            writes_status,
            set(),
            id="the status of a schedule is written",
        ),
        pytest.param(
            ScheduledScaling, make_scaling(), opens, {"namespace"}, id="a window is reported open"
        ),
        pytest.param(
            ScheduledScaling,
            make_scaling(),
            is_edited,
            {"tortoise", "autoscaler"},
            id="a schedule is edited",
        ),
        pytest.param(
            ScheduledScaling,
            make_scaling(),
            is_deleted,
            {"tortoise", "autoscaler"},
            id="a schedule is being deleted",
        ),
    ],
)
def test_a_change_requeues_what_depends_on_it(
    model: type[Object], raw: Raw, change: Callable[[Raw], None], expected: set[str]
) -> None:
    changed: Any = copy.deepcopy(raw)
    change(changed)
    assert requeued(model, raw, changed) == expected


@pytest.mark.parametrize(
    ("model", "raw", "expected"),
    [
        pytest.param(Tortoise, make_tortoise(), {"autoscaler", "status"}, id="a Tortoise"),
        pytest.param(
            HorizontalPodAutoscaler,
            make_autoscaler(),
            {"tortoise", "status"},
            id="an autoscaler",
        ),
        pytest.param(
            ScheduledScaling,
            make_scaling(),
            {"tortoise", "autoscaler", "namespace"},
            id="a schedule",
        ),
    ],
)
def test_creation_and_deletion_requeue_what_depends_on_it(
    model: type[Object], raw: Raw, expected: set[str]
) -> None:
    assert requeued(model, None, raw) == requeued(model, raw, None) == expected


def test_a_recreated_tortoise_counts_as_changed() -> None:
    other = copy.deepcopy(make_tortoise())
    other["metadata"]["uid"] = "another"
    assert requeued(Tortoise, make_tortoise(), other) == {"autoscaler", "status"}


def test_both_autoscalers_are_requeued_when_a_tortoise_changes_its_own() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler())
    other = make_tortoise()
    changes_autoscaler(other)
    row = next(each for each in ROWS if each.name == "scaling.autoscaler")
    watch = next(each for each in row.watches if each.model is Tortoise)
    old, new = (msgspec.convert(raw, Tortoise) for raw in (make_tortoise(), other))
    found = {*watch.mapper(old, new, world.snapshot())}
    assert found == {AUTOSCALER, ObjectKey(SHOP, "other")}


def test_the_namespace_of_a_raised_value_is_requeued() -> None:
    world = FakeScalingCluster(make_tortoise(), make_autoscaler())
    row = next(each for each in ROWS if each.model is Namespace)
    watch = next(each for each in row.watches if each.model is Tortoise)
    noted = make_tortoise()
    annotates(noted)
    old, new = (msgspec.convert(raw, Tortoise) for raw in (make_tortoise(), noted))
    assert [*watch.mapper(old, new, world.snapshot())] == [ObjectKey("", TORTOISE.namespace)]
