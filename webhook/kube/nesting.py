"""Decoding of the outer levels of documents that are nested deeply."""

import sys
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

# API servers accept JSON that is nested ten thousand levels deep, ten times the default recursion
# limit of Python. Skipping over it needs little stack, and one such object must not stop the list
# of its kind.
_MAX_DEPTH: Final = 12_000


def decode_shallow(decoder: msgspec.json.Decoder[T], document: bytes | msgspec.Raw) -> T:
    """Decode with a decoder that reads the outer levels only, whatever the depth of the rest."""
    try:
        return decoder.decode(document)
    except RecursionError:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _MAX_DEPTH))
        try:
            return decoder.decode(document)
        finally:
            sys.setrecursionlimit(limit)
