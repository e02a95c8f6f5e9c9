"""Read the lines of a watch; pure, and never taking for an event what is none."""

from typing import Final, Literal, NamedTuple, TypeAlias, cast

import msgspec

from webhook.cluster.errors import UNREADABLE, UnreadableError, excerpt, of_status
from webhook.cluster.nesting import decode_outside

Change: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

_CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class Changed(NamedTuple):
    """An object that has come, changed or gone."""

    change: Change
    document: msgspec.Raw


class Bookmark(NamedTuple):
    """Nothing has changed up to this version; or, a streamed list is complete."""

    version: str
    ends_list: bool


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str
    annotations: dict[str, str] | None = None


class _Mark(msgspec.Struct):
    metadata: _Metadata


_EVENT: Final = msgspec.json.Decoder(_Event)
_MARK: Final = msgspec.json.Decoder(_Mark)


def decode(line: bytes) -> Changed | Bookmark:
    """Read one line; raises the error that the server sends, or UnreadableError."""
    try:
        event = decode_outside(_EVENT, line)
        if event.type in _CHANGES:
            return Changed(cast("Change", event.type), event.object)
        if event.type == "BOOKMARK":
            metadata = _MARK.decode(event.object).metadata
            ends_list = (metadata.annotations or {}).get(_INITIAL_EVENTS_END) == "true"
            return Bookmark(metadata.resource_version, ends_list)
    except UNREADABLE as error:
        raise UnreadableError(200, f"no event but {excerpt(line)}") from error
    if event.type == "ERROR":
        raise of_status(event.object, 200)
    raise UnreadableError(200, f"no event but {excerpt(line)}")
