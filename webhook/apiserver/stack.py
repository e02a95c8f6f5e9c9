"""Room for what is nested deeply: a thread whose stack and recursion limit allow for it."""

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import uvloop

#: Frames for ten thousand levels in whichever walk takes most of them a level, and room to spare.
_FRAMES: Final = 120_000
#: Reserved, not used: pages of a stack cost memory only once something is that deep.
_BYTES: Final = 1 << 29


def run(serve: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """Run until done, on a thread: nobody can give the main one a larger stack.

    The event that `serve` gets is set when a signal asks to stop.
    """
    loop = uvloop.new_event_loop()
    stopping = asyncio.Event()

    def stop(*_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stopping.set)

    def work() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve(stopping))

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    sys.setrecursionlimit(_FRAMES)
    # For every thread from now on: the limit above is that of the whole process.
    threading.stack_size(_BYTES)
    with ThreadPoolExecutor(1, "apiserver") as threads:
        threads.submit(work).result()
