"""JSON of any depth: one fast codec for what people write, another for what is nested beyond it."""

from typing import Any, Final

import msgspec
import orjson

#: As Go's decoder: what is nested deeper is malformed.
MAX_DEPTH: Final = 10_000
_TOO_DEEP: Final = "depth limit exceeded"
_SORTED: Final = orjson.OPT_SORT_KEYS


def loads(data: bytes | str) -> Any:
    """Decode; errors are orjson's, whichever codec found them."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if not error.msg.startswith(_TOO_DEEP):
            raise
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError as fault:
            raise orjson.JSONDecodeError(str(fault), error.doc, error.pos) from fault


def dumps(value: Any, *, is_sorted: bool = False) -> bytes:
    """Encode decoded JSON."""
    try:
        return orjson.dumps(value, option=_SORTED if is_sorted else 0)
    except TypeError:
        # All that JSON can hold and orjson does not write is nested deeper than it goes.
        return msgspec.json.encode(value, order="sorted" if is_sorted else None)
