"""The memory allocator of the process."""

import ctypes
from typing import Final

_MMAP_THRESHOLD: Final = -3
"""glibc's parameter M_MMAP_THRESHOLD."""

_LARGE_BLOCK: Final = 2**17


def return_large_blocks() -> None:
    """Let glibc return every large block to the system as soon as it is freed.

    By default glibc keeps blocks of the size of a request's body for reuse, between others that are
    still in use. After a flood of large bodies the process would keep most of their memory.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # other C libraries have no such parameter
        mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
