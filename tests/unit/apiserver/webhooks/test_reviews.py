"""Questions to webhooks and their answers, judged as Kubernetes v1.36 does."""

import base64
import json
from typing import Any

import pytest

from tests.unit.apiserver.webhooks.test_matching import V1, V2, _request
from webhook.apiserver.webhooks import jsonpatches, reviews
from webhook.apiserver.webhooks.jsonpatches import UnfitPatchError
from webhook.apiserver.webhooks.reviews import BadAnswerError, Question

ASKED = Question("v1", "the-uid", b"")
PATCH = base64.b64encode(b'[{"op":"add","path":"/a","value":1}]').decode()


def _answer(response: Any = None, **review: Any) -> bytes:
    made = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", **review}
    if response is not None:
        made["response"] = {"uid": "the-uid", "allowed": True, **response}
    return json.dumps(made).encode()


def test_a_question_tells_what_is_asked_and_in_which_version():
    request = _request(subresource="scale", old={"apiVersion": "apps/v1"})
    asked = reviews.question(request, V2, ("v2", "v1"))
    body = json.loads(asked.body)
    assert body["apiVersion"] == "admission.k8s.io/v1"
    told = body["request"]
    assert told["uid"] == asked.uid
    assert (told["kind"]["version"], told["requestKind"]["version"]) == ("v2", "v1")
    assert told["oldObject"] == {"apiVersion": "apps/v2"}
    assert (told["subResource"], told["name"], told["namespace"]) == ("scale", "d", "n")


def test_a_webhook_that_knows_no_version_of_ours_cannot_be_asked():
    with pytest.raises(BadAnswerError, match=r"does not accept known AdmissionReview versions"):
        reviews.question(_request(), V1, ("v9",))


def test_an_answer():
    body = _answer({"patch": PATCH, "patchType": "JSONPatch", "warnings": ["w"]})
    answer = reviews.answer(ASKED, body, mutating=True)
    assert answer.allowed
    assert json.loads(answer.patch) == [{"op": "add", "path": "/a", "value": 1}]
    assert answer.warnings == ("w",)


@pytest.mark.parametrize(
    ("body", "mutating", "message"),
    [
        pytest.param(b"", False, "0-length response with status code: 200", id="nothing"),
        pytest.param(b"hello", False, "json: cannot unmarshal string", id="a word"),
        pytest.param(b"[1]", False, "json: cannot unmarshal array", id="a list"),
        pytest.param(_answer(), False, "webhook response was absent", id="no response"),
        pytest.param(
            _answer({}, kind="Foo", apiVersion="v1"),
            False,
            'no kind "Foo" is registered for version "v1"',
            id="another kind",
        ),
        pytest.param(
            _answer({}, apiVersion="admission.k8s.io/v1beta1"),
            False,
            "unknown conversion",
            id="another version",
        ),
        pytest.param(
            _answer({"uid": "x"}),
            False,
            'expected response.uid="the-uid", got "x"',
            id="another uid",
        ),
        pytest.param(
            _answer({}, kind="", apiVersion=""),
            False,
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
            id="no kind",
        ),
        pytest.param(
            _answer({"patch": PATCH}),
            True,
            "webhook returned response.patch but not response.patchType",
            id="a patch without type",
        ),
        pytest.param(
            _answer({"patchType": "JSONPatch"}),
            True,
            "webhook returned response.patchType but not response.patch",
            id="a type without patch",
        ),
        pytest.param(
            _answer({"patch": PATCH, "patchType": ""}),
            True,
            'webhook returned invalid response.patchType of ""',
            id="an empty type",
        ),
        pytest.param(
            _answer({"patch": PATCH, "patchType": "JSONPatch"}),
            False,
            "validating webhook may not return response.patch",
            id="a patch of a validating webhook",
        ),
        pytest.param(
            _answer({"patch": "%%%", "patchType": "JSONPatch"}),
            True,
            "illegal base64 data",
            id="a patch that is not encoded",
        ),
    ],
)
def test_answers_that_break_the_rules(body, mutating, message):
    with pytest.raises(BadAnswerError) as raised:
        reviews.answer(ASKED, body, mutating=mutating)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        pytest.param(
            {"op": "remove", "path": "/data/x"},
            'remove operation does not apply: doc is missing path: "/data/x": missing value',
            id="removes what is not there",
        ),
        pytest.param(
            {"op": "replace", "path": "/x", "value": 1},
            "replace operation does not apply: doc is missing key: /x: missing value",
            id="replaces what is not there",
        ),
        pytest.param(
            {"op": "test", "path": "/a", "value": 2},
            "testing value /a failed: test failed",
            id="expects something else",
        ),
    ],
)
def test_patches_that_do_not_fit(operation, message):
    with pytest.raises(UnfitPatchError) as raised:
        jsonpatches.applied({"a": 1}, [operation])
    assert str(raised.value) == message


def test_patches_that_are_none():
    with pytest.raises(BadAnswerError, match="invalid character 'x' looking for beginning"):
        jsonpatches.decode(b"xx")
    with pytest.raises(BadAnswerError, match="cannot unmarshal object into Go value"):
        jsonpatches.decode(b"{}")
