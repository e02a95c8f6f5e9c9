"""Gardener's example manifests match the CRDs that replace its kinds."""

from tests.behaviour.gardener_examples import ACCEPTED, examples
from tests.support.control_planes import require_parts
from webhook.api.crds import crd
from webhook.api.decode import convert
from webhook.api.kinds import find_kind
from webhook.kube.schema import Schema


def test_every_example_is_valid_and_is_kept_whole():
    require_parts("gardener")
    seen = 0
    for name, document in examples():
        kind = find_kind(document["apiVersion"], document["kind"])
        if kind is None or kind.origin == "kubernetes":
            continue
        (version, *_) = crd(kind, beside_gardener=False)["spec"]["versions"]
        schema = Schema(version["schema"]["openAPIV3Schema"])
        schema.apply_defaults(document)
        assert schema.validate(document) == [], name
        assert schema.validate_lists(document) == [], name
        assert schema.prune(document) == [], name
        convert(kind.model, document)
        seen += 1
    assert seen > 20


def test_what_gardener_accepts_is_from_both_of_its_folders():
    require_parts("gardener")
    assert {*ACCEPTED} <= {name for name, _ in examples()}
    folders = {name.split("/")[0] for name in ACCEPTED if "/" in name}
    assert {"components", "provider-local"} <= folders
