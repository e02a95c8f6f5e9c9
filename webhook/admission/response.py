"""Encode decisions as responses of an AdmissionReview v1, which kubectl prints by field."""

import base64
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET

from webhook.admission.decision import (
    DENIED,
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TYPE_INVALID,
    Decision,
    Finding,
    Request,
)
from webhook.kube import fielderrors

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
MAX_CAUSES: Final = 500
MAX_WARNING: Final = 256
MAX_WARNINGS: Final = 4096

_HEAD: Final = f'{{"apiVersion":"{API_VERSION}","kind":"{KIND}","response":{{"uid":'.encode()
_ALLOW: Final = b',"allowed":true}}'
_MAX_VALUE: Final = 120
_MAX_TEXT: Final = 1024
"""How much of a field or of a message is shown: both may contain what a client wrote."""
_CAUSES: Final = {
    REQUIRED: (fielderrors.REQUIRED, "Required value"),
    INVALID: (fielderrors.INVALID, "Invalid value"),
    FORBIDDEN: (fielderrors.FORBIDDEN, "Forbidden"),
    DUPLICATE: (fielderrors.DUPLICATE, "Duplicate value"),
    NOT_SUPPORTED: (fielderrors.NOT_SUPPORTED, "Unsupported value"),
    TOO_LONG: (fielderrors.TOO_LONG, "Too long"),
    TYPE_INVALID: (fielderrors.TYPE_INVALID, "Invalid value"),
    DENIED: (fielderrors.FORBIDDEN, "Forbidden"),
}


def encode(request: Request, decision: Decision) -> bytes:
    """Encode the response to a review."""
    uid = msgspec.json.encode(request.uid)
    if not decision.findings and not decision.patch and not decision.warnings:
        return b"".join((_HEAD, uid, _ALLOW))
    response: dict[str, Any] = {"uid": request.uid, "allowed": decision.allowed}
    if not decision.allowed:
        response["status"] = status(request, decision)
    elif decision.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(decision.patch)).decode()
    if decision.warnings:
        response["warnings"] = list(limit_warnings(decision.warnings))
    audit = decision.audit
    if audit:
        response["auditAnnotations"] = audit
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def status(request: Request, decision: Decision) -> dict[str, Any]:
    """Return a denial as a Kubernetes Status, so that kubectl prints a line for each field.

    The code is 422 if the object is invalid, 403 if only other objects or the user forbid it.
    """
    fatal = [finding for finding in decision.findings if finding.fatal]
    denied = all(finding.reason == DENIED for finding in fatal)
    kind = request.kind
    details: dict[str, Any] = {"name": request.key.name}
    if kind is not None:
        details |= {"group": kind.group, "kind": kind.name}
    if not denied or any(finding.field for finding in fatal):
        details["causes"] = list(_causes(fatal))
    return {
        "status": "Failure",
        "code": 403 if denied else 422,
        "reason": "Forbidden" if denied else "Invalid",
        "message": _message(fatal),
        "details": details,
    }


def describe(finding: Finding) -> str:
    """Format one finding like a Kubernetes field error."""
    return f"{_cut(finding.field)}: {_body(finding)}" if finding.field else _cut(finding.message)


def limit_warnings(warnings: Iterable[str]) -> Iterable[str]:
    """Limit warnings to what API servers pass on: 256 characters each, 4096 together."""
    left = MAX_WARNINGS
    lines = list(dict.fromkeys(_one_line(text) for text in warnings))
    for number, text in enumerate(lines):
        rest = len(lines) - number - 1
        more = f"and {rest + 1} more warnings"
        if len(text) > left - (len(more) if rest else 0):
            yield more
            return
        left -= len(text)
        yield text


def _one_line(text: str) -> str:
    line = "".join(char if char.isprintable() else " " for char in text)
    return line if len(line) <= MAX_WARNING else f"{line[: MAX_WARNING - 1]}…"


def _causes(findings: list[Finding]) -> Iterable[dict[str, str]]:
    for finding in findings[:MAX_CAUSES]:
        yield {
            "reason": _CAUSES[finding.reason][0],
            "message": _body(finding),
            "field": _cut(finding.field),
        }
    if len(findings) > MAX_CAUSES:
        more = f"and {len(findings) - MAX_CAUSES} more faults of this object"
        yield {"reason": fielderrors.INVALID, "message": more, "field": ""}


def _message(findings: list[Finding]) -> str:
    """List the findings by policy; kubectl shows this text if there are no causes."""
    by_policy: dict[str, list[str]] = {}
    for finding in findings[:MAX_CAUSES]:
        by_policy.setdefault(finding.policy, []).append(describe(finding))
    return "; ".join(f"{policy}: {'; '.join(texts)}" for policy, texts in by_policy.items())


def _body(finding: Finding) -> str:
    value = "" if finding.value is UNSET else f"{_shown(finding.value)}: "
    return f"{_CAUSES[finding.reason][1]}: {value}{_cut(finding.message)}"


def _shown(value: Any) -> str:
    return _cut(msgspec.json.encode(value).decode(), _MAX_VALUE)


def _cut(text: str, limit: int = _MAX_TEXT) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
