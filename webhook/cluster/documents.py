"""What is kept of an object that came off the wire."""

from typing import Any, Final, NamedTuple

import msgspec

from webhook.api.decode import Fault, decode, faults
from webhook.api.kinds import Kind
from webhook.api.meta import Object, ObjectKey
from webhook.cluster.errors import UNREADABLE
from webhook.cluster.nesting import decode_outside
from webhook.state.store import Entry

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MANAGED_FIELDS: Final = "managedFields"


class Document(NamedTuple):
    """One object: where it lives, which version it is, and what is kept of it."""

    key: ObjectKey
    version: str
    entry: Entry[Any] | None
    """None for an object that is gone."""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata


_NAMED: Final = msgspec.json.Decoder(_Named)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read(kind: Kind, document: bytes | msgspec.Raw) -> Document:
    """Read an object; one that does not decode is kept with its faults.

    Raises one of the `UNREADABLE` for what is not even named.
    """
    try:
        obj = decode(kind.model, document)
    except UNREADABLE as error:
        entry: Entry[Object] = Entry(None, _raw(kind, document), _faults(kind, document, error))
        return gone(document)._replace(entry=entry)
    _forget_last_applied(obj)
    return Document(obj.key, obj.resource_version, Entry(obj, _raw(kind, document)))


def gone(document: bytes | msgspec.Raw) -> Document:
    """Read only which object it was and with which version it went."""
    metadata = decode_outside(_NAMED, document).metadata
    return Document(ObjectKey(metadata.namespace, metadata.name), metadata.resource_version, None)


def strip(document: bytes | msgspec.Raw) -> bytes:
    """Copy an object without the bookkeeping of its writers, which nobody here reads."""
    members = decode_outside(_MEMBERS, document)
    metadata: dict[str, Any] = _MEMBERS.decode(members["metadata"])
    metadata.pop(_MANAGED_FIELDS, None)
    if "annotations" in metadata:
        annotations = msgspec.json.decode(metadata["annotations"]) or {}
        annotations.pop(_LAST_APPLIED, None)
        metadata["annotations"] = annotations
    return msgspec.json.encode(members | {"metadata": metadata})


def _raw(kind: Kind, document: bytes | msgspec.Raw) -> bytes | None:
    if kind.stored == "exact":
        return bytes(document)
    return strip(document) if kind.stored == "whole" else None


def _forget_last_applied(obj: Object) -> None:
    # The annotation repeats the whole object. The mapping is fresh, and still nobody else's.
    annotations = obj.metadata.annotations
    if _LAST_APPLIED in annotations and isinstance(annotations, dict):
        del annotations[_LAST_APPLIED]


def _faults(kind: Kind, document: bytes | msgspec.Raw, error: Exception) -> tuple[Fault, ...]:
    try:
        found = faults(kind, msgspec.json.decode(document))
    except UNREADABLE:
        found = ()
    return found or (Fault("", str(error)),)
