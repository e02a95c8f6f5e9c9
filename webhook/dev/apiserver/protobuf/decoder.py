"""Decode Kubernetes' protobuf: an envelope that names the kind, around the object."""

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from webhook.dev.apiserver.protobuf.descriptors import SCHEMA, FieldDescriptor, load_descriptors
from webhook.kube.meta import Draft

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\0"
_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5


class ProtobufError(ValueError):
    """Bytes that are not the protobuf of a known kind."""


def decode(data: bytes) -> Draft:
    """Return the object of an envelope in its JSON form."""
    if not data.startswith(MAGIC):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix "
            f"[{' '.join(str(byte) for byte in MAGIC)}]"
        )
    envelope = dict(_fields(data[len(MAGIC) :]))
    identity = dict(_fields(_as_bytes(envelope.get(1, b""))))
    version = _as_bytes(identity.get(1, b"")).decode()
    kind = _as_bytes(identity.get(2, b"")).decode()
    name = load_descriptors().kinds.get(f"{version}/{kind}")
    if name is None:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{version}"')
    obj = _message(_as_bytes(envelope.get(2, b"")), name)
    return {"apiVersion": version, "kind": kind, **obj}


def _as_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("wrong wire type")
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire == _VARINT:
            value, position = _varint(data, position)
        elif wire == _BYTES:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
            value, position = data[position : position + size], position + size
        else:
            raise ProtobufError(f"illegal wire type {wire}")
        if position > len(data):
            raise ProtobufError("unexpected EOF")
        yield number, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ProtobufError("unexpected EOF")


def _message(data: bytes, name: str) -> Draft:
    fields = load_descriptors().types[name]
    result: Draft = {}
    for number, value in _fields(data):
        field = fields.get(number)
        if field is None:
            continue  # A newer client may send fields that are not known here.
        if field.container == "inline":
            result.update(_message(_as_bytes(value), field.type))
        elif field.container == "list":
            result.setdefault(field.name, []).append(_value(field, value))
        elif field.container in ("map", "extra"):
            entry = dict(_fields(_as_bytes(value)))
            key = _as_bytes(entry.get(1, b"")).decode()
            result.setdefault(field.name, {})[key] = _map_value(field, entry.get(2, b""))
        else:
            decoded = _value(field, value)
            if field.keep or decoded not in ("", 0, False, None, {}):
                result[field.name] = decoded
    return result


def _map_value(field: FieldDescriptor, value: int | bytes) -> Any:
    if field.container == "extra":
        return [_as_bytes(item).decode() for _, item in _fields(_as_bytes(value))]
    return _value(field, value)


def _value(field: FieldDescriptor, value: int | bytes) -> Any:
    if field.kind == "message":
        return _message(_as_bytes(value), field.type)
    if field.kind.startswith("schemaor"):
        return _schema_or(field.kind, _as_bytes(value))
    return _SCALAR_DECODERS[field.kind](value)


def _schema_or(kind: str, data: bytes) -> Any:
    """Decode a schema, or what a schema allows in its place: a boolean, schemas or strings."""
    parts = list(_fields(data))
    number = 2 if kind == "schemaorbool" else 1
    for found, value in parts:
        if found == number:
            return _message(_as_bytes(value), SCHEMA)
    if kind == "schemaorbool":
        return any(_bool(value) for found, value in parts if found == 1)
    if kind == "schemaorarray":
        return [_message(_as_bytes(value), SCHEMA) for _, value in parts]
    return [_string(value) for _, value in parts]


def _string(value: int | bytes) -> str:
    try:
        return _as_bytes(value).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError("string field contains invalid UTF-8") from error


def _int(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ProtobufError("wrong wire type")
    return value - (1 << 64) if value >= 1 << 63 else value


def _bool(value: int | bytes) -> bool:
    return _int(value) != 0


def _double(value: int | bytes) -> float:
    return float(struct.unpack("<d", _as_bytes(value))[0])


def _base64(value: int | bytes) -> str:
    return base64.b64encode(_as_bytes(value)).decode()


def _timestamp(value: int | bytes) -> tuple[datetime, int] | None:
    parts = dict(_fields(_as_bytes(value)))
    seconds, nanos = _int(parts.get(1, 0)), _int(parts.get(2, 0))
    # Go encodes its zero time, which JSON omits, as the first second of the year one.
    if not parts or seconds == -62135596800:
        return None
    return datetime.fromtimestamp(seconds, UTC), nanos


def _time(value: int | bytes) -> str | None:
    timestamp = _timestamp(value)
    return None if timestamp is None else timestamp[0].strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(value: int | bytes) -> str | None:
    timestamp = _timestamp(value)
    if timestamp is None:
        return None
    return f"{timestamp[0]:%Y-%m-%dT%H:%M:%S}.{timestamp[1] // 1000:06d}Z"


def _quantity(value: int | bytes) -> str:
    return _string(dict(_fields(_as_bytes(value))).get(1, b""))


def _int_or_string(value: int | bytes) -> int | str:
    parts = dict(_fields(_as_bytes(value)))
    if _int(parts.get(1, 0)) == 1:
        return _string(parts.get(3, b""))
    return _int(parts.get(2, 0))


def _raw(value: int | bytes) -> Any:
    raw = _as_bytes(dict(_fields(_as_bytes(value))).get(1, b""))
    return orjson.loads(raw) if raw else None


def _duration(value: int | bytes) -> str:
    nanos = _int(dict(_fields(_as_bytes(value))).get(1, 0))
    return f"{nanos / 1e9:g}s"


_SCALAR_DECODERS: Final[dict[str, Callable[[int | bytes], Any]]] = {
    "string": _string,
    "int": _int,
    "bool": _bool,
    "double": _double,
    "bytes": _base64,
    "time": _time,
    "microtime": _micro_time,
    "quantity": _quantity,
    "intorstring": _int_or_string,
    "raw": _raw,
    "duration": _duration,
}
