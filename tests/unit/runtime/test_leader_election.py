import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from tests.support.clocks import FakeClock, settle
from webhook.kube.meta import Draft, Raw
from webhook.runtime.leader_election import LeaderElector, LeaseTiming
from webhook.runtime.lease import LockError, LockTakenError

TIMING = LeaseTiming(lease_duration=15, renew_deadline=10, retry_period=2)


class Server:
    """One Lease with compare-and-swap, shared by all candidates."""

    def __init__(self) -> None:
        self.lease: Draft | None = None
        self.version = 0
        self.writes: list[Draft] = []

    def write(self, lease: Draft) -> Raw:
        self.version += 1
        metadata = {**lease.get("metadata", {}), "resourceVersion": str(self.version)}
        self.lease = {**lease, "metadata": metadata}
        self.writes.append(self.lease)
        return self.lease


class Wire:
    """The connection of one candidate, which can hang before or after the request arrives."""

    def __init__(self, server: Server, clock: FakeClock) -> None:
        self.server = server
        self.clock = clock
        self.hangs_before = False
        self.hangs_after = False
        self.refuses = False
        self.delay = 0.0
        self.calls = 0

    async def _travel(self, hangs: bool) -> None:
        self.calls += 1
        if self.refuses:
            raise LockError("connection refused")
        if hangs:
            await self.clock.sleep(1e9)
        if self.delay:
            await self.clock.sleep(self.delay)

    async def read(self) -> Raw | None:
        await self._travel(self.hangs_before)
        lease = self.server.lease
        await self._travel(self.hangs_after)
        return lease

    async def create(self, spec: Draft) -> Raw:
        await self._travel(self.hangs_before)
        if self.server.lease is not None:
            raise LockTakenError("already exists")
        written = self.server.write({"metadata": {}, "spec": spec})
        await self._travel(self.hangs_after)
        return written

    async def replace(self, lease: Draft) -> Raw:
        await self._travel(self.hangs_before)
        current = self.server.lease
        if current is None or (
            current["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]
        ):
            raise LockTakenError("changed meanwhile")
        written = self.server.write(lease)
        await self._travel(self.hangs_after)
        return written


class LateWire(Wire):
    """Responds shortly before the renew deadline, and then shortly after it."""

    late_at = 0.0

    @override
    async def replace(self, lease: Draft) -> Raw:
        left = self.late_at - self.clock.monotonic()
        if left > 0.0075:
            raise LockError("connection refused")
        if left > 0:
            await self.clock.sleep(left + 0.0004)
        return await super().replace(lease)


class Candidate:
    """A running elector, and when it led."""

    def __init__(self, name: str, server: Server, clock: FakeClock) -> None:
        self.clock = clock
        self.wire = Wire(server, clock)
        self.elector = LeaderElector(self.wire, name, TIMING, clock)
        self.changes: list[tuple[float, bool]] = []
        self.working = False

    async def work(self) -> None:
        self.working = True
        try:
            await asyncio.Event().wait()
        finally:
            self.working = False

    async def run(self) -> None:
        await self.elector.run(
            self.work, lambda leading: self.changes.append((self.clock.monotonic(), leading))
        )

    @property
    def leads(self) -> bool:
        return self.elector.is_leading


@asynccontextmanager
async def running(*candidates: Candidate) -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks = [asyncio.create_task(candidate.run()) for candidate in candidates]
    await settle()
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        for _ in range(20):
            candidates[0].clock.pass_time(1)
            await settle()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def broken(wire: Wire, how: str) -> Iterator[None]:
    setattr(wire, how, True)
    yield
    setattr(wire, how, False)


def make(*names: str) -> tuple[Server, FakeClock, list[Candidate]]:
    server, clock = Server(), FakeClock()
    return server, clock, [Candidate(name, server, clock) for name in names]


async def test_the_first_candidate_leads_at_once_and_writes_the_lease() -> None:
    server, _, [one] = make("one")
    async with running(one):
        assert one.leads
        assert one.working
        assert one.elector.holder == "one"
        assert server.lease is not None
        assert server.lease["spec"] == {
            "holderIdentity": "one",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-03-01T12:00:00.000000Z",
            "renewTime": "2026-03-01T12:00:00.000000Z",
            "leaseTransitions": 0,
        }


async def test_a_leader_that_renews_keeps_leading_and_its_acquire_time() -> None:
    server, clock, [one, two] = make("one", "two")
    async with running(one, two):
        await clock.advance(120)
        assert (one.leads, two.leads) == (True, False)
        assert one.changes == [(0.0, True)]
        assert server.lease is not None
        assert server.lease["spec"]["acquireTime"] == "2026-03-01T12:00:00.000000Z"
        assert server.lease["spec"]["renewTime"] > "2026-03-01T12:01:57"
        assert server.lease["spec"]["leaseTransitions"] == 0


async def test_a_leader_that_ends_releases_and_the_next_leads_within_a_retry_period() -> None:
    server, clock, [one, two] = make("one", "two")
    async with running(one, two) as tasks:
        tasks[0].cancel()
        await settle()
        assert not one.leads
        assert not one.working
        assert server.lease is not None
        assert server.lease["spec"]["holderIdentity"] == ""
        await clock.advance(TIMING.retry_period)
        assert two.leads
        assert server.lease["spec"]["leaseTransitions"] == 1


async def test_a_leader_that_ends_during_a_renewal_that_is_stored_releases_the_lease() -> None:
    server, clock, [one] = make("one")
    async with running(one) as tasks:
        writes = len(server.writes)
        one.wire.hangs_after = True
        await clock.advance(TIMING.retry_period)
        assert len(server.writes) == writes + 1
        tasks[0].cancel()
        one.wire.hangs_after = False
        await settle()
        assert server.lease is not None
        assert server.lease["spec"]["holderIdentity"] == ""


async def test_a_killed_leader_is_replaced_within_lease_and_one_retry_period() -> None:
    _, clock, [one, two] = make("one", "two")
    async with running(one, two):
        await clock.advance(7.3)
        one.wire.hangs_before = True  # like a killed process: none of its requests arrive
        killed = clock.monotonic()
        while not two.leads:
            await clock.advance(0.1)
        assert clock.monotonic() - killed <= TIMING.lease_duration + TIMING.retry_period
        assert not one.leads


@pytest.mark.parametrize("how", ["hangs_before", "hangs_after", "refuses"])
async def test_a_leader_stops_a_renew_deadline_after_sending_its_last_renewal(how: str) -> None:
    server, clock, [one] = make("one")
    async with running(one):
        await clock.advance(5)
        assert server.lease is not None
        last = len(server.writes)
        with broken(one.wire, how):
            started = clock.monotonic()
            while one.leads:
                await clock.advance(0.05)
            assert not one.working
            assert clock.monotonic() - started <= TIMING.renew_deadline + 0.05
            assert clock.monotonic() - started >= TIMING.renew_deadline - TIMING.retry_period
            assert len(server.writes) - last <= (3 if how == "hangs_after" else 0)
        await clock.advance(TIMING.renew_deadline)
        assert one.leads, "it competes again when the API is back"


async def test_the_deadline_counts_from_the_sending_and_not_from_the_answer() -> None:
    _, clock, [one] = make("one")
    one.wire.delay = 2.0
    async with running(one):
        await clock.advance(8.0)  # read sent at 0, answered at 4; write sent at 4, answered at 8
        assert one.leads
        one.wire.hangs_before = True
        await clock.advance(5.9)
        assert one.leads
        await clock.advance(0.2)
        assert not one.leads


async def test_another_holder_in_the_lease_ends_leading_at_once() -> None:
    server, clock, [one] = make("one")
    async with running(one):
        assert server.lease is not None
        server.write({**server.lease, "spec": {**server.lease["spec"], "holderIdentity": "two"}})
        await clock.advance(TIMING.retry_period)
        assert not one.leads
        assert not one.working


async def test_a_change_of_the_lease_that_leaves_its_holder_does_not_end_leading() -> None:
    server, clock, [one] = make("one")
    async with running(one):
        assert server.lease is not None
        server.write({**server.lease, "metadata": {"labels": {"seen": "yes"}}})
        await clock.advance(30)
        assert one.changes == [(0.0, True)]
        assert server.lease["metadata"]["labels"] == {"seen": "yes"}


async def test_a_lease_deleted_by_hand_is_created_again_by_its_holder_only() -> None:
    server, clock, [one, two] = make("one", "two")
    async with running(one, two):
        await clock.advance(3)
        server.lease = None
        for _ in range(100):
            await clock.advance(0.2)
            assert (one.leads, two.leads) == (True, False)
        assert server.lease is not None


async def test_an_error_of_the_leader_task_ends_the_election_and_releases_the_lease() -> None:
    server, clock, _ = make()
    elector = LeaderElector(Wire(server, clock), "one", TIMING, clock)

    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ExceptionGroup) as caught:
        await elector.run(fail)
    assert isinstance(caught.value.exceptions[0], ValueError)
    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == ""


