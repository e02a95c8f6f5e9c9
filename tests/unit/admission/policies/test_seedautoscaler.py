"""seedautoscaler.defaults and seedautoscaler.rules: defaults and validation of SeedAutoscalers."""

from typing import Any

import pytest

from tests.support.admission import mutate, validate
from tests.support.builders import make_managed_seed_set, make_object, merged

TARGET = "spec.metrics[0].resource.target"


def metric(name: str = "shoots", **target: Any) -> dict[str, Any]:
    wanted = target or {"type": "Utilization", "averageUtilization": 50}
    return {"type": "Resource", "resource": {"name": name, "target": wanted}}


def autoscaler(name: str = "auto", version: str = "v1beta1", **spec: Any) -> dict[str, Any]:
    default = {
        "scaleTargetRef": {
            "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
            "kind": "ManagedSeedSet",
            "name": "set",
        },
        "minReplicas": 1,
        "maxReplicas": 10,
        "metrics": [metric()],
    }
    api_version = f"seedmanagement.gardener.cloud/{version}"
    return make_object(api_version, "SeedAutoscaler", name, "garden", spec=merged(default, spec))


def behaving(**rules: Any) -> dict[str, Any]:
    return autoscaler(behavior={"scaleUp": rules})


@pytest.mark.parametrize(
    ("obj", "refused"),
    [
        pytest.param(autoscaler(), set(), id="the document's example"),
        pytest.param(autoscaler(version="v1alpha1"), set(), id="in the document's version"),
        pytest.param(autoscaler(minReplicas=None), set(), id="no minimum"),
        pytest.param(
            autoscaler(minReplicas=0), {("spec.minReplicas", "Invalid")}, id="a minimum of 0"
        ),
        pytest.param(autoscaler(minReplicas=10), set(), id="minimum equal to maximum"),
        pytest.param(
            autoscaler(minReplicas=11),
            {("spec.maxReplicas", "Invalid")},
            id="minimum above maximum",
        ),
        pytest.param(
            autoscaler(maxReplicas=0), {("spec.maxReplicas", "Invalid")}, id="a maximum of 0"
        ),
        pytest.param(autoscaler(mode="Recommend"), set(), id="only recommending"),
        pytest.param(autoscaler(mode="Off"), {("spec.mode", "NotSupported")}, id="another mode"),
        pytest.param(autoscaler(metrics=[]), {("spec.metrics", "Required")}, id="no metric"),
        pytest.param(
            autoscaler(metrics=[{"type": "Pods"}]),
            {("spec.metrics[0].type", "NotSupported")},
            id="another type of metric",
        ),
        pytest.param(
            autoscaler(metrics=[{"type": "Resource"}]),
            {("spec.metrics[0].resource", "Required")},
            id="no resource",
        ),
        pytest.param(
            autoscaler(metrics=[metric("")]),
            {("spec.metrics[0].resource.name", "Required")},
            id="a resource without name",
        ),
        pytest.param(
            autoscaler(metrics=[metric(), metric()]),
            {("spec.metrics[1].resource.name", "Duplicate")},
            id="a resource twice",
        ),
        pytest.param(
            autoscaler(metrics=[metric(), metric("persistent-volumes")]), set(), id="two resources"
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="Utilization", averageUtilization=1)]),
            set(),
            id="1 percent",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="Utilization", averageUtilization=100)]),
            set(),
            id="100 percent",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="Utilization", averageUtilization=0)]),
            {(f"{TARGET}.averageUtilization", "Invalid")},
            id="0 percent",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="Utilization", averageUtilization=101)]),
            {(f"{TARGET}.averageUtilization", "Invalid")},
            id="101 percent",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="AverageValue", averageValue="100")]),
            set(),
            id="an average value",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="AverageValue", averageValue="0")]),
            {(f"{TARGET}.averageValue", "Invalid")},
            id="an average of nothing",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="AverageValue", averageValue="5GB")]),
            {(f"{TARGET}.averageValue", "Invalid")},
            id="an average that is not a quantity",
        ),
        pytest.param(
            autoscaler(
                metrics=[metric(type="Utilization", averageUtilization=5, averageValue="5")]
            ),
            {(f"{TARGET}.averageValue", "Forbidden")},
            id="both",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="Utilization")]),
            {(f"{TARGET}.averageUtilization", "Required")},
            id="neither",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="Utilization", averageValue="5")]),
            {(f"{TARGET}.averageUtilization", "Required")},
            id="the one that does not match the type",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="AverageValue", averageUtilization=5)]),
            {(f"{TARGET}.averageValue", "Required")},
            id="the other that does not match the type",
        ),
        pytest.param(
            autoscaler(metrics=[metric(type="Value", averageValue="5")]),
            {(f"{TARGET}.type", "NotSupported")},
            id="another type of target",
        ),
        pytest.param(behaving(stabilizationWindowSeconds=3600), set(), id="the longest window"),
        pytest.param(
            behaving(stabilizationWindowSeconds=3601),
            {("spec.behavior.scaleUp.stabilizationWindowSeconds", "Invalid")},
            id="too long a window",
        ),
        pytest.param(
            behaving(selectPolicy="Median"),
            {("spec.behavior.scaleUp.selectPolicy", "NotSupported")},
            id="an unknown selection",
        ),
        pytest.param(
            behaving(policies=[{"type": "Replicas", "value": 1, "periodSeconds": 1800}]),
            set(),
            id="a policy",
        ),
        pytest.param(
            behaving(policies=[{"type": "Nodes", "value": 0, "periodSeconds": 1801}]),
            {
                ("spec.behavior.scaleUp.policies[0].type", "NotSupported"),
                ("spec.behavior.scaleUp.policies[0].value", "Invalid"),
                ("spec.behavior.scaleUp.policies[0].periodSeconds", "Invalid"),
            },
            id="a bad policy",
        ),
        pytest.param(
            autoscaler(scaleTargetRef={"kind": "Deployment"}),
            {("spec.scaleTargetRef.kind", "NotSupported")},
            id="another kind of target",
        ),
        pytest.param(
            autoscaler(scaleTargetRef={"apiVersion": "apps/v1"}),
            {("spec.scaleTargetRef.apiVersion", "Invalid")},
            id="another group of target",
        ),
        pytest.param(
            autoscaler(scaleTargetRef={"name": None}),
            {("spec.scaleTargetRef.name", "Required")},
            id="no name of a target",
        ),
        pytest.param(
            autoscaler(scaleTargetRef={"name": "gone"}),
            {("spec.scaleTargetRef.name", "Invalid")},
            id="no such target",
        ),
    ],
)
def test_rules(obj: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    result = validate("seedautoscaler.rules", obj, around=[make_managed_seed_set()])
    assert result.refused == refused


def test_a_set_has_one_autoscaler() -> None:
    around = [make_managed_seed_set(), autoscaler("first")]
    result = validate("seedautoscaler.rules", autoscaler("second"), around=around)
    assert result.refused == {("spec.scaleTargetRef.name", "Invalid")}
    assert "already scaled by SeedAutoscaler garden/first" in result.messages[0]
    assert validate("seedautoscaler.rules", autoscaler("first"), around=around).refused == set()


def test_defaults() -> None:
    bare = autoscaler(minReplicas=None)
    result, _ = mutate("seedautoscaler.defaults", bare)
    assert (result["spec"]["minReplicas"], result["spec"]["mode"]) == (1, "Auto")
    chosen = autoscaler(minReplicas=3, mode="Recommend")
    assert mutate("seedautoscaler.defaults", chosen)[0] == chosen
