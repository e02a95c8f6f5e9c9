import asyncio

import pytest

from tests.support.clocks import FakeClock, settle
from webhook.server.traffic import Traffic


async def test_draining_ends_after_some_time_without_requests() -> None:
    clock = FakeClock()
    traffic = Traffic(clock, limit=10)
    drain = asyncio.create_task(traffic.drain(quiet=10, longest=60))
    await settle()
    assert traffic.draining
    for _ in range(3):
        await clock.advance(5)
        traffic.enter()
        traffic.leave()
    await clock.advance(9)
    assert not drain.done()
    await clock.advance(1.2)
    assert drain.done()


async def test_draining_waits_for_what_is_in_flight() -> None:
    clock = FakeClock()
    traffic = Traffic(clock, limit=10)
    traffic.enter()
    drain = asyncio.create_task(traffic.drain(quiet=1, longest=60))
    await clock.advance(30)
    assert not drain.done()
    traffic.leave()
    await clock.advance(1.2)
    assert drain.done()


async def test_draining_does_not_wait_for_ever() -> None:
    clock = FakeClock()
    traffic = Traffic(clock, limit=10)
    traffic.enter()
    drain = asyncio.create_task(traffic.drain(quiet=1, longest=60))
    await clock.advance(59)
    assert not drain.done()
    await clock.advance(1.5)
    assert drain.done()


@pytest.mark.parametrize(
    ("in_flight", "lag", "seconds", "expected"),
    [
        pytest.param(2, 0.0, 1.0, None, id="as many as allowed"),
        pytest.param(3, 0.0, 1.0, "busy", id="one too many"),
        pytest.param(1, 0.9, 1.0, None, id="late but in time"),
        pytest.param(1, 1.0, 1.0, "late", id="the caller has gone by now"),
    ],
)
def test_overload(in_flight: int, lag: float, seconds: float, expected: str | None) -> None:
    traffic = Traffic(FakeClock(), limit=2)
    for _ in range(in_flight):
        traffic.enter()
    traffic.lag = lag
    assert traffic.overload(seconds) == expected