async def test_a_leader_task_that_ends_by_itself_is_an_error() -> None:
    server, clock, _ = make()
    elector = LeaderElector(Wire(server, clock), "one", TIMING, clock)

    async def end() -> None:
        return

    with pytest.raises(ExceptionGroup, match="unhandled"):
        await elector.run(end)


async def test_an_expired_lease_is_not_requested_in_a_busy_loop_while_the_api_refuses() -> None:
    server, clock, [one, two] = make("one", "two")
    async with running(one, two):
        await clock.advance(3)
        one.wire.refuses = two.wire.refuses = True
        await clock.advance(30)
        before = two.wire.calls
        await clock.advance(30)
        assert two.wire.calls - before <= 30 / (0.8 * TIMING.retry_period) + 1
    assert server.lease is not None


@pytest.mark.parametrize(
    ("lease", "renew", "retry"),
    [
        pytest.param(10, 10, 2, id="the lease must outlast the deadline"),
        pytest.param(15, 2, 2, id="the deadline must leave time for a retry"),
        pytest.param(15, 10, 0, id="no busy loop"),
    ],
)
def test_unsafe_timing_is_refused(lease: int, renew: float, retry: float) -> None:
    with pytest.raises(ValueError, match="must be longer"):
        LeaseTiming(lease, renew, retry)


