"""Plans that ask, are refused, or write elsewhere."""

from collections.abc import Iterator
from typing import Any

import pytest
from typing_extensions import override

from tests.clocks import FakeClock
from tests.unit.runtime.world import World
from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.cluster.errors import ConflictError, InvalidError, UnavailableError, UnreachableError
from webhook.cluster.requests import Propagation
from webhook.runtime.actions import Action, Apply, Create, Delete, Patch, Plan, Refusal, Remote
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import PAUSE, Reconciler
from webhook.runtime.recorder import Recorder
from webhook.runtime.remotes import require_plain
from webhook.runtime.rows import Controller, Planner, RefusedError
from webhook.runtime.writer import Writer
from webhook.state.snapshot import Snapshot

MAPS, SECRETS = kind_of_model(ConfigMap), kind_of_model(Secret)
KEY = ObjectKey("garden", "one")


class Elsewhere:
    """Another cluster, and which kubeconfig led there."""

    def __init__(self, clock: FakeClock) -> None:
        self.world = World(clock)
        self.ways: list[str] = []

    async def writer(self, kubeconfig: str) -> Writer:
        self.ways.append(kubeconfig)
        return Writer(self.world, Metrics())


class Bench:
    def __init__(self, plan: Planner, **row: Any) -> None:
        clock = FakeClock()
        self.world = World(clock, ConfigMap)
        self.world.put(MAPS, {"metadata": {"namespace": "garden", "name": "one"}})
        self.elsewhere = Elsewhere(clock)
        metrics = Metrics()
        self.expectations = Expectations(self.world, clock)
        self.reconciler = Reconciler(
            Controller("maps", ConfigMap, plan, **row),
            self.world,
            Writer(self.world, metrics),
            Recorder(self.world, "test", clock, metrics),
            self.expectations,
            self.elsewhere,
        )


def make(name: str) -> Create:
    return Create(MAPS, {"metadata": {"namespace": "garden", "name": name}})


async def test_what_the_cache_does_not_follow_is_asked_for_once() -> None:
    found: list[Any] = []

    def plan(_obj: ConfigMap, snapshot: Snapshot) -> Plan:
        found.append(snapshot.look_up(Secret, KEY))
        return Plan((make("two"),) if found[-1] is not None else ())

    bench = Bench(plan)
    bench.world.put(SECRETS, {"metadata": {"namespace": "garden", "name": "one"}, "data": {}})
    await bench.reconciler.reconcile(KEY)
    assert [each is None for each in found] == [True, False]
    assert bench.world.asked == ["Secret garden/one"]
    assert ("create", "ConfigMap garden/two") in bench.world.calls


@pytest.mark.parametrize(
    ("needs", "outcome"),
    [
        pytest.param((Secret,), (PAUSE, "paused"), id="one that is needed"),
        pytest.param((), (None, "ok"), id="one that may be missing"),
    ],
)
async def test_a_plan_waits_for_a_kind_that_it_needs_and_nobody_serves(
    needs: tuple[type[Object], ...], outcome: tuple[float | None, str]
) -> None:
    bench = Bench(lambda _obj, _snapshot: Plan((make("two"),)), reads=(Secret,), needs=needs)
    bench.world.unserved = frozenset({Secret})
    assert (await bench.reconciler.reconcile(KEY))[:2] == outcome
    assert (("create", "ConfigMap garden/two") in bench.world.calls) == (not needs)
    bench.world.unserved = frozenset()
    assert (await bench.reconciler.reconcile(KEY)).outcome == "ok"


async def test_an_answer_may_lead_to_the_next_question() -> None:
    def plan(_obj: ConfigMap, snapshot: Snapshot) -> Plan:
        first = snapshot.look_up(Secret, KEY)
        second = snapshot.look_up(Secret, ObjectKey("garden", "two")) if first else None
        return Plan((make("three"),) if second is not None else ())

    bench = Bench(plan)
    for name in ("one", "two"):
        bench.world.put(SECRETS, {"metadata": {"namespace": "garden", "name": name}})
    await bench.reconciler.reconcile(KEY)
    assert bench.world.asked == ["Secret garden/one", "Secret garden/two"]
    assert ("create", "ConfigMap garden/three") in bench.world.calls


async def test_a_plan_that_never_stops_asking_is_not_carried_out() -> None:
    def plan(_obj: ConfigMap, snapshot: Snapshot) -> Plan:
        for number in range(9):
            if snapshot.look_up(Secret, ObjectKey("garden", f"s{number}")) is None:
                break
        return Plan((make("two"),))

    bench = Bench(plan)
    for number in range(9):
        bench.world.put(SECRETS, {"metadata": {"namespace": "garden", "name": f"s{number}"}})
    with pytest.raises(RuntimeError, match="asks again and again"):
        await bench.reconciler.reconcile(KEY)
    assert ("create", "ConfigMap garden/two") not in bench.world.calls


def refusing(*actions: Action) -> Planner:
    def told(refusal: Refusal) -> Iterator[Action]:
        yield Patch(MAPS, KEY, {"data": {"why": refusal.message}}, "")

    return lambda _obj, _snapshot: Plan(actions, refused=told)


