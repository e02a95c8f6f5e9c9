import asyncio
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from typing_extensions import override

from tests.support.clocks import FakeClock, settle
from webhook.runtime.backoff import Delays
from webhook.runtime.workqueue import BACKGROUND, NORMAL, QueueClosedError, WorkQueue


def make_queue(clock: FakeClock | None = None) -> WorkQueue[str]:
    return WorkQueue(clock or FakeClock(), Delays(first=1, limit=8, jitter=0))


async def take(queue: WorkQueue[str]) -> str:
    async with asyncio.timeout(1):
        return (await queue.get()).key


async def test_keys_are_processed_in_the_order_in_which_they_were_added() -> None:
    queue = make_queue()
    for key in "cab":
        queue.add(key)
    assert [await take(queue) for _ in range(3)] == ["c", "a", "b"]


async def test_a_key_added_many_times_is_processed_once() -> None:
    queue = make_queue()
    for _ in range(5):
        queue.add("a")
    assert await take(queue) == "a"
    assert len(queue) == 0


async def test_a_key_added_while_it_is_processed_is_processed_again_afterwards() -> None:
    queue = make_queue()
    queue.add("a")
    await take(queue)
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await take(queue) == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_a_higher_priority_goes_first_and_raises_that_of_a_waiting_key() -> None:
    queue = make_queue()
    queue.add("list-1", BACKGROUND)
    queue.add("list-2", BACKGROUND)
    queue.add("event", NORMAL)
    queue.add("list-2", NORMAL)
    queue.add("event", BACKGROUND)
    assert [await take(queue) for _ in range(3)] == ["event", "list-2", "list-1"]


async def test_an_item_has_its_priority_and_waiting_time() -> None:
    clock = FakeClock()
    queue = make_queue(clock)
    queue.add("a", BACKGROUND)
    clock.pass_time(3)
    queue.add("a", NORMAL)
    assert await queue.get() == ("a", NORMAL, 3.0)


async def test_a_delayed_key_is_processed_after_its_delay() -> None:
    clock = FakeClock()
    queue = make_queue(clock)
    queue.add_after("a", 5)
    clock.pass_time(4.9)
    assert (len(queue), queue.delayed) == (0, 1)
    clock.pass_time(0.1)
    assert (len(queue), queue.delayed) == (1, 0)


@pytest.mark.parametrize(("first", "second"), [(5, 9), (9, 5)])
async def test_of_two_delays_the_shorter_counts_once(first: float, second: float) -> None:
    clock = FakeClock()
    queue = make_queue(clock)
    queue.add_after("a", first)
    queue.add_after("a", second)
    clock.pass_time(5)
    assert await take(queue) == "a"
    queue.done("a")
    clock.pass_time(100)
    assert len(queue) == 0


async def test_backoff_grows_until_the_key_is_forgotten() -> None:
    clock = FakeClock()
    queue = make_queue(clock)
    assert [queue.retry("a") for _ in range(3)] == [1, 2, 4]
    assert queue.failures("a") == 3
    queue.forget("a")
    assert queue.retry("a") == 1


async def test_a_waiting_worker_is_woken_by_an_add_and_by_a_delay() -> None:
    clock = FakeClock()
    queue = make_queue(clock)
    worker = asyncio.create_task(take(queue))
    await settle()
    queue.add("a")
    assert await worker == "a"
    worker = asyncio.create_task(take(queue))
    await settle()
    queue.add_after("b", 1)
    await clock.advance(1)
    assert await worker == "b"


async def test_a_cancelled_worker_wakes_another_one() -> None:
    queue = make_queue()
    cancelled = asyncio.create_task(take(queue))
    patient = asyncio.create_task(take(queue))
    await settle()
    queue.add("a")
    cancelled.cancel()
    assert await patient == "a"
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_closing_ends_all_workers_and_accepts_no_more_keys() -> None:
    clock = FakeClock()
    queue = make_queue(clock)
    queue.add_after("late", 1)
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await settle()
    queue.close()
    results = await asyncio.gather(*workers, return_exceptions=True)
    assert [type(result) for result in results] == [QueueClosedError] * 3
    queue.add("a")
    queue.add_after("b", 1)
    await clock.advance(5)
    assert (len(queue), queue.delayed) == (0, 0)