FAULTS = st.sampled_from(["none", "hangs_before", "hangs_after", "refuses", "slow"])
STEPS = st.lists(st.tuples(st.integers(0, 2), FAULTS, st.integers(1, 60)), min_size=1, max_size=10)


@settings(max_examples=80, deadline=None)
@given(steps=STEPS)
def test_two_replicas_never_lead_at_the_same_time_whatever_hangs(
    steps: list[tuple[int, str, int]],
) -> None:
    async def scenario() -> None:
        _, clock, candidates = make("a", "b", "c")
        async with running(*candidates):
            for index, fault, halves in steps:
                wire = candidates[index].wire
                for how in ("hangs_before", "hangs_after", "refuses"):
                    setattr(wire, how, fault == how)
                wire.delay = 1.7 if fault == "slow" else 0.0
                for _ in range(halves):
                    await clock.advance(0.5)
                    assert sum(candidate.leads for candidate in candidates) <= 1
                    for candidate in candidates:
                        assert candidate.leads or not candidate.working

    asyncio.run(scenario())


async def test_a_renewal_that_succeeds_too_late_starts_the_task_again() -> None:
    clock = FakeClock()
    candidate = Candidate("a", Server(), clock)
    wire = candidate.wire = LateWire(candidate.wire.server, clock)
    timing = LeaseTiming(lease_duration=15, renew_deadline=10, retry_period=0.004)
    candidate.elector = LeaderElector(wire, "a", timing, clock)
    wire.late_at = 10.0
    async with running(candidate):
        assert candidate.working
        await clock.advance(10.2)
        assert candidate.leads
        assert candidate.working
        assert [leading for _, leading in candidate.changes] == [True, False, True]
