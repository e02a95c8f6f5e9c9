"""Fields of zones, records of pools, and labels of namespaces with adaptive pools."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders import make_object
from tests.support.machine_objects import SHOOT_NAMESPACE, make_deployment
from tests.support.pool_objects import KEY, OPTIONS, read, record, show, zone
from webhook.api import names
from webhook.api.core import Namespace
from webhook.api.decode import convert
from webhook.api.machines import MachineDeployment
from webhook.controllers.pools.fields import plan_fields, plan_namespace
from webhook.domain.options import Options
from webhook.domain.pools import record_encoding
from webhook.runtime.actions import Create, Emit, Patch, Plan

WORKER = make_object(
    "extensions.gardener.cloud/v1alpha1",
    "Worker",
    "one",
    SHOOT_NAMESPACE,
    spec={"pools": [{"name": "pool", "minimum": 1, "maximum": 6, "zones": ["zone-0", "zone-1"]}]},
)


BESIDE = replace(OPTIONS, beside_gardener=True)


def plan(deployment: dict[str, Any], *others: Any, options: Options = OPTIONS) -> Plan:
    snapshot = show(deployment, *others, options=options)
    return plan_fields(convert(MachineDeployment, deployment), snapshot)


def make_cluster(**shoot: Any) -> dict[str, Any]:
    api = "extensions.gardener.cloud/v1alpha1"
    return make_object(api, "Cluster", SHOOT_NAMESPACE, spec={"shoot": shoot})


def annotated(**annotations: str) -> dict[str, Any]:
    found = {f"{names.PREFIX}{name.replace('_', '-')}": text for name, text in annotations.items()}
    return {"metadata": {"annotations": found}}


def test_the_numbers_of_the_worker_are_written_first() -> None:
    (write,) = plan(make_deployment(bounds=None), WORKER).actions
    assert isinstance(write, Patch)
    annotations = write.change["metadata"]["annotations"]  # type: ignore[call-overload]
    assert annotations[names.POOL_MAXIMUM] == "6"
    assert annotations[names.POOL_ZONE_COUNT] == "2"


def test_an_adaptive_pool_gets_its_full_numbers_and_a_record() -> None:
    bare = make_deployment(
        metadata={"annotations": {names.SIZING_STRATEGY: "Adaptive", names.POOL_ZONE_INDEX: "0"}}
    )
    strategy, made = plan(bare).actions
    assert isinstance(strategy, Patch)
    assert strategy.change == {
        "spec": {
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            }
        }
    }
    assert isinstance(made, Create)
    assert made.key.name == record_encoding.name_of(KEY)


STRATEGY = {"kubernetes": {"clusterAutoscaler": {"sizingStrategy": "Adaptive"}}}


@pytest.mark.parametrize(
    ("fields", "around", "is_ours"),
    [
        pytest.param({}, [], False, id="a name with a place for its zone"),
        pytest.param({}, [WORKER], False, id="a Worker with numbers"),
        pytest.param({}, [WORKER, make_cluster(spec={})], False, id="a Shoot without a strategy"),
        pytest.param(
            {},
            [WORKER, make_cluster(**annotated(sizing_strategy="Greedy"))],
            False,
            id="a Shoot with an unknown strategy",
        ),
        pytest.param(
            {},
            [WORKER, make_cluster(**annotated(sizing_strategy="Adaptive"))],
            True,
            id="a Shoot with the twin annotation",
        ),
        pytest.param({}, [WORKER, make_cluster(spec=STRATEGY)], True, id="a Shoot with the field"),
        pytest.param(annotated(sizing_strategy="Adaptive"), [], True, id="its own annotation"),
        pytest.param({"spec": {"sizingStrategy": "Adaptive"}}, [], True, id="its own field"),
        pytest.param(annotated(pool_maximum="4"), [], True, id="a maximum of its own"),
        pytest.param({"spec": {"poolMaximum": 4}}, [], True, id="a maximum in its own field"),
        pytest.param(annotated(zone_index="0"), [], False, id="a place and nothing else"),
    ],
)
def test_a_pool_beside_a_gardener_is_ignored_until_it_is_requested(
    fields: dict[str, Any], around: list[dict[str, Any]], is_ours: bool
) -> None:
    deployment = make_deployment(bounds=None, **fields)
    assert bool(plan(deployment, *around, options=BESIDE).actions) == is_ours
    assert plan(deployment, *around).actions  # where no Gardener is, pools are ours


def test_correct_fields_are_not_written() -> None:
    assert plan(zone(0, 3), record(disagreeing="")).actions == ()


def test_a_zone_outside_its_pool_gets_an_event() -> None:
    (event,) = plan(make_deployment(bounds=(5, 3), **_index())).actions
    assert isinstance(event, Emit)
    assert (event.reason, event.type) == ("NotInPool", "Warning")
    assert "spec.poolMinimum" in event.message


def _index() -> dict[str, Any]:
    return {"metadata": {"annotations": {names.POOL_ZONE_INDEX: "0"}}}


@pytest.mark.parametrize(
    ("pools", "labelled", "change"),
    [
        pytest.param([zone(0, 1)], False, "true", id="a new adaptive pool"),
        pytest.param([zone(0, 1)], True, "unchanged", id="labelled already"),
        pytest.param([zone(0, 1, adaptive=False)], True, None, id="no longer adaptive"),
        pytest.param([], True, None, id="no pool left"),
        pytest.param([], False, "unchanged", id="no pool"),
    ],
)
def test_namespaces_with_adaptive_pools_are_labelled(
    pools: list[dict[str, Any]], labelled: bool, change: str | None
) -> None:
    labels = {names.ADAPTIVE_NAMESPACE: "true"} if labelled else {}
    raw = make_object("v1", "Namespace", SHOOT_NAMESPACE, metadata={"labels": labels})
    found = read(raw)
    assert isinstance(found, Namespace)
    actions = plan_namespace(found, show(raw, *pools)).actions
    if change == "unchanged":
        assert actions == ()
        return
    (write,) = actions
    assert isinstance(write, Patch)
    assert write.change == {"metadata": {"labels": {names.ADAPTIVE_NAMESPACE: change}}}
