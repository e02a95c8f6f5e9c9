"""Decode AdmissionReview v1 requests, as far as a decision needs them."""

from functools import cache, lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw

from webhook.admission import json_limits
from webhook.admission.decision import (
    DECODE_ERRORS,
    DecodedObjects,
    Finding,
    ObjectBytes,
    Operation,
    Request,
    UserInfo,
)
from webhook.admission.response import API_VERSION, KIND
from webhook.api import kinds
from webhook.api.kinds import Kind
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.nesting import decode_shallow

_NULL: Final = Raw(b"null")
_RESOURCE: Final = b'"resource":{'
_RESOURCE_WITHIN: Final = 1024
_LONGEST_RESOURCE: Final = 512


class ReviewError(ValueError):
    """A body that is not an AdmissionReview v1; the message is one sentence."""


class _Resource(msgspec.Struct, frozen=True, gc=False):
    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""


class _Request(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    uid: str
    operation: Operation
    resource: _Resource
    kind: _Resource = _Resource()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: UserInfo = UserInfo()
    object: Raw = _NULL
    old_object: Raw = _NULL
    dry_run: bool | None = None


class _Review(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_decoder: Final = msgspec.json.Decoder(_Review)
_parts: Final = msgspec.json.Decoder(dict[str, Raw])
_OBJECTS: Final = ("object", "oldObject")


def decode(body: bytes) -> Request:
    """Decode a review; errors in the object itself are left to the decision."""
    is_deep = json_limits.is_deep(body, json_limits.MAX_DECODED)
    request = _read(body)
    kind = kinds.find_resource(
        request.resource.group, request.resource.version, request.resource.resource
    )
    new, old = _bytes(request.object), _bytes(request.old_object)
    _check_envelope(body, len(new or b"") + len(old or b""))
    faults: tuple[Finding, ...] = ()
    if is_deep:
        new, old, faults = _prune(new, old)
    return Request(
        uid=request.uid,
        kind=kind,
        operation=request.operation,
        key=ObjectKey(request.namespace, request.name or _name_in(new or old)),
        subresource=request.sub_resource,
        user=request.user_info,
        dry_run=bool(request.dry_run),
        new=new,
        old=old,
        faults=faults,
    )


def _prune(new: bytes | None, old: bytes | None) -> tuple[*ObjectBytes, tuple[Finding, ...]]:
    """Return objects that can be decoded, and the faults of the new one.

    The stored object has no faults: it may be deleted, and an update may repair it.
    """
    stored = json_limits.prune(old) if old is not None else None
    given = json_limits.prune(new) if new is not None else None
    if new and given and stored and given.removed != stored.removed:
        # What differs only in its depths still differs, and is no removal of finalizers.
        given = json_limits.prune(new, b"{}")
    return (
        given.data if given is not None else None,
        stored.data if stored is not None else None,
        given.faults if given is not None else (),
    )


def decode_whole(body: bytes) -> Request:
    """Decode a review and its objects in one pass; the bytes of the objects are cut on demand.

    A review that is unusual in any way is decoded step by step as `decode` does.
    """
    kind = _kind_in(body)
    if kind is None or not body.isascii() or json_limits.is_suspect(_new_part(body)):
        return decode(body)
    try:
        review = _whole(kind.model).decode(body)
    except DECODE_ERRORS:
        return decode(body)
    request = review.request
    if (
        request is None
        or not request.name
        or not _is_about(request, kind)
        or not _is_review(review)
    ):
        return decode(body)
    return Request(
        uid=request.uid,
        kind=kind,
        operation=request.operation,
        key=ObjectKey(request.namespace, request.name),
        subresource=request.sub_resource,
        user=request.user_info,
        dry_run=bool(request.dry_run),
        decoded=DecodedObjects(request.object, request.old_object, lambda: _cut(body)),
    )


def _new_part(body: bytes) -> bytes:
    """Return the body without the stored object, which API servers write after the new one.

    No string in either object can look like the key between them, as quotes in strings are escaped.
    If a key inside an object does, only less is cut off.
    """
    new, old = body.find(b'"object":'), body.rfind(b',"oldObject":')
    return body[:old] if 0 <= new < old else body


def _kind_in(body: bytes) -> Kind | None:
    """Guess the kind from the beginning of the body; the caller checks it after decoding."""
    start = body.find(_RESOURCE, 0, _RESOURCE_WITHIN)
    end = body.find(b"}", start, start + _LONGEST_RESOURCE)
    return _guess(body[start + len(_RESOURCE) - 1 : end + 1]) if 0 <= start < end else None


@lru_cache(maxsize=256)
def _guess(resource: bytes) -> Kind | None:
    try:
        found = msgspec.json.decode(resource, type=_Resource)
    except DECODE_ERRORS:
        return None
    return kinds.find_resource(found.group, found.version, found.resource)


@cache
def _whole(model: type[Object]) -> msgspec.json.Decoder[Any]:
    """Return a decoder for reviews of one kind."""
    optional = model | None
    fields = [("object", optional, None), ("old_object", optional, None)]
    base = (_Request,)
    request = msgspec.defstruct(
        "_Request", fields, bases=base, frozen=True, gc=False, rename="camel"
    )
    inner = [("request", request | None, None)]
    whole = msgspec.defstruct(
        "_Review", inner, bases=(_Review,), frozen=True, gc=False, rename="camel"
    )
    return msgspec.json.Decoder(whole)


def _is_about(request: _Request, kind: Kind) -> bool:
    resource = request.resource
    return bool(request.uid) and (
        (resource.group, resource.version, resource.resource)
        == (kind.group, kind.version, kind.plural)
    )


def _is_review(review: _Review) -> bool:
    return review.api_version == API_VERSION and review.kind == KIND


def _cut(body: bytes) -> ObjectBytes:
    request = _decoder.decode(body).request
    return (
        (_bytes(request.object), _bytes(request.old_object))
        if request is not None
        else (None, None)
    )


def _read(body: bytes) -> _Request:
    try:
        if not body.isascii():
            body.decode()
        review = decode_shallow(_decoder, body)
    except UnicodeDecodeError as error:
        raise ReviewError(f"the body is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise ReviewError("the body is nested deeper than API servers accept") from error
    except DECODE_ERRORS as error:
        raise ReviewError(f"the body is not an AdmissionReview: {error}") from error
    if not _is_review(review):
        found = f"{review.api_version[:80]!r} {review.kind[:80]!r}"
        raise ReviewError(f"the body is {found}, send an {API_VERSION} {KIND}")
    request = review.request
    if request is None or not request.uid:
        raise ReviewError("the review has no request with a uid")
    return request


def _check_envelope(body: bytes, inside: int) -> None:
    """Raise ReviewError if the review exceeds JSON limits outside of its objects.

    API servers write both objects one after the other, so the rest is found by their lengths. Only
    if that looks suspect is the whole body decoded again.
    """
    start = body.find(b'"object":')
    rest = body[:start] + body[start + inside :] if start >= 0 else body
    if not json_limits.may_be_deep(rest) and not json_limits.has_long_number(rest):
        return
    around = decode_shallow(_parts, body)
    request = decode_shallow(_parts, around["request"])
    outside = {name: part for name, part in request.items() if name not in _OBJECTS}
    envelope = msgspec.json.encode(around | {"request": outside})
    if json_limits.is_suspect(envelope):
        for fault in json_limits.faults(envelope):
            where = f" at {fault.field}" if fault.field else ""
            raise ReviewError(f"the review is malformed{where}: {fault.message}")


def _bytes(raw: Raw) -> bytes | None:
    data = bytes(raw)
    return None if data == b"null" else data


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    generate_name: str = ""


class _Nameable(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()


_nameable: Final = msgspec.json.Decoder(_Nameable)


def _name_in(data: bytes | None) -> str:
    """Return the name in an object; requests have none on CREATE with generateName."""
    if data is None:
        return ""
    try:
        metadata = decode_shallow(_nameable, data).metadata
    except DECODE_ERRORS:
        return ""
    return metadata.name or metadata.generate_name
