"""Backoff of watches, and time slices of the event loop."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clocks import FakeClock
from webhook.cluster.pacing import HEALTHY_AFTER, LONGEST_DELAY, SLICE, Pacer, WatchBackoff


@pytest.mark.parametrize(
    ("chance", "delays"),
    [
        pytest.param(0.0, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0], id="without jitter"),
        pytest.param(0.5, [1.2, 2.4, 4.8, 9.6, 19.2, 30.0, 30.0, 30.0], id="with some"),
        pytest.param(0.999, [1.5992, 3.1984], id="with almost double"),
    ],
)
def test_delays_double_up_to_half_a_minute(chance: float, delays: list[float]) -> None:
    retry = WatchBackoff(FakeClock(), lambda: chance)
    assert [retry.next() for _ in delays] == pytest.approx(delays)


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=40))
def test_every_delay_is_within_its_limits(chances: list[float]) -> None:
    chance = iter(chances)
    retry = WatchBackoff(FakeClock(), lambda: next(chance))
    assert all(0.8 <= retry.next() <= LONGEST_DELAY for _ in chances)


@pytest.mark.parametrize(
    ("healthy", "delay"),
    [
        pytest.param(HEALTHY_AFTER - 0.1, 1.6, id="just short of two minutes"),
        pytest.param(HEALTHY_AFTER + 0.1, 0.8, id="two minutes"),
    ],
)
def test_delays_start_over_after_two_healthy_minutes(healthy: float, delay: float) -> None:
    clock = FakeClock()
    retry = WatchBackoff(clock, lambda: 0.0)
    clock.pass_time(1000)
    clock.pass_time(retry.next() + healthy)
    assert retry.next() == delay


def test_delays_start_over_after_a_reset() -> None:
    retry = WatchBackoff(FakeClock(), lambda: 0.0)
    assert [retry.next(), retry.next()] == [0.8, 1.6]
    retry.reset()
    assert retry.next() == 0.8


async def test_work_yields_when_its_slice_is_used_up() -> None:
    clock = FakeClock()
    pacer = Pacer(clock)
    turns: list[str] = []

    async def work(name: str, cost: float, pieces: int) -> None:
        for _ in range(pieces):
            turns.append(name)
            clock.pass_time(cost)
            await pacer.yield_if_due()

    async def others() -> None:
        for _ in range(3):
            turns.append("-")
            await asyncio.sleep(0)

    clock.pass_time(1)
    await pacer.yield_if_due()  # the first slice begins
    await asyncio.gather(work("a", 0.6 * SLICE, 6), work("b", 0.6 * SLICE, 4), others())
    # In each iteration all workers share one slice, but each of them does at least one piece.
    assert "".join(turns) == "aab-aab-aab-b"
