"""Bytes to Structs, and for objects that do not decode: every fault with its path."""

from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from webhook.api import fielderrors
from webhook.api.fielderrors import FieldError
from webhook.api.kinds import Kind
from webhook.api.meta import Object, Raw
from webhook.api.openapi import whole_schema_of
from webhook.api.schema import Schema

T = TypeVar("T", bound=Object)


class Fault(NamedTuple):
    """A field whose value has the wrong type or shape."""

    path: str
    message: str
    reason: str = fielderrors.TYPE_INVALID
    value: Any = None


def decode(model: type[T], data: bytes | bytearray | memoryview | msgspec.Raw) -> T:
    """Read an object from JSON; raises msgspec's errors.

    Servers that are written in Go send null for what is absent, which Structs do not expect, so
    an object that fails is tried once more without its nulls.
    """
    decoder: msgspec.json.Decoder[T] = _decoder(model)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        if b"null" not in bytes(data):
            raise
        return convert(model, msgspec.json.decode(data))


def convert(model: type[T], raw: Raw) -> T:
    """Read an object from a JSON value; raises msgspec.ValidationError."""
    return msgspec.convert(_without_nulls(raw), model)


def faults(kind: Kind, raw: Raw) -> tuple[Fault, ...]:
    """List every type fault of an object that did not decode."""
    value = _without_nulls(raw)
    found = tuple(_fault(error) for error in _schema(kind).validate(value))
    if found:
        return found
    try:
        msgspec.convert(value, kind.model)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        return (Fault(path.rstrip("`").lstrip("."), message),)
    return ()


def _fault(error: FieldError) -> Fault:
    path = error.field
    if path == fielderrors.ROOT:
        # Kubernetes names the field of a number out of range only at the end of the message.
        path = error.detail.rpartition(" in ")[2]
    return Fault(path, error.detail or error.body, error.type, error.value)


@cache
def _schema(kind: Kind) -> Schema:
    return Schema(whole_schema_of(kind))


@cache
def _decoder(model: type[Object]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(model)


def _without_nulls(raw: Any) -> Any:
    """Copy a JSON value without null members, however deep it is nested."""
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
