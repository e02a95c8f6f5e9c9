"""Pauses of the process: the lag of the event loop and the time of garbage collections."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

from webhook.kube.clock import Clock
from webhook.runtime.metrics import Metrics

_INTERVAL: Final = 0.25


async def measure_loop_lag(
    clock: Clock, metrics: Metrics, report: Callable[[float], None] = lambda lag: None
) -> None:
    """Measure until cancelled how late the event loop runs a timer."""
    while True:
        before = clock.monotonic()
        await clock.sleep(_INTERVAL)
        lag = max(0.0, clock.monotonic() - before - _INTERVAL)
        metrics.loop_lag.observe(lag)
        report(lag)


@contextmanager
def measure_gc_pauses(metrics: Metrics) -> Iterator[None]:
    """Measure every garbage collection while the block runs."""
    started = 0.0
    pauses = [metrics.gc_pause.labels(str(generation)) for generation in range(3)]

    def record(phase: Literal["start", "stop"], info: dict[str, int]) -> None:
        nonlocal started
        if phase == "start":
            started = time.perf_counter()
        else:
            pauses[info["generation"]].observe(time.perf_counter() - started)

    gc.callbacks.append(record)
    try:
        yield
    finally:
        gc.callbacks.remove(record)
