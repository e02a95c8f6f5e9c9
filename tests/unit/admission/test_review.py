"""AdmissionReviews as API servers send them."""

import json
from typing import Any

import msgspec
import pytest

from tests.support.admission import make_request
from webhook.admission import review
from webhook.admission.decision import Request
from webhook.admission.review import ReviewError
from webhook.api.shoots import Shoot
from webhook.kube.meta import ObjectKey

SHOOT = {
    "apiVersion": "core.gardener.cloud/v1beta1",
    "kind": "Shoot",
    "metadata": {"name": "s", "namespace": "garden-dev"},
    "spec": {"region": "here"},
}


def make_review(**request: Any) -> dict[str, Any]:
    """As kube-apiserver v1.36 sends it."""
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "f0d1",
            "kind": {"group": "core.gardener.cloud", "version": "v1beta1", "kind": "Shoot"},
            "resource": {
                "group": "core.gardener.cloud",
                "version": "v1beta1",
                "resource": "shoots",
            },
            "requestKind": {"group": "core.gardener.cloud", "version": "v1beta1", "kind": "Shoot"},
            "name": "s",
            "namespace": "garden-dev",
            "operation": "UPDATE",
            "userInfo": {
                "username": "jane",
                "groups": ["a", "b"],
                "extra": {"authentication.kubernetes.io/credential-id": ["X509SHA256=1"]},
            },
            "object": SHOOT,
            "oldObject": {**SHOOT, "spec": {"region": "there"}},
            "dryRun": False,
            "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
            **request,
        },
    }


PLAIN = msgspec.json.encode(make_review())


def read(**request: Any) -> Request:
    return review.decode(msgspec.json.encode(make_review(**request)))


def test_a_review_as_the_api_server_sends_it() -> None:
    request = read()
    assert request.kind is not None
    assert (request.uid, request.kind.name, request.operation) == ("f0d1", "Shoot", "UPDATE")
    assert request.key == ObjectKey("garden-dev", "s")
    assert (request.subresource, request.dry_run) == ("", False)
    assert (request.user.username, request.user.groups) == ("jane", ("a", "b"))
    assert request.object_as(Shoot).spec.region == "here"
    stored = request.old_as(Shoot)
    assert stored is not None
    assert stored.spec.region == "there"


BODIES = [
    pytest.param(PLAIN, True, id="an update"),
    pytest.param(
        msgspec.json.encode(make_review(operation="CREATE", oldObject=None)), True, id="a creation"
    ),
    pytest.param(
        msgspec.json.encode(make_review(operation="DELETE", object=None)), True, id="a deletion"
    ),
    pytest.param(
        msgspec.json.encode(make_review(name="", oldObject=None)), False, id="a name to be made"
    ),
    pytest.param(
        msgspec.json.encode(make_review(object={**SHOOT, "spec": {"region": 5}})),
        False,
        id="a field of the wrong type",
    ),
    pytest.param(
        msgspec.json.encode(make_review(object={**SHOOT, "spec": {"region": None}})),
        False,
        id="a null, as Go writes what is absent",
    ),
    pytest.param(
        msgspec.json.encode(make_review(object={**SHOOT, "spec": {"x": "é"}})),
        False,
        id="letters beyond ASCII",
    ),
    pytest.param(
        json.dumps(make_review(object={**SHOOT, "spec": {"x": 2**70}})).encode(),
        False,
        id="an integer beyond 64 bits",
    ),
    pytest.param(
        msgspec.json.encode(
            make_review(
                extra={"resource": {"group": "", "version": "v1", "resource": "widgets"}},
                resource={"group": "", "version": "v1", "resource": "widgets"},
            )
        ),
        False,
        id="a kind without policies",
    ),
]


@pytest.mark.parametrize(("body", "at_once"), BODIES)
def test_decoding_in_one_pass_and_step_by_step_is_the_same(body: bytes, at_once: bool) -> None:
    whole, steps = review.decode_whole(body), review.decode(body)
    assert whole.is_shape_checked is at_once
    names = ("uid", "kind", "operation", "key", "subresource", "user", "dry_run", "has_object")
    assert [getattr(whole, name) for name in names] == [getattr(steps, name) for name in names]
    assert whole.object_bytes == steps.object_bytes
    assert whole.old_raw() == steps.old_raw()
    if at_once and whole.has_object:
        assert whole.object_as(Shoot) == steps.object_as(Shoot)
        assert whole.old_as(Shoot) == steps.old_as(Shoot)
    assert whole.with_object(b"{}").old_raw() == steps.old_raw()


def test_a_deletion_has_only_an_old_object() -> None:
    request = read(operation="DELETE", object=None, name="")
    assert request.object_bytes is None
    assert request.key.name == "s"
    assert request.old_raw() is not None


def test_a_deleted_collection_has_no_object_at_all() -> None:
    request = read(operation="DELETE", object=None, oldObject=None, name="")
    assert (request.key.name, request.old_raw(), request.old_as(Shoot)) == ("", None, None)


