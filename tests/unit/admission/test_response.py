"""Decisions as API servers are told them."""

import base64
from typing import Any

import msgspec
import pytest

from tests.admission import make_request
from webhook.admission import response
from webhook.admission.decision import Decision, Finding, Outcome, Request

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
    told: dict[str, Any] = body["response"]
    assert told.pop("uid") == request.uid
    return told


def test_the_plain_yes() -> None:
    assert written(REQUEST, Decision(outcomes=(Outcome("p", "allow"),))) == {"allowed": True}


def test_an_uid_cannot_break_out_of_the_answer() -> None:
    request = make_request(SHOOT)
    request.uid = '","allowed":false,"x":"'
    assert written(request, Decision()) == {"allowed": True}


def test_a_patch_is_base64_of_json() -> None:
    operations = ({"op": "add", "path": "/a", "value": "ü"},)
    told = written(REQUEST, Decision(patch=operations, outcomes=(Outcome("p", "mutate"),)))
    assert msgspec.json.decode(base64.b64decode(told.pop("patch"))) == [*operations]
    assert told == {
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
    assert written(REQUEST, decision) == {
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
    assert response.status(REQUEST, decision) == {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": "p: in use",
        "details": {"name": "s", "group": "core.gardener.cloud", "kind": "Shoot"},
    }


def test_a_fault_of_the_object_beside_it_makes_it_422() -> None:
    findings = (Finding.denied("full", "spec.seedName"), Finding.required("spec.a", "set it"))
    status = response.status(REQUEST, Decision(findings))
    assert (status["code"], len(status["details"]["causes"])) == (422, 2)


def test_huge_answers_are_cut() -> None:
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
        pytest.param(["a", "a"], ["a"], id="each is said once"),
        pytest.param(["x\ny\t\x00"], ["x y  "], id="a header is one line"),
        pytest.param(["x" * 256], ["x" * 256], id="256 characters"),
        pytest.param(["x" * 257], ["x" * 255 + "…"], id="257 characters"),
    ],
)
def test_warnings_fit_into_headers(given: list[str], expected: list[str]) -> None:
    assert [*response.limit_warnings(given)] == expected


def test_warnings_together_fit_into_what_the_server_passes_on() -> None:
    kept = [*response.limit_warnings(f"{number:03}" + "x" * 97 for number in range(100))]
    assert sum(map(len, kept)) <= response.MAX_WARNINGS
    assert kept[-1] == f"and {100 - len(kept) + 1} more warnings"
    exact = [f"{number:03}" + "x" * 253 for number in range(16)]
    assert [*response.limit_warnings(exact)] == exact
