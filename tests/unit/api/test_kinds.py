import msgspec
import pytest

from webhook.api import kinds
from webhook.api.kinds import KINDS, Kind
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.shoots import Shoot
from webhook.kube.meta import ObjectKey


def names(kind: Kind) -> str:
    return f"{kind.name}.{kind.group}"


@pytest.mark.parametrize("kind", KINDS, ids=names)
def test_every_kind_is_found_by_each_of_its_names(kind: Kind):
    assert kinds.kind_of_model(kind.model) is kind
    assert kinds.find_kind(kind.api_version, kind.name) is kind
    assert kinds.find_resource(kind.group, kind.version, kind.plural) is kind


@pytest.mark.parametrize("kind", KINDS, ids=names)
def test_every_kind_decodes_an_empty_object(kind: Kind):
    decoded = msgspec.json.decode(b'{"metadata":{"name":"a","namespace":"b"}}', type=kind.model)
    assert decoded.key == ObjectKey("b", "a")
    assert decoded == kind.model(metadata=decoded.metadata)
    assert not decoded.is_deleting


def test_rows_are_unique():
    for identity in ("model", "resource"):
        values = [getattr(kind, identity) for kind in KINDS]
        assert len(set(values)) == len(values), identity


def test_further_versions_are_found_and_unknown_ones_are_not():
    autoscaler = kinds.kind_of_model(SeedAutoscaler)
    group = "seedmanagement.gardener.cloud"
    assert kinds.find_kind(f"{group}/v1alpha1", "SeedAutoscaler") is autoscaler
    assert kinds.find_resource(group, "v1alpha1", "seedautoscalers") is autoscaler
    assert kinds.find_kind(f"{group}/v1", "SeedAutoscaler") is None
    assert kinds.find_kind("v1", "Namespace") is not None


def test_keys_are_formatted_as_in_kubectl():
    assert str(ObjectKey("garden", "a")) == "garden/a"
    assert str(ObjectKey("", "a")) == "a"


def test_absent_maps_are_shared():
    first, second = (msgspec.json.decode(b"{}", type=Shoot) for _ in range(2))
    assert first.metadata is second.metadata
    assert first.metadata.labels is Shoot().metadata.annotations
