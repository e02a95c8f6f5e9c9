"""Leader election by a Lease: at most one replica ever believes that it leads.

A leader stops believing `renew_deadline` after the *sending* of its last successful renewal. A
candidate takes the Lease over only when it saw it unchanged for the holder's whole lease duration,
which is longer. Both count by their own steady clock, so clocks that disagree do no harm.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from webhook.api.meta import Raw
from webhook.api.timestamps import format_micro_time
from webhook.runtime.clock import Clock, within
from webhook.runtime.lease import Lock, LockError, LockTakenError, Record
from webhook.runtime.logs import Repeats

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a lease lasts, how long a leader may fail to renew it, how often all try."""

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
        """How long one call may take, so that a hung one leaves time for another."""
        return self.renew_deadline / 2


@dataclass(frozen=True, slots=True)
class _Observation:
    lease: Raw
    record: Record
    at: float


class Elector:
    """Competes for a Lease and runs something while it holds it."""

    def __init__(self, lock: Lock, identity: str, timing: Timing, clock: Clock) -> None:
        self.identity = identity
        self._lock = lock
        self._timing = timing
        self._clock = clock
        self._seen: _Observation | None = None
        self._deadline: float | None = None
        self._trouble = Repeats()

    @property
    def is_leading(self) -> bool:
        """Whether this replica may act as the leader at this very moment."""
        return self._deadline is not None and self._clock.monotonic() < self._deadline

    @property
    def holder(self) -> str:
        """Who held the Lease when we last looked."""
        return self._seen.record.holder if self._seen else ""

    async def run(
        self,
        lead: Callable[[], Coroutine[Any, Any, None]],
        changed: Callable[[bool], None] = lambda leading: None,
    ) -> None:
        """Compete for ever; while leading run `lead`, which is cancelled when that ends.

        If `lead` fails, so does this. When this is cancelled, `lead` ends first and the Lease is
        released after it, so that the successor starts at once and never beside us.
        """
        try:
            while True:
                await self._campaign()
                logger.info("started leading", extra={"identity": self.identity})
                changed(True)
                try:
                    await self._reign(lead)
                finally:
                    self._deadline = None
                    changed(False)
                    logger.info("stopped leading", extra={"identity": self.identity})
                logger.warning("lost the lease", extra={"holder": self.holder})
        finally:
            await self._release()

    async def _campaign(self) -> None:
        while not await self._try_to_lead():
            await self._clock.sleep(self._pause())

    async def _reign(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def work_on() -> None:
            await lead()
            raise RuntimeError("the leader's work ended by itself")

        async with asyncio.TaskGroup() as tasks:
            work = tasks.create_task(work_on())
            try:
                await self._keep_renewing(work)
            finally:
                work.cancel()

    async def _keep_renewing(self, work: asyncio.Task[None]) -> None:
        """Renew until that fails for too long or someone else holds the Lease."""
        stopped = False

        def stop() -> None:
            nonlocal stopped
            stopped = True
            work.cancel()

        # A renewal that is answered too late may still count, but the work has ended by then.
        while self.is_leading and not stopped:
            # The work ends in time even if a call below should never return.
            timer = self._clock.call_later(self._time_left(), stop)
            try:
                await self._clock.sleep(min(self._pause(), self._time_left()))
                if self.is_leading:
                    await self._try_to_lead()
            finally:
                timer.cancel()

    def _time_left(self) -> float:
        return 0.0 if self._deadline is None else max(0.0, self._deadline - self._clock.monotonic())

    def _pause(self) -> float:
        """Never longer than the retry period; exactly until the holder's lease ends, if sooner."""
        pause = self._timing.retry_period * random.uniform(0.8, 0.9)  # noqa: S311  only jitter
        if self._deadline is None and self._seen is not None:
            until_expiry = self._expiry(self._seen) - self._clock.monotonic()
            if until_expiry > 0:
                return min(pause, until_expiry)
        return pause

    def _expiry(self, seen: _Observation) -> float:
        return seen.at + (seen.record.duration or self._timing.lease_duration)

    async def _try_to_lead(self) -> bool:
        """Take or renew the Lease if that is ours to do, and say whether we lead."""
        try:
            if self._seen is None or not self._is_ours(self._seen.record):
                await self._look()
            if self._may_take():
                await self._take()
            self._trouble.end()
        except (LockError, TimeoutError) as error:
            reason = str(error) or "the call timed out"
            level = self._trouble.level(reason)
            logger.log(level, "could not write the lease", extra={"error": reason})
        return self.is_leading

    async def _look(self) -> None:
        lease = await self._call(self._lock.read())
        now = self._clock.monotonic()
        if lease is None:
            # A lease deleted by hand: its holder may lead on until its time is over.
            if self._seen is not None:
                self._seen = replace(self._seen, lease={})
            return
        record = Record.decode(lease)
        unchanged = self._seen is not None and self._seen.record == record
        self._seen = _Observation(lease, record, self._seen.at if unchanged and self._seen else now)
        if not self._is_ours(record):
            self._deadline = None

    def _is_ours(self, record: Record) -> bool:
        return record.holder == self.identity

    def _may_take(self) -> bool:
        if self._seen is None:
            return True
        record = self._seen.record
        if not record.holder or self._is_ours(record):
            return True
        return self._clock.monotonic() >= self._expiry(self._seen)

    async def _take(self) -> None:
        try:
            await self._write()
        except LockTakenError:
            # Perhaps only a label changed, or our own last write was recorded though its answer
            # was lost: then the Lease is still ours.
            await self._look()
            if self._seen is not None and self._is_ours(self._seen.record):
                await self._write()

    async def _write(self) -> None:
        sent = self._clock.monotonic()
        lease = self._seen.lease if self._seen else {}
        record = self._next_record(self._seen.record if self._seen else None)
        write = (
            self._lock.replace(record.on(lease)) if lease else self._lock.create(record.encode())
        )
        written = await self._call(write)
        self._seen = _Observation(written, Record.decode(written), self._clock.monotonic())
        self._deadline = sent + self._timing.renew_deadline

    def _next_record(self, old: Record | None) -> Record:
        now = format_micro_time(self._clock.now())
        duration = self._timing.lease_duration
        if old is None:
            return Record(self.identity, duration, acquired=now, renewed=now)
        if self._is_ours(old):
            return replace(old, duration=duration, renewed=now)
        # A released lease counts as a change of holder too, as in Kubernetes' own election.
        return Record(self.identity, duration, now, now, old.transitions + 1)

    async def _call(self, call: Awaitable[T]) -> T:
        limit = self._timing.call_timeout
        if self._deadline is not None:
            limit = min(limit, max(self._time_left(), 0.01))
        async with within(self._clock, limit):
            return await call

    async def _release(self) -> None:
        self._deadline = None
        if self._seen is None or not self._is_ours(self._seen.record) or not self._seen.lease:
            return
        now = format_micro_time(self._clock.now())
        record = replace(self._seen.record, holder="", duration=1, acquired=now, renewed=now)
        try:
            await self._call(self._lock.replace(record.on(self._seen.lease)))
        except (LockError, TimeoutError) as error:
            logger.warning("could not release the lease", extra={"error": str(error)})
