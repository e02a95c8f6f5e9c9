from typing import Any

import pytest

from webhook.api.crds import crd, definable
from webhook.api.kinds import KINDS, Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.shoots import Shoot
from webhook.kube.schema import Schema

DEFINED = tuple(definable(beside_gardener=False))
PRESERVE = "x-kubernetes-preserve-unknown-fields"


def names(kind: Kind) -> str:
    return f"{kind.name}.{kind.group}"


def objections(node: dict[str, Any], path: str) -> list[str]:
    """Yield the places where a schema is not structural by the rules of Kubernetes."""
    found = []
    if not (node.get("type") or node.get(PRESERVE) or node.get("x-kubernetes-int-or-string")):
        found.append(f"{path} has no type")
    if "properties" in node and "additionalProperties" in node:
        found.append(f"{path} has both properties and additionalProperties")
    if keys := node.get("x-kubernetes-list-map-keys"):
        entry = node["items"]
        found += [f"{path}[].{key} is a key" for key in keys if key not in entry["required"]]
    for name in node.get("required", ()):
        if name not in node["properties"]:
            found.append(f"{path}.{name} is required and unknown")
    for name, child in node.get("properties", {}).items():
        found += objections(child, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in node:
            found += objections(node[name], f"{path}.{name}")
    return found


@pytest.mark.parametrize("kind", DEFINED, ids=names)
def test_every_schema_is_structural(kind: Kind):
    for version in crd(kind, beside_gardener=False)["spec"]["versions"]:
        assert objections(version["schema"]["openAPIV3Schema"], kind.name) == []


@pytest.mark.parametrize("kind", DEFINED, ids=names)
def test_columns_and_selectors_refer_to_known_or_preserved_fields(kind: Kind):
    (version, *_) = crd(kind, beside_gardener=False)["spec"]["versions"]
    root = version["schema"]["openAPIV3Schema"]
    paths = [column["jsonPath"] for column in version["additionalPrinterColumns"]]
    paths += [field["jsonPath"] for field in version.get("selectableFields", ())]
    for path in paths:
        first, *rest = path.lstrip(".").split("[")[0].split(".")
        assert first in root["properties"], path
        node = root["properties"][first]
        for step in rest if first != "metadata" else ():
            if step not in node.get("properties", {}):
                assert node.get(PRESERVE) or "additionalProperties" in node, path
                break
            node = node["properties"][step]


@pytest.mark.parametrize("kind", DEFINED, ids=names)
def test_every_field_is_described(kind: Kind):
    schema = crd(kind, beside_gardener=False)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert undescribed(schema, kind.name) == []


def undescribed(node: dict[str, Any], path: str) -> list[str]:
    """Yield the fields without a description for `kubectl explain`."""
    entry = node.get("items", {})
    found = [] if node.get("description") or entry.get("description") else [path]
    for name, child in node.get("properties", {}).items():
        if child != {"type": "object"}:  # metadata, which Kubernetes describes itself
            found += undescribed(child, f"{path}.{name}")
    return found + (undescribed(entry, f"{path}[]") if "properties" in entry else [])


def test_kinds_of_kubernetes_and_those_that_need_a_gardener_are_never_defined():
    undefined = {kind.origin for kind in KINDS} - {kind.origin for kind in DEFINED}
    assert undefined == {"kubernetes", "garden"}


def test_beside_a_gardener_only_our_own_kinds_are_defined():
    defined = [kind.name for kind in definable(beside_gardener=True)]
    assert defined == ["SeedAutoscaler", "Zone", "ScheduledScaling"]


def test_beside_a_gardener_no_version_is_claimed_that_it_serves():
    kind = kind_of_model(SeedAutoscaler)
    alone = crd(kind, beside_gardener=False)["spec"]["versions"]
    beside = crd(kind, beside_gardener=True)["spec"]["versions"]
    assert [(version["name"], version["storage"]) for version in alone] == [
        ("v1beta1", True),
        ("v1alpha1", False),
    ]
    assert alone[0]["schema"] == alone[1]["schema"]
    assert [(version["name"], version["storage"]) for version in beside] == [("v1beta1", True)]


@pytest.mark.parametrize(
    ("claimed", "versions"),
    [
        pytest.param("v1alpha1.seedmanagement.gardener.cloud", ["v1beta1"], id="its own"),
        pytest.param("v1alpha1.core.gardener.cloud", ["v1beta1", "v1alpha1"], id="another group's"),
    ],
)
def test_no_version_is_defined_that_an_aggregated_api_claims(claimed, versions):
    built = crd(kind_of_model(SeedAutoscaler), beside_gardener=False, claimed={claimed})
    assert [version["name"] for version in built["spec"]["versions"]] == versions


def test_sets_can_be_scaled():
    (version,) = crd(kind_of_model(ManagedSeedSet), beside_gardener=False)["spec"]["versions"]
    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }


def test_fields_that_only_upstream_has_are_preserved():
    (version,) = crd(kind_of_model(Shoot), beside_gardener=False)["spec"]["versions"]
    schema = Schema(version["schema"]["openAPIV3Schema"])
    worker = {"name": "a", "sysctls": {"net.core": "1"}}
    raw = {"spec": {"provider": {"infrastructureConfig": {"a": 1}, "workers": [worker]}, "x": 1}}
    assert schema.prune(raw) == []
    assert schema.validate(raw) == []


def test_unknown_fields_of_our_own_kinds_are_pruned():
    versions = crd(kind_of_model(SeedAutoscaler), beside_gardener=False)["spec"]["versions"]
    schema = Schema(versions[0]["schema"]["openAPIV3Schema"])
    assert schema.prune({"spec": {"maxReplicas": 1, "maxReplica": 1}}) == ["spec.maxReplica"]


def test_generating_twice_gives_separate_objects():
    first, second = (crd(kind_of_model(Shoot), beside_gardener=False) for _ in range(2))
    first["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].clear()
    assert second["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
