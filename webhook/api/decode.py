"""Decoding of JSON into Structs, and for objects that do not decode: every malformed field."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from msgspec import inspect

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
    return msgspec.convert(_without_nulls(model, raw), model)


def malformed_fields(kind: Kind, raw: Raw) -> tuple[MalformedField, ...]:
    """Return every malformed field of an object that does not decode."""
    value = _without_nulls(kind.model, raw)
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


_Cleaner: TypeAlias = Callable[[Any], Any]


def _without_nulls(model: type[Object], raw: Raw) -> Raw:
    """Copy a JSON value without null members where the model has fields.

    What a model does not read is neither copied nor searched: it is most of a large object.
    """
    cleaned: Raw = _struct_cleaner(model)(raw)
    return cleaned


@cache
def _struct_cleaner(struct: type) -> _Cleaner:
    fields = cast("inspect.StructType", inspect.type_info(struct)).fields
    cleaners = {field.encode_name: _cleaner(field.type) for field in fields}

    def clean(value: Any) -> Any:
        if type(value) is not dict:
            return value
        return {
            name: member if (inner := cleaners.get(name)) is None else inner(member)
            for name, member in value.items()
            if member is not None
        }

    return clean


def _cleaner(info: inspect.Type) -> _Cleaner | None:
    """Return what copies a value of a type without nulls; None if it has no members."""
    match info:
        case inspect.Metadata():  # a description
            return _cleaner(info.type)
        case inspect.StructType():
            return _struct_cleaner(info.cls)
        case inspect.VarTupleType():
            return _list_cleaner(_cleaner(info.item_type))
        case inspect.DictType():
            return _dict_cleaner(_cleaner(info.value_type))
        case inspect.UnionType():
            return next(filter(None, map(_cleaner, info.types)), None)
        case _:
            return None


def _list_cleaner(inner: _Cleaner | None) -> _Cleaner | None:
    if inner is None:
        return None
    return lambda value: [*map(inner, value)] if isinstance(value, list | tuple) else value


def _dict_cleaner(inner: _Cleaner | None) -> _Cleaner:
    def clean(value: Any) -> Any:
        if type(value) is not dict:
            return value
        kept = {name: member for name, member in value.items() if member is not None}
        return kept if inner is None else {name: inner(each) for name, each in kept.items()}

    return clean