class QueueMachine(RuleBasedStateMachine):
    """Any interleaving of adds, delays, work and time, against a simple model."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.queue: WorkQueue[str] = WorkQueue(self.clock, Delays(first=1, limit=8, jitter=0))
        self.order: dict[int, list[str]] = {NORMAL: [], BACKGROUND: []}
        self.again: dict[str, int] = {}
        self.working: list[str] = []
        self.due: dict[str, tuple[float, int]] = {}

    @override
    def teardown(self) -> None:
        self.queue.close()
        self.loop.close()

    def model_add(self, key: str, priority: int) -> None:
        if key in self.working:
            self.again[key] = max(priority, self.again.get(key, priority))
        elif key in self.order[NORMAL]:
            return
        elif key in self.order[BACKGROUND]:
            if priority == NORMAL:
                self.order[BACKGROUND].remove(key)
                self.order[NORMAL].append(key)
        else:
            self.order[priority].append(key)

    @rule(key=st.sampled_from("abcd"), priority=st.sampled_from([NORMAL, BACKGROUND]))
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority)
        self.model_add(key, priority)

    @rule(
        key=st.sampled_from("abcd"),
        delay=st.integers(1, 6),
        priority=st.sampled_from([NORMAL, BACKGROUND]),
    )
    def add_after(self, key: str, delay: int, priority: int) -> None:
        self.queue.add_after(key, delay, priority)
        at = self.clock.monotonic() + delay
        old = self.due.get(key)
        self.due[key] = (at, priority) if old is None else (min(at, old[0]), max(priority, old[1]))

    @rule(seconds=st.integers(1, 4))
    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.pass_time(1)
            ripe = [key for key, (at, _) in self.due.items() if at <= self.clock.monotonic()]
            # Keys that are due at the same time may be processed in any order.
            ready = [key for level in self.queue._ready.values() for key in level]
            for key in sorted(ripe, key=lambda key: ready.index(key) if key in ready else -1):
                self.model_add(key, self.due.pop(key)[1])

    @precondition(lambda self: self.order[NORMAL] or self.order[BACKGROUND])
    @rule()
    def get(self) -> None:
        expected = (self.order[NORMAL] or self.order[BACKGROUND]).pop(0)
        item = self.loop.run_until_complete(self.queue.get())
        assert item.key == expected
        assert item.key not in self.working
        self.working.append(item.key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.working))
        self.queue.done(key)
        self.working.remove(key)
        if key in self.again:
            self.model_add(key, self.again.pop(key))

    @invariant()
    def counts_agree(self) -> None:
        assert len(self.queue) == len(self.order[NORMAL]) + len(self.order[BACKGROUND])
        assert self.queue.delayed == len(self.due)
        assert self.queue.working == len(self.working)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


async def test_with_many_workers_no_key_is_lost_or_processed_twice_at_once() -> None:
    queue: WorkQueue[int] = WorkQueue(FakeClock())
    worked: Counter[int] = Counter()
    busy: set[int] = set()

    async def worker() -> None:
        while True:
            try:
                key = (await queue.get()).key
            except QueueClosedError:
                return
            assert key not in busy
            busy.add(key)
            await asyncio.sleep(0)
            worked[key] += 1
            busy.discard(key)
            queue.done(key)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(4):
            tasks.create_task(worker())
        for turn in range(2_000):
            queue.add(turn % 97)
            if turn % 7 == 0:
                await asyncio.sleep(0)
        await settle(until=lambda: not len(queue) and not queue.working, turns=10_000)
        queue.close()
    assert set(worked) == set(range(97))


async def test_a_held_key_waits_for_its_delay_even_if_it_is_added() -> None:
    clock = FakeClock()
    queue: WorkQueue[str] = WorkQueue(clock, Delays(first=0.2, limit=5.0, jitter=0.0))
    queue.add("a")
    item = await queue.get()
    queue.add("a")  # the event of its own write
    assert queue.hold(item.key) == pytest.approx(0.2)
    queue.done(item.key)
    queue.add("a")
    assert len(queue) == 0
    clock.pass_time(0.2)
    assert (await queue.get()).key == "a"
    assert queue.hold("a") == pytest.approx(0.4)
    queue.done("a")
    clock.pass_time(0.4)
    await queue.get()
    queue.forget("a")
    queue.done("a")
    queue.add("a")
    assert len(queue) == 1


async def test_the_queue_is_idle_when_no_key_is_ready_or_processed() -> None:
    queue = make_queue()
    await queue.wait_until_idle(1, 9)
    queue.add("a")
    queue.add("b")
    waiting = asyncio.create_task(queue.wait_until_idle(1, 9))
    for key in "ab":
        await settle()
        assert not waiting.done()
        await take(queue)
        await settle()
        assert not waiting.done()
        queue.done(key)
    await settle()
    assert waiting.done()


async def test_a_key_that_was_added_again_keeps_the_queue_busy() -> None:
    queue = make_queue()
    queue.add("a")
    await take(queue)
    queue.add("a")
    queue.done("a")
    waiting = asyncio.create_task(queue.wait_until_idle(1, 9))
    await settle()
    assert not waiting.done()
    await take(queue)
    queue.done("a")
    await waiting


async def test_waiting_for_idle_ends_some_time_after_the_queue_became_busy() -> None:
    clock = FakeClock()
    queue = make_queue(clock)
    queue.add("a")
    await clock.advance(0.4)
    waiting = asyncio.create_task(queue.wait_until_idle(1, 9))
    await clock.advance(0.5)
    assert not waiting.done()
    await clock.advance(0.2)
    assert waiting.done()
    queue.add("b")  # the queue has been busy since the first key
    await asyncio.wait_for(queue.wait_until_idle(1, 9), 1)


async def test_a_closed_queue_is_idle() -> None:
    queue = make_queue()
    queue.add("a")
    queue.close()
    await asyncio.wait_for(queue.wait_until_idle(1, 9), 1)


async def test_waiting_for_idle_ends_after_the_given_time() -> None:
    clock = FakeClock()
    queue = make_queue(clock)
    queue.add("a")
    await asyncio.wait_for(queue.wait_until_idle(1, 0), 1)
    await asyncio.wait_for(queue.wait_until_idle(1, -3), 1)
    waiting = asyncio.create_task(queue.wait_until_idle(1, 0.3))
    await clock.advance(0.2)
    assert not waiting.done()
    await clock.advance(0.2)
    assert waiting.done()
