"""AdmissionReviews and JSON patches, verified as in Kubernetes v1.36."""

import base64
import json
from typing import Any

import pytest

from tests.unit.dev.apiserver.webhooks.admission_requests import V1, V2, make_request
from webhook.dev.apiserver.webhooks import jsonpatches, reviews
from webhook.dev.apiserver.webhooks.jsonpatches import PatchNotApplicableError
from webhook.dev.apiserver.webhooks.reviews import InvalidReviewError, Review

REVIEW = Review("v1", "the-uid", b"")
PATCH = base64.b64encode(b'[{"op":"add","path":"/a","value":1}]').decode()


def _response(response: Any = None, **review: Any) -> bytes:
    made = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", **review}
    if response is not None:
        made["response"] = {"uid": "the-uid", "allowed": True, **response}
    return json.dumps(made).encode()


def test_a_review_holds_the_request_in_the_version_of_the_webhook():
    request = make_request(subresource="scale", old={"apiVersion": "apps/v1"})
    review = reviews.create_review(request, V2, ("v2", "v1"))
    body = json.loads(review.body)
    assert body["apiVersion"] == "admission.k8s.io/v1"
    fields = body["request"]
    assert fields["uid"] == review.uid
    assert (fields["kind"]["version"], fields["requestKind"]["version"]) == ("v2", "v1")
    assert fields["oldObject"] == {"apiVersion": "apps/v2"}
    assert (fields["subResource"], fields["name"], fields["namespace"]) == ("scale", "d", "n")


def test_a_webhook_without_a_known_review_version_is_an_error():
    with pytest.raises(InvalidReviewError, match=r"does not accept known AdmissionReview versions"):
        reviews.create_review(make_request(), V1, ("v9",))


def test_a_response():
    body = _response({"patch": PATCH, "patchType": "JSONPatch", "warnings": ["w"]})
    response = reviews.verify_response(REVIEW, body, mutating=True)
    assert response.allowed
    assert json.loads(response.patch) == [{"op": "add", "path": "/a", "value": 1}]
    assert response.warnings == ("w",)


@pytest.mark.parametrize(
    ("body", "mutating", "message"),
    [
        pytest.param(b"", False, "0-length response with status code: 200", id="an empty body"),
        pytest.param(b"hello", False, "json: cannot unmarshal string", id="a word"),
        pytest.param(b"[1]", False, "json: cannot unmarshal array", id="a list"),
        pytest.param(_response(), False, "webhook response was absent", id="no response"),
        pytest.param(
            _response({}, kind="Foo", apiVersion="v1"),
            False,
            'no kind "Foo" is registered for version "v1"',
            id="another kind",
        ),
        pytest.param(
            _response({}, apiVersion="admission.k8s.io/v1beta1"),
            False,
            "unknown conversion",
            id="another version",
        ),
        pytest.param(
            _response({"uid": "x"}),
            False,
            'expected response.uid="the-uid", got "x"',
            id="another uid",
        ),
        pytest.param(
            _response({}, kind="", apiVersion=""),
            False,
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
            id="no kind",
        ),
        pytest.param(
            _response({"patch": PATCH}),
            True,
            "webhook returned response.patch but not response.patchType",
            id="a patch without type",
        ),
        pytest.param(
            _response({"patchType": "JSONPatch"}),
            True,
            "webhook returned response.patchType but not response.patch",
            id="a type without patch",
        ),
        pytest.param(
            _response({"patch": PATCH, "patchType": ""}),
            True,
            'webhook returned invalid response.patchType of ""',
            id="an empty type",
        ),
        pytest.param(
            _response({"patch": PATCH, "patchType": "JSONPatch"}),
            False,
            "validating webhook may not return response.patch",
            id="a patch of a validating webhook",
        ),
        pytest.param(
            _response({"patch": "%%%", "patchType": "JSONPatch"}),
            True,
            "illegal base64 data",
            id="a patch that is not base64",
        ),
    ],
)
def test_invalid_responses(body, mutating, message):
    with pytest.raises(InvalidReviewError) as raised:
        reviews.verify_response(REVIEW, body, mutating=mutating)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        pytest.param(
            {"op": "remove", "path": "/data/x"},
            'remove operation does not apply: doc is missing path: "/data/x": missing value',
            id="removes a missing path",
        ),
        pytest.param(
            {"op": "replace", "path": "/x", "value": 1},
            "replace operation does not apply: doc is missing key: /x: missing value",
            id="replaces a missing path",
        ),
        pytest.param(
            {"op": "test", "path": "/a", "value": 2},
            "testing value /a failed: test failed",
            id="tests a different value",
        ),
    ],
)
def test_patches_that_cannot_be_applied(operation, message):
    with pytest.raises(PatchNotApplicableError) as raised:
        jsonpatches.apply({"a": 1}, [operation])
    assert str(raised.value) == message


def test_patches_that_cannot_be_decoded():
    with pytest.raises(InvalidReviewError, match="invalid character 'x' looking for beginning"):
        jsonpatches.decode(b"xx")
    with pytest.raises(InvalidReviewError, match="cannot unmarshal object into Go value"):
        jsonpatches.decode(b"{}")
