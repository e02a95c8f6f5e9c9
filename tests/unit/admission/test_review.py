"""AdmissionReviews on the wire."""

import base64
import json
from typing import Any

import msgspec
import pytest

from tests.admission import make_request
from webhook.admission import review
from webhook.admission.decision import Decision, Finding, Outcome, Request
from webhook.admission.review import ReviewError
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot

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


def answer(request: Request, decision: Decision) -> dict[str, Any]:
    written = msgspec.json.decode(review.encode(request, decision))
    assert written["apiVersion"] == "admission.k8s.io/v1"
    assert written["kind"] == "AdmissionReview"
    response: dict[str, Any] = written["response"]
    assert response.pop("uid") == request.uid
    return response


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
        id="a kind that nobody judges",
    ),
]


@pytest.mark.parametrize(("body", "at_once"), BODIES)
def test_reading_in_one_pass_and_step_by_step_is_the_same(body: bytes, at_once: bool) -> None:
    whole, steps = review.decode_whole(body), review.decode(body)
    assert whole.is_sound is at_once
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


def test_a_generated_name_is_named_by_its_beginning() -> None:
    request = read(
        operation="CREATE", name="", object={"metadata": {"generateName": "s-"}}, oldObject=None
    )
    assert request.key.name == "s-"


@pytest.mark.parametrize("odd", [5, {"metadata": 5}, {"metadata": {"name": []}}])
def test_an_odd_object_is_left_to_the_decision(odd: Any) -> None:
    assert read(operation="CREATE", name="", object=odd, oldObject=None).key.name == ""


def test_subresource_and_dry_run_are_read() -> None:
    request = read(subResource="status", dryRun=True)
    assert (request.subresource, request.dry_run) == ("status", True)


def test_an_unknown_kind_is_read_too() -> None:
    assert read(resource={"group": "", "version": "v1", "resource": "pods2"}).kind is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"", "no AdmissionReview", id="nothing"),
        pytest.param(b"{", "no AdmissionReview", id="half of JSON"),
        pytest.param(b"[1]", "no AdmissionReview", id="another type"),
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
            PLAIN.replace(b'"here"', b"[" * 9000 + b"]" * 9000),
            "nested deeper than 200 levels",
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
def test_what_is_no_review_is_refused_in_one_sentence(body: bytes, said: str) -> None:
    with pytest.raises(ReviewError) as raised:
        review.decode(body)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_an_envelope_has_besides_is_passed_by_if_its_shape_is_right() -> None:
    more = b'{"more":' + b"[" * 150 + b"]" * 150 + b',"text":"' + b"9" * 40 + b'","large":'
    for largest in (b"9223372036854775807", b"-9223372036854775808", b"1234567890123456789.5"):
        assert review.decode(PLAIN.replace(b"{", more + largest + b",", 1)).uid == "f0d1"
    for too_large in (b"9223372036854775808", b"-9223372036854775809", b"9" * 40):
        with pytest.raises(review.ReviewError, match="at large: integers have at most 64 bits"):
            review.decode(PLAIN.replace(b"{", more + too_large + b",", 1))


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


def test_the_plain_yes() -> None:
    assert answer(read(), Decision(outcomes=(Outcome("p", "allow"),))) == {"allowed": True}


def test_an_uid_cannot_break_out_of_the_answer() -> None:
    assert answer(read(uid='","allowed":false,"x":"'), Decision()) == {"allowed": True}


def test_a_patch_is_base64_of_json() -> None:
    operations = ({"op": "add", "path": "/a", "value": "ü"},)
    response = answer(read(), Decision(patch=operations, outcomes=(Outcome("p", "mutate"),)))
    assert msgspec.json.decode(base64.b64decode(response.pop("patch"))) == [*operations]
    assert response == {
        "allowed": True,
        "patchType": "JSONPatch",
        "auditAnnotations": {"p": "mutate"},
    }


