"""Requests as an API server expects them."""

import msgspec
import pytest

from webhook.api.core import ConfigMap, Namespace
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import requests
from webhook.cluster.requests import PartialUpdateError, Selection
from webhook.kube.meta import ObjectKey

SHOOT, SEED = kind_of_model(Shoot), kind_of_model(Seed)
CONFIG_MAP, NAMESPACE = kind_of_model(ConfigMap), kind_of_model(Namespace)
AUTOSCALER = kind_of_model(SeedAutoscaler)
OAK = ObjectKey("garden", "oak")


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "subresource", "path"),
    [
        pytest.param(
            SHOOT, "", "", "", "/apis/core.gardener.cloud/v1beta1/shoots", id="all namespaces"
        ),
        pytest.param(
            *(SHOOT, "garden", "oak", "binding"),
            "/apis/core.gardener.cloud/v1beta1/namespaces/garden/shoots/oak/binding",
            id="a subresource",
        ),
        pytest.param(
            SEED,
            "",
            "alpha",
            "",
            "/apis/core.gardener.cloud/v1beta1/seeds/alpha",
            id="no namespace",
        ),
        pytest.param(
            SEED,
            "garden",
            "",
            "",
            "/apis/core.gardener.cloud/v1beta1/seeds",
            id="a namespace for a cluster-scoped kind",
        ),
        pytest.param(
            CONFIG_MAP, "a", "b", "", "/api/v1/namespaces/a/configmaps/b", id="core group"
        ),
        pytest.param(NAMESPACE, "", "a", "", "/api/v1/namespaces/a", id="a namespace itself"),
        pytest.param(
            *(AUTOSCALER, "", "", ""),
            "/apis/seedmanagement.gardener.cloud/v1beta1/seedautoscalers",
            id="exactly the kind's version",
        ),
        pytest.param(
            *(SEED, "", "a/../b?", ""),
            "/apis/core.gardener.cloud/v1beta1/seeds/a%2F..%2Fb%3F",
            id="names that need escaping",
        ),
    ],
)
def test_paths(kind: Kind, namespace: str, name: str, subresource: str, path: str) -> None:
    assert requests.path_of(kind, namespace, name, subresource) == path


def test_a_selection_limits_what_is_listed_and_watched() -> None:
    selection = Selection(CONFIG_MAP, "espalier-system", "ledger=yes", "metadata.name=x")
    limits = {"labelSelector": "ledger=yes", "fieldSelector": "metadata.name=x"}
    page = requests.list_page(selection, "token", 0)
    assert page.path == "/api/v1/namespaces/espalier-system/configmaps"
    assert page.query == limits | {"continue": "token"}
    for request in (requests.watch(selection, "5", 9), requests.stream_list(selection, 9)):
        assert request.query.items() >= (limits | {"watch": "true"}).items()


@pytest.mark.parametrize(
    ("change", "content_type"),
    [
        pytest.param({"spec": {}}, "application/merge-patch+json", id="a mapping is merged"),
        pytest.param([{"op": "test"}], "application/json-patch+json", id="a list is operations"),
    ],
)
def test_patches_have_their_content_type(change: object, content_type: str) -> None:
    request = requests.patch(SHOOT, OAK, change, subresource="status")  # type: ignore[arg-type]
    assert request.method == "PATCH"
    assert request.path.endswith("/oak/status")
    assert request.content_type == content_type
    assert msgspec.json.decode(request.body or b"") == change


def test_a_kind_that_is_decoded_in_part_is_never_put() -> None:
    for subresource in ("", "status"):
        with pytest.raises(PartialUpdateError, match="Shoot is decoded in part only: patch it"):
            requests.update(SHOOT, OAK, {}, subresource=subresource)
    assert requests.update(SHOOT, OAK, {}, subresource="scale").method == "PUT"
    assert requests.update(SEED, ObjectKey("", "alpha"), {}).method == "PUT"


def test_creates_go_to_the_collection_or_to_the_subresource() -> None:
    key = ObjectKey("garden", "oak")
    assert requests.create(SHOOT, key, {}).path.endswith("/namespaces/garden/shoots")
    assert requests.create(SHOOT, key, {}, subresource="binding").path.endswith("/oak/binding")


def test_bodies_have_api_version_and_kind_unless_they_are_of_another_kind() -> None:
    for request in (
        requests.create(SEED, ObjectKey("", ""), {"spec": {}}),
        requests.update(SEED, ObjectKey("", "a"), {"spec": {}}),
        requests.apply(SEED, ObjectKey("", "a"), {"spec": {}}, manager="m"),
    ):
        sent = msgspec.json.decode(request.body or b"")
        sent.pop("metadata", None)
        assert sent == {"apiVersion": SEED.api_version, "kind": "Seed", "spec": {}}
    binding = requests.create(SHOOT, OAK, {"kind": "Binding"}, subresource="binding")
    assert msgspec.json.decode(binding.body or b"") == {"kind": "Binding"}


def test_apply_names_the_field_manager() -> None:
    request = requests.apply(SHOOT, OAK, {"a": 1}, manager="espalier", force=False)
    assert request.query == {"fieldManager": "espalier", "force": "false"}
    assert request.content_type == "application/apply-patch+yaml"


@pytest.mark.parametrize(
    ("kind", "key", "named"),
    [
        pytest.param(SHOOT, OAK, {"namespace": OAK.namespace, "name": OAK.name}, id="namespaced"),
        pytest.param(SEED, ObjectKey("", "oak"), {"name": "oak"}, id="of the cluster"),
    ],
)
def test_apply_names_the_object_in_the_body_too(
    kind: Kind, key: ObjectKey, named: dict[str, str]
) -> None:
    # kube-apiserver refuses to create a Lease that only the URL names.
    request = requests.apply(kind, key, {"metadata": {"labels": {}}}, manager="espalier")
    sent = msgspec.json.decode(request.body or b"")
    assert sent["metadata"] == {**named, "labels": {}}


@pytest.mark.parametrize(
    ("given", "preconditions"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"uid": "u"}, {"uid": "u"}, id="of that identity"),
        pytest.param(
            {"uid": "u", "version": "7"}, {"uid": "u", "resourceVersion": "7"}, id="and version"
        ),
    ],
)
def test_deletions_carry_their_preconditions(
    given: dict[str, str], preconditions: dict[str, str] | None
) -> None:
    request = requests.delete(
        SHOOT, OAK, uid=given.get("uid", ""), version=given.get("version", "")
    )
    options = msgspec.json.decode(request.body or b"")
    assert options["propagationPolicy"] == "Background"
    assert options.get("preconditions") == preconditions


@pytest.mark.parametrize(
    ("selection", "holds"),
    [
        pytest.param(Selection(CONFIG_MAP), True, id="all of a kind"),
        pytest.param(Selection(CONFIG_MAP, "garden"), True, id="of its namespace"),
        pytest.param(Selection(CONFIG_MAP, "kube-system"), False, id="of another namespace"),
        pytest.param(
            Selection(CONFIG_MAP, "garden", fields="metadata.name=x"), True, id="its very name"
        ),
        pytest.param(
            Selection(CONFIG_MAP, "garden", fields="metadata.name=y"), False, id="another name"
        ),
        pytest.param(Selection(CONFIG_MAP, labels="a=b"), True, id="labels are not known"),
    ],
)
def test_selection_may_match(selection: Selection, holds: bool) -> None:
    assert selection.may_match(ObjectKey("garden", "x")) is holds
