import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.clocks import FakeClock, settle
from tests.unit.runtime.world import World
from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.cluster.errors import ConflictError, ForbiddenError, UnavailableError
from webhook.runtime.actions import (
    NOTHING,
    Action,
    Create,
    Delete,
    Emit,
    Measure,
    Patch,
    Plan,
)
from webhook.runtime.controller import Runner
from webhook.runtime.expectations import PATIENCE, Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import PAUSE, Reconciler, Result
from webhook.runtime.recorder import Recorder
from webhook.runtime.rows import Controller, Planner, TerminalError, Watch
from webhook.runtime.writer import Writer
from webhook.state.snapshot import Snapshot

MAPS = kind_of_model(ConfigMap)
SECRETS = kind_of_model(Secret)
KEY = ObjectKey("garden", "one")


def named(name: str, **more: Any) -> Draft:
    return {"metadata": {"namespace": "garden", "name": name}, **more}


class Bench:
    """A controller over ConfigMaps that is also woken by the Secret of the same name."""

    def __init__(self, plan: Planner, *, live: bool = True, workers: int = 1) -> None:
        self.clock = FakeClock()
        self.world = World(self.clock, ConfigMap, Secret, live=live)
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
        self.recorder = Recorder(self.world, "test", self.clock, self.metrics)
        self.expectations = Expectations(self.world, self.clock)
        reconciler = Reconciler(
            row,
            self.world,
            Writer(self.world, self.metrics, lambda: self.leads),
            self.recorder,
            self.expectations,
        )
        self.runner = Runner(row, reconciler, self.world, self.clock, self.metrics)

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


async def test_everything_there_is_and_every_change_is_looked_at() -> None:
    bench = Bench(nothing)
    bench.world.put(MAPS, named("one"))
    bench.world.put(MAPS, named("two"))
    async with bench.running():
        assert bench.planned == ["one", "two"]
        bench.world.put(MAPS, named("three"))
        await settle()
        bench.world.put(SECRETS, named("one"))
        await settle()
        assert bench.planned == ["one", "two", "three", "one"]
    assert bench.world.listeners == 0


async def test_a_second_run_starts_from_everything_again() -> None:
    bench = Bench(nothing)
    bench.world.put(MAPS, named("one"))
    for turns in (1, 2):
        async with bench.running():
            assert bench.planned == ["one"] * turns


async def test_a_plan_is_carried_out_and_settles() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        if snapshot.get(Secret, obj.key) is None:
            return Plan((Create(SECRETS, named(obj.name)),))
        return NOTHING

    bench = Bench(plan)
    async with bench.running():
        bench.world.put(MAPS, named("one"))
        await settle()
        assert bench.world.calls == [("create", "Secret garden/one")]
        assert bench.planned == ["one", "one"]
        assert len(bench.expectations) == 0


async def test_nobody_plans_before_the_own_write_was_seen() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        if snapshot.get(Secret, obj.key) is None:
            return Plan((Create(SECRETS, named(obj.name)),), requeue_after=0.5)
        return NOTHING

    bench = Bench(plan, live=False)
    bench.world.put(MAPS, named("one"))
    bench.world.deliver()
    async with bench.running():
        await bench.clock.advance(5)
        assert bench.planned == ["one"], "the watch has not shown the Secret yet"
        bench.world.deliver()
        await settle()
        assert len(bench.planned) > 1
        assert len(bench.world.calls) == 1


async def test_a_deletion_is_seen_before_the_next_plan() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        secret = snapshot.get(Secret, obj.key)
        if secret is None:
            return NOTHING
        return Plan((Delete(SECRETS, secret.key, secret.uid),), requeue_after=0.5)

    bench = Bench(plan, live=False)
    bench.world.put(MAPS, named("one"))
    bench.world.put(SECRETS, named("one"))
    bench.world.deliver()
    async with bench.running():
        await bench.clock.advance(3)
        assert bench.planned == ["one"]
        bench.world.deliver()
        await bench.clock.advance(1)
        assert len(bench.planned) > 1
        assert bench.world.calls == [("delete", "Secret garden/one")]


async def test_a_write_that_is_never_seen_is_waited_for_again_and_not_planned_over() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        return Plan((Create(SECRETS, named(obj.name)),), requeue_after=0.1)

    bench = Bench(plan, live=False)
    bench.world.put(MAPS, named("one"))
    bench.world.deliver()
    async with bench.running():
        await bench.clock.advance(3 * PATIENCE)
        assert bench.planned == ["one"]
        assert bench.count("conflict") >= 2


async def test_a_conflict_is_quiet_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        if obj.data.get("done"):
            return NOTHING
        change = {"data": {"done": "yes"}}
        return Plan((Patch(MAPS, obj.key, change, obj.uid, obj.resource_version),))

    bench = Bench(plan)
    bench.world.fails = [ConflictError(409, "Conflict", "changed")]
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(1)
        assert bench.count("conflict") == 1
        assert bench.world.objects["ConfigMap", KEY]["data"] == {"done": "yes"}
    assert [record.levelname for record in caplog.records if record.levelno >= 30] == []


async def test_a_failure_is_told_and_backed_off_until_it_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(lambda obj, snapshot: Plan((Create(SECRETS, named(obj.name)),)))
    bench.world.fails = [UnavailableError(503, "Unavailable", "later")] * 3
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(5)
        assert bench.count("error") == 3
        assert bench.count("ok") >= 1
    assert "could not reconcile" in caplog.text


