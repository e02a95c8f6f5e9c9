"""Every example manifest of the documents is valid for its generated definition."""

import json
from typing import Any

import pytest

from tests.support.example_manifests import example_manifests
from webhook.api.crds import crd
from webhook.api.decode import decode
from webhook.api.kinds import Kind, find_kind
from webhook.kube.schema import Schema

MANIFESTS = [
    pytest.param(
        manifest, id=f"document {document} {manifest['kind']} {manifest['metadata']['name']}"
    )
    for document, manifest in example_manifests()
]


def kind_of(manifest: dict[str, Any]) -> Kind:
    kind = find_kind(manifest["apiVersion"], manifest["kind"])
    assert kind is not None
    return kind


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_the_definition_accepts_every_field_of_the_manifest(manifest: dict[str, Any]):
    kind = kind_of(manifest)
    for version in crd(kind, beside_gardener=False)["spec"]["versions"]:
        schema = Schema(version["schema"]["openAPIV3Schema"])
        assert schema.validate(manifest) == []
        assert schema.validate_lists(manifest) == []
        assert schema.prune(manifest) == []


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_the_manifest_decodes(manifest: dict[str, Any]):
    kind = kind_of(manifest)
    decoded = decode(kind.model, json.dumps(manifest).encode())
    assert decoded.key == (manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"])
    assert manifest["metadata"].get("namespace") is None or kind.namespaced
