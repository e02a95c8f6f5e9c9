"""What the cache stores of an object: a Struct for reading, bytes for writing."""

import json
from typing import Any

import msgspec
import pytest

from tests.unit.cluster.reflector_rig import make_shoot
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.documents import read, read_deleted, strip
from webhook.kube.meta import ObjectKey

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

SEED: dict[str, Any] = {
    "metadata": {
        "name": "alpha",
        "resourceVersion": "7",
        "managedFields": [{"manager": "kubectl"}],
        "annotations": {LAST_APPLIED: "{}", "note": "kept"},
    },
    "spec": {"provider": {"type": "aws", "unknown": [1, 2.5, None]}},
    "unheardOf": {"also": "kept"},
}


def encode(document: object) -> bytes:
    return json.dumps(document).encode()


def test_a_whole_kind_is_stored_without_managed_fields_and_last_applied() -> None:
    found = read(kind_of_model(Seed), encode(SEED))
    assert (found.key, found.version) == (ObjectKey("", "alpha"), "7")
    assert found.entry is not None
    kept = msgspec.json.decode(found.entry.raw or b"")
    assert kept == SEED | {
        "metadata": {
            "name": "alpha",
            "resourceVersion": "7",
            "annotations": {"note": "kept"},
        }
    }


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"name": "a"}, id="nothing to strip"),
        pytest.param({"name": "a", "annotations": None}, id="null annotations"),
        pytest.param({"name": "a", "annotations": {}}, id="no annotations"),
    ],
)
def test_stripping_a_plain_object_changes_nothing(metadata: dict[str, Any]) -> None:
    stripped = msgspec.json.decode(strip(encode({"metadata": metadata, "spec": 1})))
    assert stripped["metadata"]["name"] == "a"
    assert not stripped["metadata"].get("annotations")
    assert stripped["spec"] == 1


def test_a_kind_that_is_only_read_is_stored_as_a_struct_only() -> None:
    shoot = make_shoot("oak", 5)
    shoot["metadata"]["annotations"] = {LAST_APPLIED: "x" * 9000, "note": "kept"}
    found = read(kind_of_model(Shoot), encode(shoot))
    assert found.entry is not None
    assert found.entry.raw is None
    assert found.entry.object is not None
    assert found.entry.object.metadata.annotations == {"note": "kept"}


def test_stored_bytes_do_not_reference_the_page_they_came_from() -> None:
    page = msgspec.json.decode(b"[" + encode(SEED) + b"]", type=list[msgspec.Raw])
    found = read(kind_of_model(Seed), page[0])
    assert found.entry is not None
    assert type(found.entry.raw) is bytes


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"seedName": 5}, "spec.seedName", id="a number for a name"),
        pytest.param({"provider": {"workers": {}}}, "spec.provider.workers", id="a map for a list"),
        pytest.param([], "spec", id="a list for a spec"),
    ],
)
def test_an_object_that_does_not_decode_is_stored_with_its_malformed_fields(
    spec: object, path: str
) -> None:
    found = read(kind_of_model(Shoot), encode(make_shoot("oak", 5) | {"spec": spec}))
    assert found.key == ObjectKey("garden", "oak")
    assert found.version == "5"
    assert found.entry is not None
    assert found.entry.object is None
    assert [fault.path for fault in found.entry.faults] == [path]


def test_invalid_utf8_is_a_malformed_object_and_no_bug() -> None:
    broken = encode(make_shoot("oak", 5)).replace(b"alpha", b"\xff\xfe")
    found = read(kind_of_model(Shoot), broken)
    assert found.entry is not None
    assert found.entry.faults


@pytest.mark.parametrize("kind", [kind_of_model(Shoot), kind_of_model(Seed)])
def test_the_deepest_nesting_of_servers_is_a_malformed_object_and_no_bug(kind: Kind) -> None:
    deep = encode(make_shoot("oak", 5)).replace(b'"alpha"', b"[" * 9_990 + b"]" * 9_990)
    found = read(kind, deep)
    assert found.key == ObjectKey("garden", "oak")
    assert found.entry is not None
    assert found.entry.faults


def test_an_object_without_a_name_cannot_be_stored() -> None:
    with pytest.raises(msgspec.MsgspecError):
        read(kind_of_model(Shoot), b'{"spec": 5}')
    with pytest.raises(msgspec.MsgspecError):
        read_deleted(b"[]")


def test_only_the_key_of_a_deleted_object_is_read() -> None:
    found = read_deleted(encode(make_shoot("oak", 9) | {"spec": 5}))
    assert found == (ObjectKey("garden", "oak"), "9", None)