def test_generate_name_is_used_without_a_name() -> None:
    request = read(
        operation="CREATE", name="", object={"metadata": {"generateName": "s-"}}, oldObject=None
    )
    assert request.key.name == "s-"


@pytest.mark.parametrize("odd", [5, {"metadata": 5}, {"metadata": {"name": []}}])
def test_malformed_objects_are_left_to_the_decision(odd: Any) -> None:
    assert read(operation="CREATE", name="", object=odd, oldObject=None).key.name == ""


def test_subresource_and_dry_run_are_read() -> None:
    request = read(subResource="status", dryRun=True)
    assert (request.subresource, request.dry_run) == ("status", True)


def test_unknown_kinds_are_decoded_too() -> None:
    assert read(resource={"group": "", "version": "v1", "resource": "pods2"}).kind is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "not an AdmissionReview", id="nothing"),
        pytest.param(b"{", "not an AdmissionReview", id="half of JSON"),
        pytest.param(b"[1]", "not an AdmissionReview", id="another type"),
        pytest.param(b"{}", "send an admission.k8s.io/v1 AdmissionReview", id="an empty object"),
        pytest.param(
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}',
            "send an admission.k8s.io/v1 AdmissionReview",
            id="another version",
        ),
        pytest.param(
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
            "no request with a uid",
            id="without a request",
        ),
        pytest.param(msgspec.json.encode(make_review(uid="")), "with a uid", id="empty uid"),
        pytest.param(msgspec.json.encode(make_review(uid=5)), "request.uid", id="uid of no text"),
        pytest.param(
            msgspec.json.encode(make_review(operation="EAT")), "request.operation", id="operation"
        ),
        pytest.param(
            PLAIN.replace(b'"here"', b'"\xff"'),
            "not UTF-8 at byte",
            id="invalid UTF-8 anywhere",
        ),
        pytest.param(
            PLAIN.replace(b'"here"', b"[" * 20_000 + b"]" * 20_000),
            "nested deeper than API servers accept",
            id="nested beyond reading",
        ),
        pytest.param(
            b'{"more":' + b"[" * 300 + b"]" * 300 + PLAIN.replace(b"{", b",", 1),
            "nested deeper than 200 levels",
            id="nested before the objects",
        ),
        pytest.param(
            PLAIN.replace(b'"options":{', b'"options":{"a":' + b"[" * 300 + b"]" * 300 + b","),
            "nested deeper than 200 levels",
            id="nested after the objects",
        ),
    ],
)
def test_other_bodies_are_rejected_in_one_sentence(body: bytes, message: str) -> None:
    with pytest.raises(ReviewError) as raised:
        review.decode(body)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_unknown_fields_of_a_review_are_ignored() -> None:
    more = b'{"more":' + b"[" * 150 + b"]" * 150 + b',"text":"' + b"9" * 40 + b'","large":'
    for largest in (b"9223372036854775807", b"-9223372036854775808", b"1234567890123456789.5"):
        assert review.decode(PLAIN.replace(b"{", more + largest + b",", 1)).uid == "f0d1"
    for too_large in (b"9223372036854775808", b"-9223372036854775809", b"9" * 40):
        with pytest.raises(review.ReviewError, match="at large: integers have at most 64 bits"):
            review.decode(PLAIN.replace(b"{", more + too_large + b",", 1))


@pytest.mark.parametrize("depth", [800, 1_200, 9_000])
def test_a_stored_object_is_read_but_for_what_is_too_deep(depth: int) -> None:
    """Otherwise no rule on deletions or changes would see it."""
    old = {**SHOOT, "spec": {"region": "there", "provider": {"infrastructureConfig": "HERE"}}}
    body = msgspec.json.encode(make_review(oldObject=old, object=None, operation="DELETE"))
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    for decode in (review.decode, review.decode_whole):
        request = decode(body.replace(b'"HERE"', deep))
        stored = request.old_as(Shoot)
        assert stored is not None
        assert stored.spec.region == "there"
        assert request.old_raw() is not None
        assert request.faults == ()


def test_deep_objects_are_left_to_the_decision() -> None:
    deep = b"[" * 300 + b"]" * 300
    assert review.decode(PLAIN.replace(b'"here"', deep)).uid == "f0d1"
    shuffled = (
        b'{"request":'
        + msgspec.json.encode({**make_review()["request"], "object": None, "options": None})[
            :-1
        ].replace(b'"object":null,', b"")
        + b',"object":'
        + deep
        + b'},"kind":"AdmissionReview",'
    )
    shuffled += b'"apiVersion":"admission.k8s.io/v1"}'
    assert review.decode(shuffled).uid == "f0d1"


def test_make_request_equals_a_decoded_review() -> None:
    made, decoded = make_request(SHOOT, SHOOT), read(oldObject=SHOOT)
    assert (made.key, made.kind, made.operation) == (decoded.key, decoded.kind, decoded.operation)