async def test_a_missing_right_is_told_once_for_all_objects_and_attempts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = 'x is forbidden: User "espalier" cannot create resource "secrets" in API group ""'
    bench = Bench(lambda obj, snapshot: Plan((Create(SECRETS, named(obj.name)),)))
    bench.world.fails = [ForbiddenError(403, "Forbidden", told)] * 8
    for name in ("one", "two", "three"):
        bench.world.put(MAPS, named(name))
    async with bench.running():
        await bench.clock.advance(60)
        assert bench.count("error") == 8
        assert bench.count("ok") >= 3
    loud = [each for each in caplog.records if each.levelno >= 30]
    assert [each.getMessage().partition(":")[0] for each in loud] == ["a right is missing"]
    assert loud[0].exc_info is None


async def test_a_terminal_error_waits_for_a_change() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        raise TerminalError("data.mode is unknown")

    bench = Bench(plan)
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(3600)
        assert (bench.planned, bench.count("terminal")) == (["one"], 1)
        bench.world.put(MAPS, named("one", data={"mode": "x"}))
        await settle()
        assert len(bench.planned) == 2


async def test_a_plan_says_when_to_look_again() -> None:
    bench = Bench(lambda obj, snapshot: Plan(requeue_after=30))
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(29)
        assert len(bench.planned) == 1
        await bench.clock.advance(2)
        assert len(bench.planned) == 2


async def test_what_lost_its_leadership_writes_nothing_and_does_not_insist() -> None:
    bench = Bench(lambda obj, snapshot: Plan((Create(SECRETS, named(obj.name)),)))
    bench.leads = False
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(60)
        assert bench.world.calls == []
        assert bench.count("not-leading") == 1


async def test_while_a_kind_it_reads_is_lost_a_controller_pauses() -> None:
    bench = Bench(nothing)
    bench.world.stale = frozenset({Secret})
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        await bench.clock.advance(PAUSE + 0.1)
        assert (bench.planned, bench.count("paused")) == ([], 2)
        bench.world.stale = frozenset()
        await bench.clock.advance(PAUSE)
        assert bench.planned == ["one"]


async def test_a_deleted_object_is_not_planned_and_nothing_is_expected_of_it() -> None:
    bench = Bench(nothing)
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        await bench.world.delete(MAPS, KEY)
        await settle()
        assert bench.planned == ["one"]
        assert bench.count("gone") == 1


async def test_events_do_not_hold_up_writes() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        actions: list[Action] = [Emit(MAPS, obj, "Started", "making a secret")]
        if snapshot.get(Secret, obj.key) is None:
            actions.append(Create(SECRETS, named(obj.name)))
        return Plan(tuple(actions))

    bench = Bench(plan)
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        assert ("create", "Secret garden/one") in bench.world.calls
        assert not any("Event" in call[1] for call in bench.world.calls)
        await bench.recorder.flush()
        assert sum("Event" in call[1] for call in bench.world.calls) == 1


async def test_a_plan_that_looks_again_is_not_hastened_by_its_own_write() -> None:
    def plan(obj: ConfigMap, snapshot: Snapshot) -> Plan:
        change = {"data": {"seen": str(len(bench.planned))}}
        since = bench.clock.now()
        measures = (Measure("edge_lateness", "start", since), Measure("floors_missing", "Map"))
        return Plan((Patch(MAPS, obj.key, change, obj.uid),), again=True, measures=measures)

    bench = Bench(plan)
    bench.world.put(MAPS, named("one"))
    async with bench.running():
        await settle()
        assert len(bench.planned) == 1
        await bench.clock.advance(1.0)
        assert 2 <= len(bench.planned) <= 5
    exposed = bench.metrics.expose().decode()
    assert 'espalier_scheduled_scaling_edge_lateness_seconds_count{edge="start"}' in exposed
    assert 'espalier_scheduled_scaling_floors_missing_total{kind="Map"}' in exposed


async def test_a_row_lets_the_one_ahead_of_it_go_first_and_not_for_ever() -> None:
    bench = Bench(nothing)
    gate = asyncio.Event()

    class Slow:
        async def reconcile(self, _key: ObjectKey) -> Result:
            await gate.wait()
            return Result()

    row = Controller("first", Secret, lambda _obj, _snapshot: NOTHING)
    ahead = Runner(row, Slow(), bench.world, bench.clock, bench.metrics)
    task = asyncio.create_task(ahead.run())
    bench.runner._ahead = ahead
    async with bench.running():
        bench.world.put(SECRETS, named("one"))
        bench.world.put(MAPS, named("one"))
        await bench.clock.advance(0.9)
        assert bench.planned == []
        await bench.clock.advance(0.2)
        assert bench.planned == ["one"]
        bench.world.put(MAPS, named("two"))
        await settle()
        assert bench.planned == ["one", "two"], "a row that is stuck holds up nobody"
        gate.set()
        await settle()
        gate.clear()
        bench.world.put(SECRETS, named("two"))
        bench.world.put(MAPS, named("three"))
        await settle()
        assert "three" not in bench.planned
        gate.set()
        await settle()
        assert "three" in bench.planned
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_keys_behind_a_busy_row_wait_together_and_not_in_turn() -> None:
    bench = Bench(nothing)

    class Stuck:
        async def reconcile(self, _key: ObjectKey) -> Result:
            await bench.clock.sleep(0.9)
            return Result()

    row = Controller("first", Secret, lambda _obj, _snapshot: NOTHING)
    ahead = Runner(row, Stuck(), bench.world, bench.clock, bench.metrics)
    task = asyncio.create_task(ahead.run())
    bench.runner._ahead = ahead
    async with bench.running():
        for number in range(20):
            bench.world.put(MAPS, named(f"map-{number}"))
        for number in range(3):  # busy again and again, with a pause in between
            bench.world.put(SECRETS, named(f"secret-{number}"))
            await bench.clock.advance(1.0)
        assert len(bench.planned) >= 20
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
