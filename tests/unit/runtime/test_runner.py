import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.clocks import FakeClock, settle
from tests.support.fake_cluster import FakeCluster
from tests.support.waits import eventually
from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import kind_of_model
from webhook.cluster.errors import ConflictError, ForbiddenError, UnavailableError
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.actions import NOTHING, Action, Create, Delete, Emit, MetricUpdate, Patch, Plan
from webhook.runtime.controller import Controller, Planner, TerminalError, Watch
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import OBSERVE_SECONDS, Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import PAUSE, Reconciler, Result
from webhook.runtime.runner import Runner
from webhook.runtime.writer import Writer
from webhook.state.snapshot import Snapshot

MAPS = kind_of_model(ConfigMap)
SECRETS = kind_of_model(Secret)
KEY = ObjectKey("garden", "one")


def named(name: str, **more: Any) -> Draft:
    return {"metadata": {"namespace": "garden", "name": name}, **more}


class Bench:
    """A controller of ConfigMaps that also watches the Secrets of the same names."""

    def __init__(self, plan: Planner, *, live: bool = True, workers: int = 1) -> None:
        self.clock = FakeClock()
        self.cluster = FakeCluster(self.clock, ConfigMap, Secret, live=live)
        self.metrics = Metrics()
        self.leads = True
        self.planned: list[str] = []

        def noting(obj: ConfigMap, snapshot: Snapshot) -> Plan:
            self.planned.append(obj.name)
            return plan(obj, snapshot)

        def same_name(old: Any, new: Any, snapshot: Snapshot) -> Iterable[ObjectKey]:
            return [(new or old).key]

        row = Controller(
            "maps", ConfigMap, noting, watches=(Watch(Secret, same_name),), workers=workers
        )
        self.recorder = EventRecorder(self.cluster, "test", self.clock, self.metrics)
        self.expectations = Expectations(self.cluster, self.clock)
        reconciler = Reconciler(
            row,
            self.cluster,
            Writer(self.cluster, self.metrics, lambda: self.leads),
            self.recorder,
            self.expectations,
        )
        self.runner = Runner(row, reconciler, self.cluster, self.clock, self.metrics)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.runner.run())
        await settle()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def count(self, result: str) -> float:
        return float(self.metrics.reconciles.labels("maps", result)._value.get())


def nothing(obj: ConfigMap, snapshot: Snapshot) -> Plan:
    return NOTHING


async def test_all_existing_objects_and_every_change_are_reconciled() -> None:
    bench = Bench(nothing)
    bench.cluster.put(MAPS, named("one"))
    bench.cluster.put(MAPS, named("two"))
    async with bench.running():
        assert bench.planned == ["one", "two"]
        bench.cluster.put(MAPS, named("three"))
        await settle()
        bench.cluster.put(SECRETS, named("one"))
        await settle()
        assert bench.planned == ["one", "two", "three", "one"]
    assert bench.cluster.listeners == 0


async def test_a_second_run_reconciles_all_objects_again() -> None:
    bench = Bench(nothing)
    bench.cluster.put(MAPS, named("one"))
    for turns in (1, 2):
        async with bench.running():
            assert bench.planned == ["one"] * turns


async def test_a_plan_is_carried_out_until_nothing_is_left_to_do() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        if snapshot.get(Secret, obj.key) is None:
            return Plan((Create(SECRETS, named(obj.name)),))
        return NOTHING

    bench = Bench(plan)
    async with bench.running():
        bench.cluster.put(MAPS, named("one"))
        await settle()
        assert bench.cluster.calls == [("create", "Secret", "garden/one")]
        assert bench.planned == ["one", "one"]
        assert len(bench.expectations) == 0


async def test_a_key_is_not_planned_before_its_last_write_is_observed() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        if snapshot.get(Secret, obj.key) is None:
            return Plan((Create(SECRETS, named(obj.name)),), requeue_after=0.5)
        return NOTHING

    bench = Bench(plan, live=False)
    bench.cluster.put(MAPS, named("one"))
    bench.cluster.deliver()
    async with bench.running():
        await bench.clock.advance(5)
        assert bench.planned == ["one"], "the watch has not shown the Secret yet"
        bench.cluster.deliver()
        await settle()
        assert len(bench.planned) > 1
        assert len(bench.cluster.calls) == 1


