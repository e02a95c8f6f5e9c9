"""A stored object: its encoded bytes, and what selectors need without decoding."""

from typing import Final

import orjson

from webhook.dev.apiserver.endpoints import gojson
from webhook.kube import jsontext, status
from webhook.kube.meta import Draft

_START: Final = b'{"apiVersion":"'
_META: Final = b'"metadata":'


class Entry:
    """An object at one resourceVersion; immutable, since readers share it."""

    __slots__ = ("data", "fields", "key", "labels", "name", "namespace", "rv", "uid")

    def __init__(self, obj: Draft, data: bytes, rv: int, fields: dict[str, str]) -> None:
        metadata = obj["metadata"]
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.key = key_of(self.namespace, self.name)
        self.uid: str = metadata.get("uid", "")
        self.labels: dict[str, str] = metadata.get("labels") or {}
        self.fields = fields
        self.rv = rv
        self.data = data

    def decode(self) -> Draft:
        """Return a copy that the caller may modify."""
        decoded: Draft = jsontext.loads(self.data)
        return decoded

    def with_resource_version(self, rv: int) -> "Entry":
        """Return the same state at a later resourceVersion."""
        obj = self.decode()
        obj["metadata"]["resourceVersion"] = str(rv)
        return Entry(obj, encode(obj), rv, self.fields)

    def as_version(self, api_version: bytes) -> bytes:
        """Return the bytes with another apiVersion, for versions with the same schema."""
        end = self.data.index(b'"', len(_START))
        if self.data[len(_START) : end] == api_version:
            return self.data
        return _START + api_version + self.data[end:]

    def without_type_meta(self) -> bytes:
        """Return the bytes without apiVersion and kind, as items of lists of built-in kinds."""
        return b"{" + self.data[self.data.index(_META) :]


def key_of(namespace: str, name: str) -> str:
    """Return the key of an object within its resource; keys sort as those of etcd."""
    return f"{namespace}/{name}" if namespace else name


def encode(obj: Draft) -> bytes:
    """Encode with apiVersion, kind and metadata first, as `Entry` expects."""
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
        # managedFields are nested deeper than the object; the result could not be decoded.
        # kube-apiserver stores such an object, and cannot list its resource any more.
        raise status.failure(500, "", problem)
    return data
