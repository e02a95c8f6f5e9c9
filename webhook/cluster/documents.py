"""Objects as the API server sends them, and the part of them that the cache stores."""

from typing import Any, Final, NamedTuple

import msgspec

from webhook.api import names
from webhook.api.decode import MalformedField, decode, malformed_fields
from webhook.api.kinds import Kind
from webhook.cluster.errors import DECODE_ERRORS
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.nesting import decode_shallow
from webhook.state.store import StoreEntry

_MANAGED_FIELDS: Final = "managedFields"


class Document(NamedTuple):
    """The key and version of an object, and what the cache stores of it."""

    key: ObjectKey
    version: str
    entry: StoreEntry[Any] | None
    """None for a deleted object."""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata


_NAMED: Final = msgspec.json.Decoder(_Named)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read(kind: Kind, document: bytes | msgspec.Raw) -> Document:
    """Read an object; one that does not decode is stored with its malformed fields.

    Raises one of `DECODE_ERRORS` for a document without a name.
    """
    try:
        obj = decode(kind.model, document)
    except DECODE_ERRORS as error:
        entry: StoreEntry[Object] = StoreEntry(
            None, _raw(kind, document), _faults(kind, document, error)
        )
        return read_deleted(document)._replace(entry=entry)
    _drop_last_applied(obj)
    return Document(obj.key, obj.resource_version, StoreEntry(obj, _raw(kind, document)))


def read_deleted(document: bytes | msgspec.Raw) -> Document:
    """Read only the key and the version of a deleted object."""
    metadata = decode_shallow(_NAMED, document).metadata
    return Document(ObjectKey(metadata.namespace, metadata.name), metadata.resource_version, None)


def strip(document: bytes | msgspec.Raw) -> bytes:
    """Copy an object without managedFields and last-applied-configuration, which nothing reads."""
    members = decode_shallow(_MEMBERS, document)
    metadata: dict[str, Any] = _MEMBERS.decode(members["metadata"])
    metadata.pop(_MANAGED_FIELDS, None)
    if "annotations" in metadata:
        annotations = msgspec.json.decode(metadata["annotations"]) or {}
        annotations.pop(names.LAST_APPLIED, None)
        metadata["annotations"] = annotations
    return msgspec.json.encode(members | {"metadata": metadata})


def _raw(kind: Kind, document: bytes | msgspec.Raw) -> bytes | None:
    if kind.stored == "exact":
        return bytes(document)
    return strip(document) if kind.stored == "whole" else None


def _drop_last_applied(obj: Object) -> None:
    # The annotation repeats the whole object. Nothing else has a reference to the mapping yet.
    annotations = obj.metadata.annotations
    if names.LAST_APPLIED in annotations and isinstance(annotations, dict):
        del annotations[names.LAST_APPLIED]


def _faults(
    kind: Kind, document: bytes | msgspec.Raw, error: Exception
) -> tuple[MalformedField, ...]:
    try:
        found = malformed_fields(kind, msgspec.json.decode(document))
    except DECODE_ERRORS:
        found = ()
    return found or (MalformedField("", str(error)),)
