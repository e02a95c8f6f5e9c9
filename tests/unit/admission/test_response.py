"""Decisions as responses of an AdmissionReview."""

import base64
from typing import Any

import msgspec
import pytest

from tests.support.admission import make_request
from webhook.admission import response
from webhook.admission.decision import Decision, Finding, PolicyOutcome, Request

SHOOT = {
    "apiVersion": "core.gardener.cloud/v1beta1",
    "kind": "Shoot",
    "metadata": {"name": "s", "namespace": "garden-dev"},
}
REQUEST = make_request(SHOOT)


def written(request: Request, decision: Decision) -> dict[str, Any]:
    body = msgspec.json.decode(response.encode(request, decision))
    assert body["apiVersion"] == "admission.k8s.io/v1"
    assert body["kind"] == "AdmissionReview"
    encoded: dict[str, Any] = body["response"]
    assert encoded.pop("uid") == request.uid
    return encoded


def test_an_allowed_request() -> None:
    assert written(REQUEST, Decision(outcomes=(PolicyOutcome("p", "allow"),))) == {"allowed": True}


def test_the_uid_is_escaped() -> None:
    request = make_request(SHOOT)
    request.uid = '","allowed":false,"x":"'
    assert written(request, Decision()) == {"allowed": True}


def test_a_patch_is_base64_of_json() -> None:
    operations = ({"op": "add", "path": "/a", "value": "ü"},)
    encoded = written(REQUEST, Decision(patch=operations, outcomes=(PolicyOutcome("p", "mutate"),)))
    assert msgspec.json.decode(base64.b64decode(encoded.pop("patch"))) == [*operations]
    assert encoded == {
        "allowed": True,
        "patchType": "JSONPatch",
        "auditAnnotations": {"p": "mutate"},
    }


CAUSES = [
    pytest.param(
        Finding.required("spec.a", "set it"),
        ("FieldValueRequired", "Required value: set it"),
        id="a missing value",
    ),
    pytest.param(
        Finding.invalid("spec.a", 5, "must be 4"),
        ("FieldValueInvalid", "Invalid value: 5: must be 4"),
        id="an invalid value",
    ),
    pytest.param(
        Finding.not_supported("spec.a", "x", ("y", "z")),
        ("FieldValueNotSupported", 'Unsupported value: "x": supported values: y, z'),
        id="an unsupported value",
    ),
    pytest.param(
        Finding.forbidden("spec.a", "leave it out"),
        ("FieldValueForbidden", "Forbidden: leave it out"),
        id="a forbidden field",
    ),
    pytest.param(
        Finding.duplicate("spec.a", "x", "name each once"),
        ("FieldValueDuplicate", 'Duplicate value: "x": name each once'),
        id="a duplicate value",
    ),
]


@pytest.mark.parametrize(("finding", "cause"), CAUSES)
def test_a_denial_has_a_cause_for_its_field(finding: Finding, cause: tuple[str, str]) -> None:
    reason, message = cause
    decision = Decision((finding._replace(policy="p"),), outcomes=(PolicyOutcome("p", "deny"),))
    assert written(REQUEST, decision) == {
        "allowed": False,
        "status": {
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": f"p: spec.a: {message}",
            "details": {
                "name": "s",
                "group": "core.gardener.cloud",
                "kind": "Shoot",
                "causes": [{"reason": reason, "message": message, "field": "spec.a"}],
            },
        },
        "auditAnnotations": {"p": "deny: spec.a"},
    }


def test_a_denial_is_short_whatever_the_client_wrote() -> None:
    long = "x" * 1_000_000
    findings = (
        Finding.invalid(f"spec.{long}", long, f"{long} is not known")._replace(policy="p"),
        Finding.denied(f"seed {long} is full")._replace(policy="p"),
    )
    decision = Decision(findings, outcomes=(PolicyOutcome("p", "deny"),))
    encoded = response.encode(REQUEST, decision)
    assert len(encoded) < 10_000
    assert b"seed xxx" in encoded


def test_a_denial_names_every_fault_and_warnings_are_no_causes() -> None:
    findings = (
        Finding.required("spec.a", "set it")._replace(policy="p"),
        Finding.invalid("spec.b", 5, "must be 4")._replace(policy="p"),
        Finding.warning("spec.c", "hm")._replace(policy="q"),
        Finding.forbidden("spec.d", "leave it out")._replace(policy="q"),
    )
    outcomes = (PolicyOutcome("p", "deny"), PolicyOutcome("q", "deny"))
    denied = written(REQUEST, Decision(findings, ("q: spec.c: hm",), (), outcomes))
    assert denied["status"]["message"] == (
        "p: spec.a: Required value: set it; spec.b: Invalid value: 5: must be 4; "
        "q: spec.d: Forbidden: leave it out"
    )
    causes = denied["status"]["details"]["causes"]
    assert [each["field"] for each in causes] == ["spec.a", "spec.b", "spec.d"]
    assert denied["warnings"] == ["q: spec.c: hm"]
    assert denied["auditAnnotations"] == {"p": "deny: spec.a, spec.b", "q": "deny: spec.c, spec.d"}


def test_denials_because_of_other_objects_are_403() -> None:
    decision = Decision((Finding.denied("in use")._replace(policy="p"),))
    assert response.status(REQUEST, decision) == {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": "p: in use",
        "details": {"name": "s", "group": "core.gardener.cloud", "kind": "Shoot"},
    }


def test_an_invalid_field_makes_it_422() -> None:
    findings = (Finding.denied("full", "spec.seedName"), Finding.required("spec.a", "set it"))
    status = response.status(REQUEST, Decision(findings))
    assert (status["code"], len(status["details"]["causes"])) == (422, 2)


def test_huge_responses_are_truncated() -> None:
    findings = tuple(Finding.invalid(f"a[{n}]", "x" * 10_000, "no") for n in range(2000))
    status = response.status(REQUEST, Decision(findings))
    causes = status["details"]["causes"]
    assert len(causes) == response.MAX_CAUSES + 1
    assert causes[-1]["message"] == "and 1500 more faults of this object"
    assert len(response.encode(REQUEST, Decision(findings))) < 500_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(["a", "b"], ["a", "b"], id="few and short ones are left as they are"),
        pytest.param(["a", "a"], ["a"], id="duplicates are removed"),
        pytest.param(["x\ny\t\x00"], ["x y  "], id="a header is one line"),
        pytest.param(["x" * 256], ["x" * 256], id="256 characters"),
        pytest.param(["x" * 257], ["x" * 255 + "…"], id="257 characters"),
    ],
)
def test_warnings_fit_into_headers(given: list[str], expected: list[str]) -> None:
    assert [*response.limit_warnings(given)] == expected


def test_the_total_length_of_warnings_is_limited() -> None:
    kept = [*response.limit_warnings(f"{number:03}" + "x" * 97 for number in range(100))]
    assert sum(map(len, kept)) <= response.MAX_WARNINGS
    assert kept[-1] == f"and {100 - len(kept) + 1} more warnings"
    exact = [f"{number:03}" + "x" * 253 for number in range(16)]
    assert [*response.limit_warnings(exact)] == exact
