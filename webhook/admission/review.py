"""Requests on the wire: the bytes of an AdmissionReview v1, read as far as a decision needs."""

from functools import cache, lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw

from webhook.admission import structure
from webhook.admission.decision import UNREADABLE, Operation, Pair, Read, Request, UserInfo
from webhook.admission.response import API_VERSION, KIND
from webhook.api import kinds
from webhook.api.kinds import Kind
from webhook.api.meta import Object, ObjectKey

_NULL: Final = Raw(b"null")
_RESOURCE: Final = b'"resource":{'
_FIRST_WORDS: Final = 1024
_LONGEST_RESOURCE: Final = 512


class ReviewError(ValueError):
    """A body that is no AdmissionReview v1; the message says why in one sentence."""


class _Named(msgspec.Struct, frozen=True, gc=False):
    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""


class _Asked(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    uid: str
    operation: Operation
    resource: _Named
    kind: _Named = _Named()
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
    request: _Asked | None = None


_decoder: Final = msgspec.json.Decoder(_Review)
_parts: Final = msgspec.json.Decoder(dict[str, Raw])
_OBJECTS: Final = ("object", "oldObject")


def decode(body: bytes) -> Request:
    """Read a review; what is wrong with the object inside it is left to the decision."""
    asked = _read(body)
    kind = kinds.find_resource(
        asked.resource.group, asked.resource.version, asked.resource.resource
    )
    new, old = _bytes(asked.object), _bytes(asked.old_object)
    _check_envelope(body, len(new or b"") + len(old or b""))
    return Request(
        uid=asked.uid,
        kind=kind,
        operation=asked.operation,
        key=ObjectKey(asked.namespace, asked.name or _name_in(new or old)),
        subresource=asked.sub_resource,
        user=asked.user_info,
        dry_run=bool(asked.dry_run),
        new=new,
        old=old,
    )


def decode_whole(body: bytes) -> Request:
    """Read a review and the objects in it in one pass, for those who hardly want their bytes.

    Where anything is odd about a review, it is read step by step as `decode` does.
    """
    kind = _kind_in(body)
    if kind is None or not body.isascii() or structure.is_suspect(_new_part(body)):
        return decode(body)
    try:
        review = _whole(kind.model).decode(body)
    except UNREADABLE:
        return decode(body)
    asked = review.request
    if asked is None or not asked.name or not _is_about(asked, kind) or not _is_review(review):
        return decode(body)
    return Request(
        uid=asked.uid,
        kind=kind,
        operation=asked.operation,
        key=ObjectKey(asked.namespace, asked.name),
        subresource=asked.sub_resource,
        user=asked.user_info,
        dry_run=bool(asked.dry_run),
        read=Read(asked.object, asked.old_object, lambda: _cut(body)),
    )


def _new_part(body: bytes) -> bytes:
    """Leave out the stored object, which API servers write behind the new one.

    No text inside either object can look like the key that parts them, as quotes in texts are
    escaped; if a key of an object does, at most less is left out.
    """
    new, old = body.find(b'"object":'), body.rfind(b',"oldObject":')
    return body[:old] if 0 <= new < old else body


def _kind_in(body: bytes) -> Kind | None:
    """Guess the kind from the first words; whether that is right is seen later."""
    start = body.find(_RESOURCE, 0, _FIRST_WORDS)
    end = body.find(b"}", start, start + _LONGEST_RESOURCE)
    return _guess(body[start + len(_RESOURCE) - 1 : end + 1]) if 0 <= start < end else None


@lru_cache(maxsize=256)
def _guess(resource: bytes) -> Kind | None:
    try:
        named = msgspec.json.decode(resource, type=_Named)
    except UNREADABLE:
        return None
    return kinds.find_resource(named.group, named.version, named.resource)


@cache
def _whole(model: type[Object]) -> msgspec.json.Decoder[Any]:
    """Make a reader of reviews of one kind."""
    optional = model | None
    fields = [("object", optional, None), ("old_object", optional, None)]
    base = (_Asked,)
    asked = msgspec.defstruct("_Asked", fields, bases=base, frozen=True, gc=False, rename="camel")
    inner = [("request", asked | None, None)]
    whole = msgspec.defstruct(
        "_Review", inner, bases=(_Review,), frozen=True, gc=False, rename="camel"
    )
    return msgspec.json.Decoder(whole)


def _is_about(asked: _Asked, kind: Kind) -> bool:
    resource = asked.resource
    return bool(asked.uid) and (
        (resource.group, resource.version, resource.resource)
        == (kind.group, kind.version, kind.plural)
    )


def _is_review(review: _Review) -> bool:
    return review.api_version == API_VERSION and review.kind == KIND


def _cut(body: bytes) -> Pair:
    asked = _decoder.decode(body).request
    return (_bytes(asked.object), _bytes(asked.old_object)) if asked is not None else (None, None)


def _read(body: bytes) -> _Asked:
    try:
        if not body.isascii():
            body.decode()
        review = _decoder.decode(body)
    except UnicodeDecodeError as error:
        raise ReviewError(f"the body is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise ReviewError(f"the body is nested deeper than {structure.MAX_DEPTH} levels") from error
    except UNREADABLE as error:
        raise ReviewError(f"the body is no AdmissionReview: {error}") from error
    if not _is_review(review):
        found = f"{review.api_version[:80]!r} {review.kind[:80]!r}"
        raise ReviewError(f"the body is {found}, send an {API_VERSION} {KIND}")
    asked = review.request
    if asked is None or not asked.uid:
        raise ReviewError("the review has no request with a uid")
    return asked


def _check_envelope(body: bytes, inside: int) -> None:
    """Refuse a review whose shape is wrong around its objects, which are judged themselves.

    API servers write both objects in a row, so what is left without them is found by counting;
    only if that looks odd is the whole body read again.
    """
    start = body.find(b'"object":')
    rest = body[:start] + body[start + inside :] if start >= 0 else body
    if not structure.may_be_deep(rest) and not structure.has_long_number(rest):
        return
    around = _parts.decode(body)
    request = _parts.decode(around["request"])
    outside = {name: part for name, part in request.items() if name not in _OBJECTS}
    envelope = msgspec.json.encode(around | {"request": outside})
    if structure.is_suspect(envelope):
        for fault in structure.faults(envelope):
            where = f" at {fault.field}" if fault.field else ""
            raise ReviewError(f"the review is odd{where}: {fault.message}")


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
    """Find a name where the request has none: on CREATE with generateName, say."""
    if data is None:
        return ""
    try:
        metadata = _nameable.decode(data).metadata
    except UNREADABLE:
        return ""
    return metadata.name or metadata.generate_name
