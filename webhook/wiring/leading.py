"""What only the leader does: controllers, the built-in scheduler, webhooks, certificates."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.controllers.complement.controller import ROLLOUT, Complement
from webhook.controllers.dispatcher import Dispatcher
from webhook.controllers.placement import Placer
from webhook.controllers.pools.care import plan_record
from webhook.controllers.pools.controller import RECORDS
from webhook.controllers.pools.shoots import Shoots
from webhook.controllers.reviewer import Reviewer
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER
from webhook.controllers.seedautoscaler.plan import plan
from webhook.controllers.seedautoscaler.prometheus import Prometheus
from webhook.controllers.table import CONTROLLERS
from webhook.runtime.clock import Clock
from webhook.runtime.controller import Runner
from webhook.runtime.expectations import Expectations
from webhook.runtime.leader import Elector
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.recorder import Recorder
from webhook.runtime.remotes import Pool
from webhook.runtime.rows import Controller
from webhook.runtime.writer import Writer


class Leading:
    """Runs everything that must happen once, as long as this replica leads."""

    def __init__(
        self, client: Client, cache: Cache, recorder: Recorder, clock: Clock, metrics: Metrics
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self.placer = Placer(client, cache, clock, recorder)
        self.more: list[Any] = []
        """Further things with a `run`, such as the keepers of certificates and webhooks."""

    def lead(self, elector: Elector) -> Coroutine[Any, Any, None]:
        """Give what runs while the elector's replica leads."""
        writer = Writer(self._client, self._metrics, lambda: elector.is_leading)
        dispatcher = Dispatcher(
            self._client, self._cache, self.placer, self._recorder, self._clock, self._metrics
        )
        reviewer = Reviewer(self._client, self._cache, self.placer, self._clock)
        shoots = Pool(self._metrics, lambda: elector.is_leading)
        samples = Prometheus(lambda: self._cache.memory.options.seeds, self._clock)
        looking = Shoots(self._client, self._cache, shoots, self._clock)
        runners: dict[str, Runner] = {}
        for row in CONTROLLERS:
            fed, ahead = _fed(row, samples, looking), runners.get(row.after)
            runners[row.name] = self._runner(fed, writer, shoots, ahead)
        looking.wake = runners[RECORDS.name].wake
        parts = [*runners.values(), self._rollouts(writer), samples, looking]
        return _run_all([*parts, dispatcher, reviewer, *self.more], shoots)

    def note(self, leading: bool) -> None:
        """Export whether this replica leads."""
        self._metrics.leader.set(leading)
        self._metrics.leader_changes.inc()

    def _runner(
        self, row: Controller, writer: Writer, shoots: Pool, ahead: Runner | None
    ) -> Runner:
        expectations = Expectations(self._cache, self._clock)
        reconciler = Reconciler(row, self._cache, writer, self._recorder, expectations, shoots)
        return Runner(row, reconciler, self._cache, self._clock, self._metrics, ahead)

    def _rollouts(self, writer: Writer) -> Runner:
        expectations = Expectations(self._cache, self._clock)
        complement = Complement(self._client, self._cache, writer, self._recorder, expectations)
        return Runner(ROLLOUT, complement, self._cache, self._clock, self._metrics)


def _fed(row: Controller, samples: Prometheus, looking: Shoots) -> Controller:
    """Give plans what is measured or said elsewhere."""
    if row is SEED_AUTOSCALER:
        return replace(row, plan=partial(plan, samples=samples))
    if row is RECORDS:
        return replace(row, plan=partial(plan_record, backed_off=looking.backed_off))
    return row


async def _run_all(parts: list[Any], shoots: Pool) -> None:
    async with shoots, asyncio.TaskGroup() as tasks:
        for part in parts:
            tasks.create_task(part.run())
