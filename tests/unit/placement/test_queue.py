"""The queue of shoots: by rank, each once, one at a time."""

import asyncio

import pytest

from tests.support.clocks import FakeClock
from webhook.kube.meta import ObjectKey
from webhook.placement.queue import ShootQueue

RANKS = {name: rank for rank, name in enumerate("abc")}


def key(name: str) -> ObjectKey:
    return ObjectKey("ns", name)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> ShootQueue[int]:
    return ShootQueue(clock, lambda found: RANKS.get(found.name))


async def test_the_lowest_rank_comes_first(queue: ShootQueue[int]) -> None:
    for name in "cab":
        queue.add(key(name))
    queue.add(key("a"))
    assert len(queue) == 3
    assert [(await queue.take()).name for _ in range(3)] == ["a", "b", "c"]


async def test_a_key_without_a_rank_is_not_queued(queue: ShootQueue[int]) -> None:
    queue.add(key("x"))
    assert len(queue) == 0


async def test_a_key_added_while_processed_is_queued_again(queue: ShootQueue[int]) -> None:
    queue.add(key("a"))
    taken = await queue.take()
    queue.add(taken)
    assert len(queue) == 0
    queue.done(taken)
    assert await queue.take() == taken
    queue.done(taken)
    assert len(queue) == 0


async def test_the_earliest_timer_counts(queue: ShootQueue[int], clock: FakeClock) -> None:
    queue.add_after(key("a"), 5)
    queue.add_after(key("a"), 1)
    clock.pass_time(4.9)
    assert len(queue) == 0
    clock.pass_time(0.2)
    assert await queue.take() == key("a")


async def test_take_returns_when_a_key_is_added(queue: ShootQueue[int]) -> None:
    waiting = asyncio.ensure_future(queue.take())
    await asyncio.sleep(0)
    queue.add(key("b"))
    assert await waiting == key("b")


async def test_a_closed_queue_has_no_timers(queue: ShootQueue[int], clock: FakeClock) -> None:
    queue.add_after(key("a"), 5)
    queue.close()
    clock.pass_time(6)
    assert len(queue) == 0
