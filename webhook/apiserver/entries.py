"""One stored object: its encoded bytes, and what lists and watches must know without decoding."""

from typing import Any, Final

import orjson

from webhook.api import jsontext, status
from webhook.apiserver import gojson

_START: Final = b'{"apiVersion":"'
_META: Final = b'"metadata":'


class Entry:
    """An object at one resourceVersion; never changed, since every reader shares it."""

    __slots__ = ("data", "fields", "key", "labels", "name", "namespace", "rv", "uid")

    def __init__(self, obj: dict[str, Any], data: bytes, rv: int, fields: dict[str, str]) -> None:
        metadata = obj["metadata"]
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.key = key_of(self.namespace, self.name)
        self.uid: str = metadata.get("uid", "")
        self.labels: dict[str, str] = metadata.get("labels") or {}
        self.fields = fields
        self.rv = rv
        self.data = data

    def decode(self) -> dict[str, Any]:
        """Return a fresh copy that the caller may change."""
        decoded: dict[str, Any] = jsontext.loads(self.data)
        return decoded

    def moved(self, rv: int) -> "Entry":
        """Return the same state at a later resourceVersion."""
        obj = self.decode()
        obj["metadata"]["resourceVersion"] = str(rv)
        return Entry(obj, encode(obj), rv, self.fields)

    def at(self, api_version: bytes) -> bytes:
        """Return the bytes as another served version, which differs in its name only."""
        end = self.data.index(b'"', len(_START))
        if self.data[len(_START) : end] == api_version:
            return self.data
        return _START + api_version + self.data[end:]

    def untyped(self) -> bytes:
        """Return the bytes without apiVersion and kind, as built-in kinds stand in lists."""
        return b"{" + self.data[self.data.index(_META) :]


def key_of(namespace: str, name: str) -> str:
    """Name an object within its resource; keys sort as etcd's do."""
    return f"{namespace}/{name}" if namespace else name


def encode(obj: dict[str, Any]) -> bytes:
    """Encode with apiVersion, kind and metadata in front, on which `Entry` relies."""
    ordered = {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "metadata": obj["metadata"],
    }
    ordered.update(obj)
    try:
        return orjson.dumps(ordered)
    except TypeError:
        data = jsontext.dumps(ordered)
    if problem := gojson.syntax_error(data):
        # Its bookkeeping is nested deeper than the object: nobody could read it again.
        raise status.failure(500, "", problem)
    return data
