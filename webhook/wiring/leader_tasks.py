"""The tasks of the leader: controllers, the built-in scheduler, webhooks, certificates."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.controllers.gardenerrollout.whole_shoots import WholeShoots
from webhook.controllers.pools.controller import RECORDS
from webhook.controllers.pools.shoot_clusters import ShootClusters
from webhook.controllers.seedautoscaler.prometheus import Prometheus
from webhook.controllers.table import CONTROLLERS
from webhook.domain.features import has_controller
from webhook.kube.clock import Clock
from webhook.placement.ledger_gc import LedgerCollector
from webhook.placement.placer import Placer
from webhook.placement.scheduler import Scheduler
from webhook.runtime.client_pool import ClientPool
from webhook.runtime.controller import Controller
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import Expectations
from webhook.runtime.leader_election import LeaderElector
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.runner import Runner
from webhook.runtime.writer import Writer


class LeaderTasks:
    """Runs everything that only one replica may do, while this replica leads."""

    def __init__(
        self, client: Client, cache: Cache, recorder: EventRecorder, clock: Clock, metrics: Metrics
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self.placer = Placer(client, cache, clock, recorder)
        self.further: list[Any] = []
        """Further tasks with a `run`, such as the renewal of certificates."""

    def run(self, elector: LeaderElector) -> Coroutine[Any, Any, None]:
        """Return the coroutine that runs the tasks of all features in use while we lead."""
        features = self._cache.state.options.features
        writer = Writer(self._client, self._metrics, lambda: elector.is_leading)
        shoots = ClientPool(self._metrics, lambda: elector.is_leading)
        samples = Prometheus(lambda: self._cache.state.options.seeds, self._clock)
        shoot_clusters = ShootClusters(self._client, self._cache, shoots, self._clock)
        inputs = {
            "samples": samples,
            "backed_off": shoot_clusters.backed_off,
            "whole_shoots": WholeShoots(self._client),
        }
        runners: dict[str, Runner] = {}
        for row in CONTROLLERS:
            if has_controller(features, row.name):
                ahead = runners.get(row.after)
                runners[row.name] = self._runner(row.with_inputs(inputs), writer, shoots, ahead)
        tasks: list[Any] = [*runners.values(), *self.further]
        if "seeds" in features:
            tasks.append(samples)
        if "node-groups" in features:
            shoot_clusters.on_change = runners[RECORDS.name].enqueue
            tasks.append(shoot_clusters)
        if "placement" in features:
            tasks += self._placement()
        return _run_all(tasks, shoots)

    def _placement(self) -> tuple[Scheduler, LedgerCollector]:
        client, cache, clock = self._client, self._cache, self._clock
        return (
            Scheduler(client, cache, self.placer, self._recorder, clock, self._metrics),
            LedgerCollector(client, cache, self.placer, clock),
        )

    def record_leadership(self, leading: bool) -> None:
        """Export in metrics whether this replica leads."""
        self._metrics.leader.set(leading)
        self._metrics.leader_changes.inc()

    def _runner(
        self, row: Controller, writer: Writer, shoots: ClientPool, ahead: Runner | None
    ) -> Runner:
        expectations = Expectations(self._cache, self._clock)
        reconciler = Reconciler(row, self._cache, writer, self._recorder, expectations, shoots)
        return Runner(row, reconciler, self._cache, self._clock, self._metrics, ahead)


async def _run_all(tasks: list[Any], shoots: ClientPool) -> None:
    async with shoots, asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(task.run())
