from typing import Any

import pytest

from webhook.cli.install.generate import tortoise
from webhook.kube import patches


def served(*versions: str) -> dict[str, Any]:
    def schema() -> dict[str, Any]:
        return {
            "properties": {
                "spec": {"properties": {"updateMode": {}}},
                "status": {"properties": {"recommendations": {"properties": {}}}},
            }
        }

    return {
        "spec": {
            "versions": [
                {"name": version, "schema": {"openAPIV3Schema": schema()}} for version in versions
            ]
        }
    }


@pytest.mark.parametrize("versions", [("v1beta3",), ("v1alpha1", "v1beta3")], ids=["one", "two"])
def test_the_patch_applies_to_the_served_definition(versions: tuple[str, ...]):
    definition = served(*versions)
    patched = patches.apply(definition, tortoise.crd_patch(definition))
    schema = patched["spec"]["versions"][-1]["schema"]["openAPIV3Schema"]["properties"]
    assert schema["spec"]["properties"]["recommenders"]["type"] == "array"
    assert schema["spec"]["properties"]["updateMode"] == {}
    constraints = schema["status"]["properties"]["recommendations"]["properties"]["constraints"]
    assert set(constraints["properties"]) == {"minimumMinReplicas", "minAllocatedResources"}


def test_without_a_cluster_the_patch_tests_the_version():
    with pytest.raises(patches.PatchError):
        patches.apply(served("v1alpha1", "v1beta3"), tortoise.crd_patch(None))


def test_a_definition_without_our_version_is_an_error():
    with pytest.raises(tortoise.NoSuchVersionError, match="has v1alpha1 and not v1beta3"):
        tortoise.crd_patch(served("v1alpha1"))