async def test_a_refusal_is_told_and_stops_the_plan() -> None:
    bench = Bench(refusing(make("two"), make("three")))
    bench.world.fails = [InvalidError(422, "Invalid", "spec.x: no")]
    with pytest.raises(RefusedError, match=r"spec\.x: no"):
        await bench.reconciler.reconcile(KEY)
    assert bench.world.objects["ConfigMap", KEY]["data"] == {"why": "spec.x: no"}
    assert ("ConfigMap", ObjectKey("garden", "three")) not in bench.world.objects


async def test_a_failure_is_no_refusal() -> None:
    bench = Bench(refusing(make("two")))
    bench.world.fails = [UnavailableError(503, "ServiceUnavailable", "later")]
    with pytest.raises(UnavailableError):
        await bench.reconciler.reconcile(KEY)
    assert "data" not in bench.world.objects["ConfigMap", KEY]


@pytest.mark.parametrize(
    ("force", "error"),
    [
        pytest.param(False, RefusedError, id="without force others' fields are theirs"),
        pytest.param(True, ConflictError, id="with force it is only a race"),
    ],
)
async def test_a_conflict_of_owners_is_a_refusal(force: bool, error: type[Exception]) -> None:
    body = {"metadata": {"namespace": "garden", "name": "one"}}
    bench = Bench(refusing(Apply(MAPS, KEY, body, force=force)))
    bench.world.fails = [ConflictError(409, "Conflict", "owned by helm")]
    with pytest.raises(error):
        await bench.reconciler.reconcile(KEY)


async def test_a_plan_may_write_into_another_cluster() -> None:
    bench = Bench(lambda _obj, _snapshot: Plan((Remote("the way", make("there")),)))
    await bench.reconciler.reconcile(KEY)
    assert bench.elsewhere.ways == ["the way"]
    assert ("ConfigMap", ObjectKey("garden", "there")) in bench.elsewhere.world.objects
    assert ("ConfigMap", ObjectKey("garden", "there")) not in bench.world.objects


class Lingering(World):
    """Another cluster, in which a deleted object stays for as long as its pods do."""

    pods = 1

    @override
    async def delete(
        self,
        kind: Kind,
        key: ObjectKey,
        *,
        uid: str = "",
        version: str = "",
        propagation: Propagation = "Background",
    ) -> Draft:
        assert propagation == "Foreground"
        if self.pods:
            return self.objects[kind.name, key]
        return await super().delete(kind, key, uid=uid, version=version)


async def test_the_rest_of_a_plan_waits_until_an_object_elsewhere_is_gone() -> None:
    there = ObjectKey("garden", "there")
    delete = Delete(MAPS, there, "", propagation="Foreground")
    bench = Bench(
        lambda _obj, _snapshot: Plan((Remote("way", delete, until_gone=True), make("after")))
    )
    elsewhere = bench.elsewhere.world = Lingering(FakeClock())
    elsewhere.put(MAPS, make("there").body)
    result = await bench.reconciler.reconcile(KEY)
    assert (result.requeue_after, result.outcome) == (PAUSE, "waiting")
    assert ("ConfigMap", ObjectKey("garden", "after")) not in bench.world.objects
    elsewhere.pods = 0
    assert (await bench.reconciler.reconcile(KEY)).outcome == "ok"
    assert not elsewhere.objects
    assert ("ConfigMap", ObjectKey("garden", "after")) in bench.world.objects
    assert (await bench.reconciler.reconcile(KEY)).outcome == "ok"


@pytest.mark.parametrize(
    ("kubeconfig", "said"),
    [
        pytest.param("users: [{user: {exec: {command: x}}}]", "uses exec", id="a program"),
        pytest.param("users: [{user: {tokenFile: /x}}]", "uses tokenFile", id="a token file"),
        pytest.param(
            "clusters: [{cluster: {certificate-authority: /x}}]",
            "uses certificate-authority",
            id="a file with an authority",
        ),
        pytest.param("[", "no YAML", id="no YAML"),
        pytest.param("text", "no kubeconfig", id="no mapping"),
    ],
)
def test_a_kubeconfig_from_a_secret_may_not_reach_into_this_machine(
    kubeconfig: str, said: str
) -> None:
    with pytest.raises(UnreachableError, match=said):
        require_plain(kubeconfig)


def test_a_kubeconfig_with_inline_credentials_is_fine() -> None:
    require_plain("users: [{user: {token: t}}]\nclusters: [{cluster: {server: 'https://x'}}]")


async def test_a_write_that_no_watch_will_show_is_not_waited_for() -> None:
    elsewhere = {"metadata": {"namespace": "elsewhere", "name": "two"}}
    bench = Bench(lambda _obj, _snapshot: Plan((Create(MAPS, elsewhere),)))
    await bench.reconciler.reconcile(KEY)
    assert ("create", "ConfigMap elsewhere/two") in bench.world.calls
    assert len(bench.expectations) == 0
