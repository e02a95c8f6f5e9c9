"""Read the outside of documents, however deeply they are nested inside."""

import sys
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

# API servers take JSON that is nested ten thousand levels deep, ten times what Python takes by
# default. Skipping over that much needs little stack, and one such object must not hide a kind.
_DEEPEST: Final = 12_000


def decode_outside(decoder: msgspec.json.Decoder[T], document: bytes | msgspec.Raw) -> T:
    """Decode with a decoder that skips whatever is nested deeply."""
    try:
        return decoder.decode(document)
    except RecursionError:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEEPEST))
        try:
            return decoder.decode(document)
        finally:
            sys.setrecursionlimit(limit)