async def test_a_deletion_is_observed_before_the_next_plan() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        secret = snapshot.get(Secret, obj.key)
        if secret is None:
            return NOTHING
        return Plan((Delete(SECRETS, secret.key, secret.uid),), requeue_after=0.5)

    bench = Bench(plan, live=False)
    bench.cluster.put(MAPS, named("one"))
    bench.cluster.put(SECRETS, named("one"))
    bench.cluster.deliver()
    async with bench.running():
        await bench.clock.advance(3)
        assert bench.planned == ["one"]
        bench.cluster.deliver()
        await bench.clock.advance(1)
        assert len(bench.planned) > 1
        assert bench.cluster.calls == [("delete", "Secret", "garden/one")]


async def test_a_write_that_is_never_observed_delays_every_plan() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        return Plan((Create(SECRETS, named(obj.name)),), requeue_after=0.1)

    bench = Bench(plan, live=False)
    bench.cluster.put(MAPS, named("one"))
    bench.cluster.deliver()
    async with bench.running():
        await bench.clock.advance(3 * OBSERVE_SECONDS)
        assert bench.planned == ["one"]
        assert bench.count("conflict") >= 2


async def test_a_conflict_is_retried_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        if obj.data.get("done"):
            return NOTHING
        change = {"data": {"done": "yes"}}
        return Plan((Patch(MAPS, obj.key, change, obj.uid, obj.resource_version),))

    bench = Bench(plan)
    bench.cluster.faults = [ConflictError(409, "Conflict", "changed")]
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(1)
        assert bench.count("conflict") == 1
        assert bench.cluster.objects[ConfigMap, KEY]["data"] == {"done": "yes"}
    assert [record.levelname for record in caplog.records if record.levelno >= 30] == []


