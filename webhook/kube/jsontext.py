"""JSON of any depth: orjson for ordinary documents, msgspec for those nested too deep for it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

MAX_DEPTH: Final = 10_000
"""The depth at which Go's decoder refuses a document as malformed."""
_TOO_DEEP: Final = "depth limit exceeded"
_SORTED: Final = orjson.OPT_SORT_KEYS


def loads(data: bytes | str) -> Any:
    """Decode; raises orjson.JSONDecodeError, whichever codec fails."""
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
    """Encode a JSON value."""
    try:
        return orjson.dumps(value, option=_SORTED if is_sorted else 0)
    except TypeError:
        # The only JSON values that orjson does not encode are nested too deep for it.
        return msgspec.json.encode(value, order="sorted" if is_sorted else None)


def deep_copy(value: Any) -> Any:
    """Copy a JSON value, so that the copy can be edited."""
    if isinstance(value, Mapping):
        return {key: deep_copy(child) for key, child in value.items()}
    if isinstance(value, list):
        return [deep_copy(child) for child in value]
    return value
