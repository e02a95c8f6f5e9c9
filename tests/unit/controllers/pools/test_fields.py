"""Zones say what their pool is like, pools have records, namespaces with adaptive pools a label."""

from typing import Any

import pytest

from tests.builders import make_object
from tests.machines import SHOOT_NAMESPACE, make_deployment
from tests.unit.controllers.pools.world import KEY, read, record, show, zone
from webhook.api import names
from webhook.api.core import Namespace
from webhook.api.decode import convert
from webhook.api.machines import MachineDeployment
from webhook.controllers.pools.fields import plan_fields, plan_namespace
from webhook.domain import poolencoding
from webhook.runtime.actions import Create, Emit, Patch, Plan

WORKER = make_object(
    "extensions.gardener.cloud/v1alpha1",
    "Worker",
    "one",
    SHOOT_NAMESPACE,
    spec={"pools": [{"name": "pool", "minimum": 1, "maximum": 6, "zones": ["zone-0", "zone-1"]}]},
)


def plan(deployment: dict[str, Any], *others: Any) -> Plan:
    return plan_fields(convert(MachineDeployment, deployment), show(deployment, *others))


def test_what_the_worker_says_is_written_first() -> None:
    (write,) = plan(make_deployment(bounds=None), WORKER).actions
    assert isinstance(write, Patch)
    notes = write.change["metadata"]["annotations"]  # type: ignore[call-overload]
    assert notes[names.POOL_MAXIMUM] == "6"
    assert notes[names.POOL_ZONE_COUNT] == "2"


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
    assert made.key.name == poolencoding.name_of(KEY)


def test_what_is_right_is_left_alone() -> None:
    assert plan(zone(0, 3), record(disagreeing="")).actions == ()


def test_a_zone_that_fits_nowhere_is_named() -> None:
    (event,) = plan(make_deployment(bounds=(5, 3), **_index())).actions
    assert isinstance(event, Emit)
    assert (event.reason, event.type) == ("NotInPool", "Warning")
    assert "spec.poolMinimum" in event.message


def _index() -> dict[str, Any]:
    return {"metadata": {"annotations": {names.POOL_ZONE_INDEX: "0"}}}


@pytest.mark.parametrize(
    ("pools", "labelled", "change"),
    [
        pytest.param([zone(0, 1)], False, "true", id="an adaptive pool came"),
        pytest.param([zone(0, 1)], True, "unchanged", id="it is known"),
        pytest.param([zone(0, 1, adaptive=False)], True, None, id="it is adaptive no more"),
        pytest.param([], True, None, id="the last one went"),
        pytest.param([], False, "unchanged", id="there is none"),
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