async def test_a_failure_is_logged_and_retried_with_backoff(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(lambda obj, snapshot: Plan((Create(SECRETS, named(obj.name)),)))
    bench.cluster.faults = [UnavailableError(503, "Unavailable", "later")] * 3
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(5)
        assert bench.count("error") == 3
        assert bench.count("ok") >= 1
    assert "could not reconcile" in caplog.text


async def test_a_missing_permission_is_logged_once_for_all_objects_and_attempts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    message = 'x is forbidden: User "espalier" cannot create resource "secrets" in API group ""'
    bench = Bench(lambda obj, snapshot: Plan((Create(SECRETS, named(obj.name)),)))
    bench.cluster.faults = [ForbiddenError(403, "Forbidden", message)] * 8
    for name in ("one", "two", "three"):
        bench.cluster.put(MAPS, named(name))
    async with bench.running():
        await bench.clock.advance(60)
        assert bench.count("error") == 8
        assert bench.count("ok") >= 3
    loud = [each for each in caplog.records if each.levelno >= 30]
    assert [each.getMessage().partition(":")[0] for each in loud] == ["a permission is missing"]
    assert loud[0].exc_info is None


async def test_a_terminal_error_waits_for_a_change() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        raise TerminalError("data.mode is unknown")

    bench = Bench(plan)
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(3600)
        assert (bench.planned, bench.count("terminal")) == (["one"], 1)
        bench.cluster.put(MAPS, named("one", data={"mode": "x"}))
        await settle()
        assert len(bench.planned) == 2


async def test_a_plan_is_requeued_after_its_delay() -> None:
    bench = Bench(lambda obj, snapshot: Plan(requeue_after=30))
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(29)
        assert len(bench.planned) == 1
        await bench.clock.advance(2)
        assert len(bench.planned) == 2


async def test_after_losing_leadership_nothing_is_written_or_retried() -> None:
    bench = Bench(lambda obj, snapshot: Plan((Create(SECRETS, named(obj.name)),)))
    bench.leads = False
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(60)
        assert bench.cluster.calls == []
        assert bench.count("not-leading") == 1


async def test_a_controller_pauses_while_a_kind_that_it_reads_is_stale() -> None:
    bench = Bench(nothing)
    bench.cluster.stale = frozenset({Secret})
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(PAUSE + 0.1)
        assert (bench.planned, bench.count("paused")) == ([], 2)
        bench.cluster.stale = frozenset()
        await bench.clock.advance(PAUSE)
        assert bench.planned == ["one"]


async def test_a_deleted_object_is_not_planned_and_loses_its_expectations() -> None:
    bench = Bench(nothing)
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        await bench.cluster.delete(MAPS, KEY)
        await settle()
        assert bench.planned == ["one"]
        assert bench.count("gone") == 1


async def test_events_do_not_delay_writes() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        actions: list[Action] = [Emit(MAPS, obj, "CreatingShoot", "making a secret")]
        if snapshot.get(Secret, obj.key) is None:
            actions.append(Create(SECRETS, named(obj.name)))
        return Plan(tuple(actions))

    bench = Bench(plan)
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        assert ("create", "Secret", "garden/one") in bench.cluster.calls
        assert not any("Event" in call[1] for call in bench.cluster.calls)
        await bench.recorder.flush()
        assert sum("Event" in call[1] for call in bench.cluster.calls) == 1


async def test_a_requeue_with_backoff_is_not_hastened_by_the_own_write() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        change = {"data": {"seen": str(len(bench.planned))}}
        since = bench.clock.now()
        metric_updates = (
            MetricUpdate("edge_lateness", "start", since),
            MetricUpdate("floors_missing", "Map"),
        )
        return Plan(
            (Patch(MAPS, obj.key, change, obj.uid),),
            requeue_with_backoff=True,
            metric_updates=metric_updates,
        )

    bench = Bench(plan)
    bench.cluster.put(MAPS, named("one"))
    async with bench.running():
        await settle()
        assert len(bench.planned) == 1
        await bench.clock.advance(1.0)
        assert 2 <= len(bench.planned) <= 5
    exposed = bench.metrics.expose().decode()
    assert 'espalier_scheduled_scaling_edge_lateness_seconds_count{edge="start"}' in exposed
    assert 'espalier_scheduled_scaling_floors_missing_total{kind="Map"}' in exposed


async def test_a_controller_waits_for_the_one_ahead_of_it_for_a_limited_time() -> None:
    bench = Bench(nothing)
    gate = asyncio.Event()

    class Slow:
        async def reconcile(self, _key: ObjectKey) -> Result:
            await gate.wait()
            return Result()

    row = Controller("first", Secret, lambda _obj, _snapshot: NOTHING)
    ahead = Runner(row, Slow(), bench.cluster, bench.clock, bench.metrics)
    task = asyncio.create_task(ahead.run())
    bench.runner._ahead = ahead
    async with bench.running():
        bench.cluster.put(SECRETS, named("one"))
        bench.cluster.put(MAPS, named("one"))
        await bench.clock.advance(0.9)
        assert bench.planned == []
        await bench.clock.advance(0.2)
        assert bench.planned == ["one"]
        bench.cluster.put(MAPS, named("two"))
        await settle()
        assert bench.planned == ["one", "two"], "a stuck controller does not delay others"
        gate.set()
        await settle()
        gate.clear()
        bench.cluster.put(SECRETS, named("two"))
        bench.cluster.put(MAPS, named("three"))
        await settle()
        assert "three" not in bench.planned
        gate.set()
        await settle()
        assert "three" in bench.planned
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_keys_behind_a_busy_controller_wait_together_and_not_in_turn() -> None:
    bench = Bench(nothing)

    class Stuck:
        async def reconcile(self, _key: ObjectKey) -> Result:
            await bench.clock.sleep(0.9)
            return Result()

    row = Controller("first", Secret, lambda _obj, _snapshot: NOTHING)
    ahead = Runner(row, Stuck(), bench.cluster, bench.clock, bench.metrics)
    task = asyncio.create_task(ahead.run())
    bench.runner._ahead = ahead
    async with bench.running():
        for number in range(20):
            bench.cluster.put(MAPS, named(f"map-{number}"))
        for number in range(3):  # busy again and again, with a pause in between
            bench.cluster.put(SECRETS, named(f"secret-{number}"))
            await bench.clock.advance(1.0)
        assert len(bench.planned) >= 20
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_plans_without_actions_let_others_run_in_between() -> None:
    turn = 0
    planned_in: list[int] = []

    def plan(_obj: ConfigMap, _snapshot: Snapshot) -> Plan:
        planned_in.append(turn)
        return NOTHING

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    bench = Bench(plan)
    for number in range(100):
        bench.cluster.put(MAPS, named(f"map-{number}"))
    counting = asyncio.create_task(count_turns())
    async with bench.running():
        await eventually(lambda: len(planned_in) == 100)
    counting.cancel()
    assert len({*planned_in}) == 100
