"""The line: by rank, each once, one at a time."""

import asyncio

import pytest

from tests.clocks import FakeClock
from webhook.api.meta import ObjectKey
from webhook.controllers.line import Line

RANKS = {name: rank for rank, name in enumerate("abc")}


def key(name: str) -> ObjectKey:
    return ObjectKey("ns", name)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def line(clock: FakeClock) -> Line[int]:
    return Line(clock, lambda found: RANKS.get(found.name))


async def test_the_lowest_rank_comes_first_whenever_it_came(line: Line[int]) -> None:
    for name in "cab":
        line.add(key(name))
    line.add(key("a"))
    assert len(line) == 3
    assert [(await line.take()).name for _ in range(3)] == ["a", "b", "c"]


async def test_what_has_no_rank_does_not_wait(line: Line[int]) -> None:
    line.add(key("x"))
    assert len(line) == 0


async def test_added_while_worked_on_it_comes_again(line: Line[int]) -> None:
    line.add(key("a"))
    taken = await line.take()
    line.add(taken)
    assert len(line) == 0
    line.done(taken)
    assert await line.take() == taken
    line.done(taken)
    assert len(line) == 0


async def test_appointments(line: Line[int], clock: FakeClock) -> None:
    line.add_after(key("a"), 5)
    line.add_after(key("a"), 1)
    clock.pass_time(4.9)
    assert len(line) == 0
    clock.pass_time(0.2)
    assert await line.take() == key("a")


async def test_waiting_ends_when_something_comes(line: Line[int]) -> None:
    waiting = asyncio.ensure_future(line.take())
    await asyncio.sleep(0)
    line.add(key("b"))
    assert await waiting == key("b")


async def test_a_closed_line_makes_no_appointments(line: Line[int], clock: FakeClock) -> None:
    line.add_after(key("a"), 5)
    line.close()
    clock.pass_time(6)
    assert len(line) == 0
