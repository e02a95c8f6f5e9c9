"""Feel the process's pulse: how late the loop runs, and how long the garbage collector stops it."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from webhook.runtime.clock import Clock
from webhook.runtime.metrics import Metrics

_BEAT = 0.25


async def watch_loop(
    clock: Clock, metrics: Metrics, note: Callable[[float], None] = lambda lag: None
) -> None:
    """Measure for ever how much later than asked the loop wakes us up."""
    while True:
        before = clock.monotonic()
        await clock.sleep(_BEAT)
        lag = max(0.0, clock.monotonic() - before - _BEAT)
        metrics.loop_lag.observe(lag)
        note(lag)


@contextmanager
def watching_gc(metrics: Metrics) -> Iterator[None]:
    """Measure every pause for garbage collection while the block runs."""
    started = 0.0
    pauses = [metrics.gc_pause.labels(str(generation)) for generation in range(3)]

    def note(phase: Literal["start", "stop"], info: dict[str, int]) -> None:
        nonlocal started
        if phase == "start":
            started = time.perf_counter()
        else:
            pauses[info["generation"]].observe(time.perf_counter() - started)

    gc.callbacks.append(note)
    try:
        yield
    finally:
        gc.callbacks.remove(note)
