"""Objects are converted between the stored version and the served ones."""

from typing import Any

import pytest

from webhook.dev.apiserver.registry import conversion
from webhook.dev.apiserver.registry.registry import Registry, from_definition
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.entries import Entry, encode


def entry(obj: dict[str, Any]) -> Entry:
    return Entry(obj, encode(obj), 7, {})


def served(group: str, version: str, plural: str) -> Resource:
    found = Registry().get(group, version, plural)
    assert found is not None
    return found


EVENT = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "n"},
    "regarding": {"kind": "Pod", "name": "p"},
    "note": "red",
    "reportingController": "painter",
    "deprecatedCount": 2,
}
AUTOSCALER = {
    "apiVersion": "autoscaling/v1",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 70},
    "status": {"currentCPUUtilizationPercentage": 40},
}


def test_an_event_is_stored_in_the_core_group() -> None:
    stored = conversion.to_storage(served("events.k8s.io", "v1", "events"), dict(EVENT))
    assert stored["apiVersion"] == "v1"
    assert stored["involvedObject"] == {"kind": "Pod", "name": "p"}
    assert (stored["message"], stored["reportingComponent"], stored["count"]) == (
        "red",
        "painter",
        2,
    )
    assert not stored.keys() & {"regarding", "note", "reportingController", "deprecatedCount"}


def test_the_cpu_target_of_autoscaling_v1_is_a_metric() -> None:
    stored = conversion.to_storage(
        served("autoscaling", "v1", "horizontalpodautoscalers"), dict(AUTOSCALER)
    )
    target = {"type": "Utilization", "averageUtilization": 70}
    assert stored["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    ]


@pytest.mark.parametrize(
    ("group", "plural", "obj"),
    [
        pytest.param("events.k8s.io", "events", EVENT, id="an event"),
        pytest.param("autoscaling", "horizontalpodautoscalers", AUTOSCALER, id="an autoscaler"),
    ],
)
def test_conversion_to_storage_and_back_keeps_the_object(group, plural, obj) -> None:
    resource = served(group, "v1", plural)
    shown = conversion.decode_as(resource, entry(conversion.to_storage(resource, dict(obj))))

    def holds(found: Any, wanted: Any) -> bool:
        if isinstance(wanted, dict):
            return all(holds(found.get(key), value) for key, value in wanted.items())
        return bool(found == wanted)

    assert holds(shown, obj)


def definition(**fields: dict[str, Any]) -> dict[str, Any]:
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        }
        for name, spec in fields.items()
    ]
    names = {"plural": "gadgets", "kind": "Gadget"}
    spec = {"group": "g.example.com", "scope": "Cluster", "names": names, "versions": versions}
    return {"metadata": {"name": "gadgets.g.example.com"}, "spec": spec}


def spec_with(**defaults: int) -> dict[str, Any]:
    properties = {name: {"type": "integer", "default": value} for name, value in defaults.items()}
    return {"type": "object", "properties": properties}


def test_versions_with_the_same_schema_are_not_decoded() -> None:
    schema = spec_with(age=1)
    _, beta = from_definition(definition(v1=schema, v1beta1=schema))
    stored = entry({"apiVersion": "g.example.com/v1", "kind": "Gadget", "metadata": {"name": "x"}})
    assert conversion.to_version(beta, stored) is stored


def test_a_version_is_pruned_and_not_defaulted() -> None:
    _, beta = from_definition(definition(v1=spec_with(age=1, size=1), v1beta1=spec_with(years=1)))
    stored = entry(
        {
            "apiVersion": "g.example.com/v1",
            "kind": "Gadget",
            "metadata": {"name": "x"},
            "spec": {"age": 5, "size": 2},
        }
    )
    assert conversion.decode_as(beta, stored)["spec"] == {}
    assert conversion.decode_as(beta, stored)["apiVersion"] == "g.example.com/v1beta1"


def test_the_stored_version_is_pruned_and_defaulted() -> None:
    _, beta = from_definition(definition(v1=spec_with(age=1), v1beta1=spec_with(years=1)))
    written = {
        "apiVersion": "g.example.com/v1beta1",
        "kind": "Gadget",
        "metadata": {"name": "x"},
        "spec": {"years": 9},
    }
    stored = conversion.to_storage(beta, written)
    assert (stored["apiVersion"], stored["spec"]) == ("g.example.com/v1", {"age": 1})
