import asyncio
from datetime import UTC

from tests.support.clocks import FakeClock
from webhook.kube.clock import Clock, SystemClock


async def test_the_system_clock_returns_utc_and_runs_timers() -> None:
    clock: Clock = SystemClock()
    assert clock.now().tzinfo is UTC
    before = clock.monotonic()
    fired = asyncio.Event()
    clock.call_later(0, fired.set)
    await fired.wait()
    await clock.sleep(0)
    assert clock.monotonic() >= before


async def test_a_cancelled_timer_does_not_fire() -> None:
    for clock in (SystemClock(), FakeClock()):
        fired = asyncio.Event()
        clock.call_later(0, fired.set).cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not fired.is_set()


async def test_the_fake_clock_wakes_sleepers_in_order() -> None:
    clock = FakeClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, delay: float) -> None:
        await clock.sleep(delay)
        woken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(sleeper("late", 5))
        tasks.create_task(sleeper("early", 2))
        await clock.advance(4)
        assert woken == [("early", 2.0)]
        await clock.advance(10)
    assert woken == [("early", 2.0), ("late", 5.0)]
