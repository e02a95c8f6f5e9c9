"""AdmissionReviews: create the request, verify the response."""

import base64
import binascii
import uuid
from dataclasses import dataclass
from typing import Final

import orjson

from webhook.dev.apiserver.builtin.typeerrors import GO_TYPE_META, json_type_name
from webhook.dev.apiserver.endpoints import gojson
from webhook.dev.apiserver.webhooks.matching import AdmissionRequest, VersionedResource
from webhook.kube import gotext, jsontext
from webhook.kube.meta import Draft

_GROUP: Final = "admission.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1")


class InvalidReviewError(ValueError):
    """A review that cannot be created, or a response that cannot be decoded or is not valid."""


@dataclass(frozen=True, slots=True)
class Review:
    """An encoded AdmissionReview, with its version and uid."""

    version: str
    uid: str
    body: bytes


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The response of a webhook."""

    allowed: bool
    status: Draft | None
    patch: bytes
    patch_type: str
    warnings: tuple[str, ...]
    audit_annotations: dict[str, str]


def create_review(
    request: AdmissionRequest, resource: VersionedResource, versions: tuple[str, ...]
) -> Review:
    """Create a review in the first of the webhook's versions that this server supports."""
    version = next((known for known in versions if known in _VERSIONS), None)
    if version is None:
        raise InvalidReviewError(
            "could not create admission objects: webhook does not accept known AdmissionReview "
            "versions (v1, v1beta1)"
        )
    uid = str(uuid.uuid4())
    body = {
        "kind": "AdmissionReview",
        "apiVersion": f"{_GROUP}/{version}",
        "request": {"uid": uid, **request_fields(request, resource)},
    }
    return Review(version, uid, jsontext.dumps(body))


def request_fields(request: AdmissionRequest, resource: VersionedResource) -> Draft:
    """Return the fields of a request for reviews and match conditions."""
    own = request.resource
    fields: Draft = {
        "kind": _kind(resource),
        "resource": _resource(resource),
        "requestKind": _kind(own),
        "requestResource": _resource(own),
        "operation": request.operation,
        "userInfo": request.user,
        "object": _in_version(request.obj, resource),
        "oldObject": _in_version(request.old, resource),
        "dryRun": request.dry_run,
        "options": request.options,
    }
    if request.subresource:
        fields["subResource"] = fields["requestSubResource"] = request.subresource
    if request.name:
        fields["name"] = request.name
    if request.namespace:
        fields["namespace"] = request.namespace
    return fields


def _kind(resource: VersionedResource) -> Draft:
    return {
        "group": resource.kind_group,
        "version": resource.kind_version,
        "kind": resource.kind,
    }


def _resource(resource: VersionedResource) -> Draft:
    return {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.resource,
    }


def _in_version(obj: Draft | None, resource: VersionedResource) -> Draft | None:
    """Convert an object to a version; versions differ in their names only."""
    return None if obj is None else {**obj, "apiVersion": resource.api_version}


def verify_response(review: Review, body: bytes, *, mutating: bool) -> AdmissionResponse:
    """Decode and verify a response; raise InvalidReviewError with the message of Kubernetes."""
    decoded = _decode(body)
    response = decoded.get("response")
    if not isinstance(response, dict):
        raise InvalidReviewError("received invalid webhook response: webhook response was absent")
    patch = _patch_bytes(response)
    patch_type = response.get("patchType")
    if review.version == "v1":
        _check_identity(review, decoded, response)
        _check_patch(patch, patch_type, mutating=mutating)
    elif patch:
        patch_type = "JSONPatch"
    return AdmissionResponse(
        allowed=bool(response.get("allowed")),
        status=response.get("status") or None,
        patch=patch if mutating else b"",
        patch_type=patch_type or "",
        warnings=tuple(map(str, response.get("warnings") or ())),
        audit_annotations=response.get("auditAnnotations") or {},
    )


def _decode(body: bytes) -> Draft:
    if not body:
        raise InvalidReviewError(
            "failed to call webhook: 0-length response with status code: 200 and content type: "
            "application/json"
        )
    try:
        decoded = jsontext.loads(body)
    except orjson.JSONDecodeError as error:
        # Kubernetes reads a body that is not JSON as YAML, in which any word is a string.
        problem = gojson.syntax_error(body)
        if not body.lstrip().startswith((b"{", b"[")):
            problem = f"json: cannot unmarshal string into Go value of type {GO_TYPE_META}"
        raise InvalidReviewError(_decode_error(problem)) from error
    if not isinstance(decoded, dict):
        name = json_type_name(decoded)
        raise InvalidReviewError(
            _decode_error(f"json: cannot unmarshal {name} into Go value of type {GO_TYPE_META}")
        )
    version, kind = decoded.get("apiVersion", ""), decoded.get("kind", "")
    if kind and (kind, version) not in {
        ("AdmissionReview", f"{_GROUP}/{known}") for known in _VERSIONS
    }:
        raise InvalidReviewError(
            f"failed to call webhook: no kind {gotext.quote(kind)} is registered for version "
            f'{gotext.quote(version)} in scheme "pkg/runtime/scheme.go:111"'
        )
    return decoded


def _decode_error(problem: str) -> str:
    return f"failed to call webhook: couldn't get version/kind; json parse error: {problem}"


def _patch_bytes(response: Draft) -> bytes:
    text = response.get("patch")
    if not text:
        return b""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise InvalidReviewError(
            "failed to call webhook: illegal base64 data at input byte 0"
        ) from error


def _check_identity(review: Review, decoded: Draft, response: Draft) -> None:
    version = decoded.get("apiVersion", "")
    if version == f"{_GROUP}/v1beta1":
        raise InvalidReviewError(
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): "
            "unknown conversion"
        )
    uid = response.get("uid", "")
    if uid != review.uid:
        raise InvalidReviewError(
            f"received invalid webhook response: expected response.uid={gotext.quote(review.uid)}, "
            f"got {gotext.quote(str(uid))}"
        )
    if version != f"{_GROUP}/v1" or decoded.get("kind") != "AdmissionReview":
        group, _, short = version.rpartition("/")
        raise InvalidReviewError(
            f"received invalid webhook response: expected webhook response of {_GROUP}/v1, "
            f"Kind=AdmissionReview, got {group}/{short}, Kind={decoded.get('kind', '')}"
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
        raise InvalidReviewError(f"received invalid webhook response: {problem}")
