"""The shape of an object: whether it can be decoded, and every field for which it cannot."""

from webhook.admission import json_limits
from webhook.admission.decision import DECODE_ERRORS, TYPE_INVALID, Finding, Request
from webhook.api import decode
from webhook.api.kinds import Kind


def is_decodable(request: Request) -> bool:
    """Return whether an object has no faults, without a search for all of them."""
    if request.kind is None or request.is_shape_checked:
        return True
    if exceeded_limits(request):
        return False
    try:
        request.object_as(request.kind.model)
    except DECODE_ERRORS:
        return False
    return True


def faults(request: Request) -> tuple[Finding, ...]:
    """Return why the object cannot be decoded, field by field."""
    kind = request.kind
    if kind is None or request.object_bytes is None or request.is_shape_checked:
        return ()
    if exceeded := exceeded_limits(request):
        return exceeded
    try:
        request.object_as(kind.model)
    except DECODE_ERRORS as error:
        return _type_faults(kind, request) or (_unreadable(error),)
    return ()


def exceeded_limits(request: Request) -> tuple[Finding, ...]:
    """Return the limits of JSON that the object exceeds."""
    data = request.object_bytes
    if request.faults or data is None:
        return request.faults
    return json_limits.faults(data) if json_limits.is_suspect(data) else ()


def _type_faults(kind: Kind, request: Request) -> tuple[Finding, ...]:
    try:
        malformed = decode.malformed_fields(kind, request.raw())
    except DECODE_ERRORS as error:
        return (_unreadable(error),)
    return tuple(Finding(fault.path, fault.message, TYPE_INVALID) for fault in malformed)


def _unreadable(error: Exception) -> Finding:
    return Finding("", f"cannot be read: {error}", TYPE_INVALID)
