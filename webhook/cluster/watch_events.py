"""The events of a watch, decoded from its lines; pure."""

from typing import Final, Literal, NamedTuple, TypeAlias, cast

import msgspec

from webhook.cluster.errors import DECODE_ERRORS, UnreadableError, error_from_status, excerpt
from webhook.kube.nesting import decode_shallow

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

_EVENT_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class WatchEvent(NamedTuple):
    """An object that was added, modified or deleted."""

    type: EventType
    document: msgspec.Raw


class Bookmark(NamedTuple):
    """All events up to this version have been sent; it may also end the initial list."""

    version: str
    ends_list: bool


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str
    annotations: dict[str, str] | None = None


class _BookmarkObject(msgspec.Struct):
    metadata: _Metadata


_EVENT: Final = msgspec.json.Decoder(_Event)
_BOOKMARK: Final = msgspec.json.Decoder(_BookmarkObject)


def decode(line: bytes) -> WatchEvent | Bookmark:
    """Decode one line; raises the error that the server sent, or UnreadableError."""
    try:
        event = decode_shallow(_EVENT, line)
        if event.type in _EVENT_TYPES:
            return WatchEvent(cast("EventType", event.type), event.object)
        if event.type == "BOOKMARK":
            metadata = _BOOKMARK.decode(event.object).metadata
            ends_list = (metadata.annotations or {}).get(_INITIAL_EVENTS_END) == "true"
            return Bookmark(metadata.resource_version, ends_list)
    except DECODE_ERRORS as error:
        raise UnreadableError(200, f"no event but {excerpt(line)}") from error
    if event.type == "ERROR":
        raise error_from_status(event.object, 200)
    raise UnreadableError(200, f"no event but {excerpt(line)}")
