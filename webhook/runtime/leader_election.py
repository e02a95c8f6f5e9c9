"""Leader election by a Lease: at most one replica leads at any time.

A leader stops leading `renew_deadline` after it *sent* its last successful renewal. A candidate
acquires the Lease only after it has seen it unchanged for the whole lease duration of the holder,
which is longer. Both use their own monotonic clock, so clock skew does no harm.

The sending counts, because the API server may have recorded the renewal at any time after it.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from webhook.kube.clock import Clock, within
from webhook.kube.meta import Raw
from webhook.kube.timestamps import format_micro_time
from webhook.runtime.lease import LeaderElectionRecord, Lock, LockError, LockTakenError
from webhook.runtime.logs import LogDeduplicator

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Lease duration, renew deadline and retry period, as in client-go."""

    lease_duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline:
            raise ValueError("lease duration must be longer than the renew deadline")
        if not self.renew_deadline > self.retry_period > 0:
            raise ValueError("renew deadline must be longer than the retry period")

    @property
    def call_timeout(self) -> float:
        """The timeout of one call, so that a hung call leaves time for another."""
        return self.renew_deadline / 2


@dataclass(frozen=True, slots=True)
class _Observation:
    lease: Raw
    record: LeaderElectionRecord
    at: float


class LeaderElector:
    """Competes for a Lease and runs a coroutine while it holds it."""

    def __init__(self, lock: Lock, identity: str, timing: LeaseTiming, clock: Clock) -> None:
        self.identity = identity
        self._lock = lock
        self._timing = timing
        self._clock = clock
        self._observed: _Observation | None = None
        self._deadline: float | None = None
        self._failures = LogDeduplicator()

    @property
    def is_leading(self) -> bool:
        """Whether this replica may act as the leader at this moment."""
        return self._deadline is not None and self._clock.monotonic() < self._deadline

    @property
    def holder(self) -> str:
        """The holder of the Lease when it was last read."""
        return self._observed.record.holder if self._observed else ""

    async def run(
        self,
        lead: Callable[[], Coroutine[Any, Any, None]],
        changed: Callable[[bool], None] = lambda leading: None,
    ) -> None:
        """Compete until cancelled; run `lead` while leading and cancel it afterwards.

        An error of `lead` ends this, too. On cancellation `lead` ends first and the Lease is
        released afterwards, so that the successor starts at once and never at the same time.
        """
        try:
            while True:
                await self._acquire()
                logger.info("started leading", extra={"identity": self.identity})
                changed(True)
                try:
                    await self._lead(lead)
                finally:
                    self._deadline = None
                    changed(False)
                    logger.info("stopped leading", extra={"identity": self.identity})
                logger.warning("lost the lease", extra={"holder": self.holder})
        finally:
            await self._release()

    async def _acquire(self) -> None:
        while not await self._try_acquire_or_renew():
            await self._clock.sleep(self._retry_delay())

    async def _lead(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def run_lead() -> None:
            await lead()
            raise RuntimeError("the task of the leader ended by itself")

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(run_lead())
            try:
                await self._renew_until_lost(task)
            finally:
                task.cancel()

    async def _renew_until_lost(self, task: asyncio.Task[None]) -> None:
        """Renew the Lease until that fails for too long or another replica holds it."""
        stopped = False

        def stop() -> None:
            nonlocal stopped
            stopped = True
            task.cancel()

        # A renewal may succeed after the deadline, but the task has been cancelled by then.
        while self.is_leading and not stopped:
            # The timer cancels the task in time even if a call below never returns.
            timer = self._clock.call_later(self._time_left(), stop)
            try:
                await self._clock.sleep(min(self._retry_delay(), self._time_left()))
                if self.is_leading:
                    await self._try_acquire_or_renew()
            finally:
                timer.cancel()

    def _time_left(self) -> float:
        return 0.0 if self._deadline is None else max(0.0, self._deadline - self._clock.monotonic())

    def _retry_delay(self) -> float:
        """Return the delay before the next attempt, at most until the lease expires."""
        pause = self._timing.retry_period * random.uniform(0.8, 0.9)  # noqa: S311  only jitter
        if self._deadline is None and self._observed is not None:
            until_expiry = self._expiry(self._observed) - self._clock.monotonic()
            if until_expiry > 0:
                return min(pause, until_expiry)
        return pause

    def _expiry(self, seen: _Observation) -> float:
        return seen.at + (seen.record.duration or self._timing.lease_duration)

    async def _try_acquire_or_renew(self) -> bool:
        """Acquire or renew the Lease if possible, and return whether this replica leads."""
        try:
            if self._observed is None or not self._is_ours(self._observed.record):
                await self._read()
            if self._may_acquire():
                await self._acquire_or_renew()
            self._failures.end()
        except (LockError, TimeoutError) as error:
            reason = str(error) or "the call timed out"
            level = self._failures.level(reason)
            logger.log(level, "could not write the lease", extra={"error": reason})
        return self.is_leading

    async def _read(self) -> None:
        lease = await self._call(self._lock.read())
        now = self._clock.monotonic()
        if lease is None:
            # Deleted by hand: its holder may lead until its renew deadline.
            if self._observed is not None:
                self._observed = replace(self._observed, lease={})
            return
        record = LeaderElectionRecord.decode(lease)
        if self._observed is not None and self._observed.record == record:
            now = self._observed.at
        self._observed = _Observation(lease, record, now)
        if not self._is_ours(record):
            self._deadline = None

    def _is_ours(self, record: LeaderElectionRecord) -> bool:
        return record.holder == self.identity

    def _may_acquire(self) -> bool:
        if self._observed is None:
            return True
        record = self._observed.record
        if not record.holder or self._is_ours(record):
            return True
        return self._clock.monotonic() >= self._expiry(self._observed)

    async def _acquire_or_renew(self) -> None:
        try:
            await self._write()
        except LockTakenError:
            # Perhaps only a label changed, or our last write succeeded and its response was lost:
            # then the Lease is still ours.
            await self._read()
            if self._observed is not None and self._is_ours(self._observed.record):
                await self._write()

    async def _write(self) -> None:
        sent = self._clock.monotonic()
        lease = self._observed.lease if self._observed else {}
        record = self._next_record(self._observed.record if self._observed else None)
        write = (
            self._lock.replace(record.on(lease)) if lease else self._lock.create(record.encode())
        )
        written = await self._call(write)
        self._observed = _Observation(
            written, LeaderElectionRecord.decode(written), self._clock.monotonic()
        )
        self._deadline = sent + self._timing.renew_deadline

    def _next_record(self, old: LeaderElectionRecord | None) -> LeaderElectionRecord:
        now = format_micro_time(self._clock.now())
        duration = self._timing.lease_duration
        if old is None:
            return LeaderElectionRecord(self.identity, duration, acquired=now, renewed=now)
        if self._is_ours(old):
            return replace(old, duration=duration, renewed=now)
        # Acquiring a released Lease counts as a transition, too, as in client-go.
        return LeaderElectionRecord(self.identity, duration, now, now, old.transitions + 1)

    async def _call(self, call: Awaitable[T]) -> T:
        limit = self._timing.call_timeout
        if self._deadline is not None:
            limit = min(limit, max(self._time_left(), 0.01))
        async with within(self._clock, limit):
            return await call

    async def _release(self) -> None:
        self._deadline = None
        try:
            try:
                await self._write_released()
            except LockTakenError:
                # A renewal that was cancelled may have been stored.
                await self._read()
                await self._write_released()
        except (LockError, TimeoutError) as error:
            logger.warning("could not release the lease", extra={"error": str(error)})

    async def _write_released(self) -> None:
        observed = self._observed
        if observed is None or not self._is_ours(observed.record) or not observed.lease:
            return
        now = format_micro_time(self._clock.now())
        record = replace(observed.record, holder="", duration=1, acquired=now, renewed=now)
        await self._call(self._lock.replace(record.on(observed.lease)))