def test_a_refusal_has_a_cause_for_each_field() -> None:
    findings = (
        Finding.required("spec.a", "set it")._replace(policy="p"),
        Finding.invalid("spec.b", 5, "must be 4")._replace(policy="p"),
        Finding.not_supported("spec.c", "x", ("y", "z"))._replace(policy="q"),
        Finding.warning("spec.d", "hm")._replace(policy="q"),
        Finding.forbidden("spec.e", "leave it out")._replace(policy="q"),
        Finding.duplicate("spec.f[1]", "x", "name each once")._replace(policy="q"),
    )
    decision = Decision(
        findings, ("q: spec.d: hm",), (), (Outcome("p", "deny"), Outcome("q", "deny"))
    )
    assert answer(read(), decision) == {
        "allowed": False,
        "status": {
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": (
                "p: spec.a: Required value: set it; spec.b: Invalid value: 5: must be 4; "
                'q: spec.c: Unsupported value: "x": supported values: y, z; '
                "spec.e: Forbidden: leave it out; "
                'spec.f[1]: Duplicate value: "x": name each once'
            ),
            "details": {
                "name": "s",
                "group": "core.gardener.cloud",
                "kind": "Shoot",
                "causes": [
                    {
                        "reason": "FieldValueRequired",
                        "message": "Required value: set it",
                        "field": "spec.a",
                    },
                    {
                        "reason": "FieldValueInvalid",
                        "message": "Invalid value: 5: must be 4",
                        "field": "spec.b",
                    },
                    {
                        "reason": "FieldValueNotSupported",
                        "message": 'Unsupported value: "x": supported values: y, z',
                        "field": "spec.c",
                    },
                    {
                        "reason": "FieldValueForbidden",
                        "message": "Forbidden: leave it out",
                        "field": "spec.e",
                    },
                    {
                        "reason": "FieldValueDuplicate",
                        "message": 'Duplicate value: "x": name each once',
                        "field": "spec.f[1]",
                    },
                ],
            },
        },
        "warnings": ["q: spec.d: hm"],
        "auditAnnotations": {
            "p": "deny: spec.a, spec.b",
            "q": "deny: spec.c, spec.d, spec.e, spec.f[1]",
        },
    }


def test_what_only_the_landscape_forbids_is_403() -> None:
    decision = Decision((Finding.denied("in use")._replace(policy="p"),))
    assert review.status(read(), decision) == {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": "p: in use",
        "details": {"name": "s", "group": "core.gardener.cloud", "kind": "Shoot"},
    }


def test_a_fault_of_the_object_beside_it_makes_it_422() -> None:
    findings = (Finding.denied("full", "spec.seedName"), Finding.required("spec.a", "set it"))
    status = review.status(read(), Decision(findings))
    assert (status["code"], len(status["details"]["causes"])) == (422, 2)


def test_huge_answers_are_cut() -> None:
    findings = tuple(Finding.invalid(f"a[{n}]", "x" * 10_000, "no") for n in range(2000))
    status = review.status(read(), Decision(findings))
    causes = status["details"]["causes"]
    assert len(causes) == review.MAX_CAUSES + 1
    assert causes[-1]["message"] == "and 1500 more faults of this object"
    assert len(review.encode(read(), Decision(findings))) < 500_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(["a", "b"], ["a", "b"], id="few and short ones are left as they are"),
        pytest.param(["a", "a"], ["a"], id="each is said once"),
        pytest.param(["x\ny\t\x00"], ["x y  "], id="a header is one line"),
        pytest.param(["x" * 256], ["x" * 256], id="256 characters"),
        pytest.param(["x" * 257], ["x" * 255 + "…"], id="257 characters"),
    ],
)
def test_warnings_fit_into_headers(given: list[str], expected: list[str]) -> None:
    assert [*review.limit_warnings(given)] == expected


def test_warnings_together_fit_into_what_the_server_passes_on() -> None:
    kept = [*review.limit_warnings(f"{number:03}" + "x" * 97 for number in range(100))]
    assert sum(map(len, kept)) <= review.MAX_WARNINGS
    assert kept[-1] == f"and {100 - len(kept) + 1} more warnings"
    exact = [f"{number:03}" + "x" * 253 for number in range(16)]
    assert [*review.limit_warnings(exact)] == exact


def test_make_request_is_what_a_review_gives() -> None:
    made, decoded = make_request(SHOOT, SHOOT), read(oldObject=SHOOT)
    assert (made.key, made.kind, made.operation) == (decoded.key, decoded.kind, decoded.operation)
