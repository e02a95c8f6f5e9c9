"""Runs the server in a thread whose stack and recursion limit allow deeply nested objects."""

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import uvloop

_FRAMES: Final = 120_000
"""Enough for ten thousand levels in the recursion that takes the most frames per level."""
_BYTES: Final = 1 << 29
"""Reserved address space; a stack uses memory only as far as it grows."""


def run(serve: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """Run `serve` in a thread until it returns; the stack of the main thread cannot be enlarged.

    The event that `serve` gets is set by SIGINT and SIGTERM.
    """
    loop = uvloop.new_event_loop()
    stopping = asyncio.Event()

    def stop(*_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stopping.set)

    def run_loop() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve(stopping))

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    sys.setrecursionlimit(_FRAMES)
    # For every thread from now on, since the recursion limit holds for the whole process.
    threading.stack_size(_BYTES)
    with ThreadPoolExecutor(1, "apiserver") as threads:
        threads.submit(run_loop).result()
