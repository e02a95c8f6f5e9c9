"""AdmissionReviews: write the question, judge the answer."""

import base64
import binascii
import uuid
from dataclasses import dataclass
from typing import Any, Final

import orjson

from webhook.api import gotext, jsontext
from webhook.apiserver import gojson
from webhook.apiserver.webhooks.matching import Identity, Request

Object = dict[str, Any]

_GROUP: Final = "admission.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1")
_GO_HEADER: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
    '"json:\\"kind,omitempty\\"" }'
)


class BadAnswerError(ValueError):
    """An answer that cannot be read, or that breaks the rules of reviews."""


@dataclass(frozen=True, slots=True)
class Question:
    """A review on its way: its version, its uid and its bytes."""

    version: str
    uid: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What a webhook said."""

    allowed: bool
    status: Object | None
    patch: bytes
    patch_type: str
    warnings: tuple[str, ...]
    audit_annotations: dict[str, str]


def question(request: Request, identity: Identity, versions: tuple[str, ...]) -> Question:
    """Write a review in the first version that both sides know."""
    version = next((one for one in versions if one in _VERSIONS), None)
    if version is None:
        raise BadAnswerError(
            "could not create admission objects: webhook does not accept known AdmissionReview "
            "versions (v1, v1beta1)"
        )
    uid = str(uuid.uuid4())
    body = {
        "kind": "AdmissionReview",
        "apiVersion": f"{_GROUP}/{version}",
        "request": {"uid": uid, **describe(request, identity)},
    }
    return Question(version, uid, jsontext.dumps(body))


def describe(request: Request, identity: Identity) -> Object:
    """Describe a request as reviews and conditions see it."""
    own = request.identity
    described: Object = {
        "kind": _kind(identity),
        "resource": _resource(identity),
        "requestKind": _kind(own),
        "requestResource": _resource(own),
        "operation": request.operation,
        "userInfo": request.user,
        "object": _at(request.obj, identity),
        "oldObject": _at(request.old, identity),
        "dryRun": request.dry_run,
        "options": request.options,
    }
    if request.subresource:
        described["subResource"] = described["requestSubResource"] = request.subresource
    if request.name:
        described["name"] = request.name
    if request.namespace:
        described["namespace"] = request.namespace
    return described


def _kind(identity: Identity) -> Object:
    return {
        "group": identity.kind_group,
        "version": identity.kind_version,
        "kind": identity.kind,
    }


def _resource(identity: Identity) -> Object:
    return {
        "group": identity.group,
        "version": identity.version,
        "resource": identity.resource,
    }


def _at(obj: Object | None, identity: Identity) -> Object | None:
    """Versions differ in their name only."""
    return None if obj is None else {**obj, "apiVersion": identity.api_version}


def answer(asked: Question, body: bytes, *, mutating: bool) -> Answer:
    """Read an answer; `received` faults are those that a Kubernetes API server finds."""
    review = _decode(body)
    found = review.get("response")
    if not isinstance(found, dict):
        raise BadAnswerError("received invalid webhook response: webhook response was absent")
    patch = _patch_bytes(found)
    patch_type = found.get("patchType")
    if asked.version == "v1":
        _check_identity(asked, review, found)
        _check_patch(patch, patch_type, mutating=mutating)
    elif patch:
        patch_type = "JSONPatch"
    return Answer(
        allowed=bool(found.get("allowed")),
        status=found.get("status") or None,
        patch=patch if mutating else b"",
        patch_type=patch_type or "",
        warnings=tuple(map(str, found.get("warnings") or ())),
        audit_annotations=found.get("auditAnnotations") or {},
    )


def _decode(body: bytes) -> Object:
    if not body:
        raise BadAnswerError(
            "failed to call webhook: 0-length response with status code: 200 and content type: "
            "application/json"
        )
    try:
        review = jsontext.loads(body)
    except orjson.JSONDecodeError as error:
        # Kubernetes takes what is no JSON for YAML, in which any word is a string.
        problem = gojson.syntax_error(body)
        if not body.lstrip().startswith((b"{", b"[")):
            problem = f"json: cannot unmarshal string into Go value of type {_GO_HEADER}"
        raise BadAnswerError(_unreadable(problem)) from error
    if not isinstance(review, dict):
        names = {str: "string", list: "array", bool: "bool"}
        name = names.get(type(review), "number")
        raise BadAnswerError(
            _unreadable(f"json: cannot unmarshal {name} into Go value of type {_GO_HEADER}")
        )
    version, kind = review.get("apiVersion", ""), review.get("kind", "")
    if kind and (kind, version) not in {
        ("AdmissionReview", f"{_GROUP}/{one}") for one in _VERSIONS
    }:
        raise BadAnswerError(
            f"failed to call webhook: no kind {gotext.quote(kind)} is registered for version "
            f'{gotext.quote(version)} in scheme "pkg/runtime/scheme.go:111"'
        )
    return review


def _unreadable(problem: str) -> str:
    return f"failed to call webhook: couldn't get version/kind; json parse error: {problem}"


def _patch_bytes(found: Object) -> bytes:
    text = found.get("patch")
    if not text:
        return b""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise BadAnswerError(
            "failed to call webhook: illegal base64 data at input byte 0"
        ) from error


def _check_identity(asked: Question, review: Object, found: Object) -> None:
    version = review.get("apiVersion", "")
    if version == f"{_GROUP}/v1beta1":
        raise BadAnswerError(
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): "
            "unknown conversion"
        )
    uid = found.get("uid", "")
    if uid != asked.uid:
        raise BadAnswerError(
            f"received invalid webhook response: expected response.uid={gotext.quote(asked.uid)}, "
            f"got {gotext.quote(str(uid))}"
        )
    if version != f"{_GROUP}/v1" or review.get("kind") != "AdmissionReview":
        group, _, short = version.rpartition("/")
        raise BadAnswerError(
            f"received invalid webhook response: expected webhook response of {_GROUP}/v1, "
            f"Kind=AdmissionReview, got {group}/{short}, Kind={review.get('kind', '')}"
        )


def _check_patch(patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    problem = ""
    if not mutating:
        if patch:
            problem = "validating webhook may not return response.patch"
        elif patch_type is not None:
            problem = "validating webhook may not return response.patchType"
    elif patch and patch_type is None:
        problem = "webhook returned response.patch but not response.patchType"
    elif not patch and patch_type is not None:
        problem = "webhook returned response.patchType but not response.patch"
    elif patch_type == "":
        problem = 'webhook returned invalid response.patchType of ""'
    if problem:
        raise BadAnswerError(f"received invalid webhook response: {problem}")
