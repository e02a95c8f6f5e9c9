"""Decoding of JSON into Structs, and for objects that do not decode: every malformed field."""

from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from webhook.api.kinds import Kind
from webhook.api.openapi import whole_schema_of
from webhook.kube import fielderrors
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Object, Raw
from webhook.kube.schema import Schema

T = TypeVar("T", bound=Object)


class MalformedField(NamedTuple):
    """A field whose value has the wrong type or structure."""

    path: str
    message: str
    reason: str = fielderrors.TYPE_INVALID
    value: Any = None


def decode(model: type[T], data: bytes | bytearray | memoryview | msgspec.Raw) -> T:
    """Decode an object; raises msgspec's errors.

    Servers written in Go send null for absent values, which Structs do not accept. An object that
    fails is therefore decoded once more without its nulls.
    """
    decoder: msgspec.json.Decoder[T] = _decoder(model)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        if b"null" not in bytes(data):
            raise
        return convert(model, msgspec.json.decode(data))


def convert(model: type[T], raw: Raw) -> T:
    """Convert a JSON value into an object; raises msgspec.ValidationError."""
    return msgspec.convert(_without_nulls(raw), model)


def malformed_fields(kind: Kind, raw: Raw) -> tuple[MalformedField, ...]:
    """Return every malformed field of an object that does not decode."""
    value = _without_nulls(raw)
    found = tuple(_malformed_field(error) for error in _schema(kind).validate(value))
    if found:
        return found
    try:
        msgspec.convert(value, kind.model)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        return (MalformedField(path.rstrip("`").lstrip("."), message),)
    return ()


def _malformed_field(error: FieldError) -> MalformedField:
    path = error.field
    if path == fielderrors.ROOT:
        # For a number out of range, Kubernetes names the field only at the end of the message.
        path = error.detail.rpartition(" in ")[2]
    return MalformedField(path, error.detail or error.body, error.type, error.value)


@cache
def _schema(kind: Kind) -> Schema:
    return Schema(whole_schema_of(kind))


@cache
def _decoder(model: type[Object]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(model)


def _without_nulls(raw: Any) -> Any:
    """Copy a JSON value without null members; not recursive, so any depth works."""
    root = [raw]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    while stack:
        holder, key = stack.pop()
        value = holder[key]
        if isinstance(value, dict):
            copied: Any = {name: each for name, each in value.items() if each is not None}
            keys: Any = copied.keys()
        elif isinstance(value, list | tuple):
            copied = list(value)
            keys = range(len(copied))
        else:
            continue
        holder[key] = copied
        stack.extend((copied, each) for each in keys)
    return root[0]
