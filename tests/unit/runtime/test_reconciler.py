"""Plans with live reads, refused writes and writes to other clusters."""

from collections.abc import Iterator
from typing import Any

import pytest
from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.fake_cluster import FakeCluster
from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster.errors import ConflictError, InvalidError, UnavailableError, UnreachableError
from webhook.cluster.requests import Propagation
from webhook.dev.planes.ports import free_port
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.runtime.actions import (
    Action,
    Apply,
    Create,
    Delete,
    Patch,
    Plan,
    RemoteWrite,
    WriteRefusal,
)
from webhook.runtime.client_pool import ClientPool, require_inline
from webhook.runtime.controller import Controller, Planner, RefusedError
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import PAUSE, Reconciler
from webhook.runtime.writer import Writer
from webhook.state.live_reads import LiveGet, LiveResult, RemoteGet, Unreachable
from webhook.state.snapshot import Snapshot

MAPS, SECRETS = kind_of_model(ConfigMap), kind_of_model(Secret)
KEY = ObjectKey("garden", "one")


class OtherCluster:
    """Another cluster, and the kubeconfigs that were used."""

    def __init__(self, clock: FakeClock) -> None:
        self.cluster = FakeCluster(clock)
        self.kubeconfigs: list[str] = []
        self.down: Unreachable | None = None

    async def writer(self, kubeconfig: str) -> Writer:
        self.kubeconfigs.append(kubeconfig)
        return Writer(self.cluster, Metrics())

    async def read(self, read: RemoteGet, seconds: float) -> LiveResult:
        self.kubeconfigs.append(read.kubeconfig)
        return self.down or self.cluster.read_one(LiveGet(read.kind.model, read.key))


class Bench:
    def __init__(self, plan: Planner, **row: Any) -> None:
        clock = FakeClock()
        self.cluster = FakeCluster(clock, ConfigMap)
        self.cluster.put(MAPS, {"metadata": {"namespace": "garden", "name": "one"}})
        self.elsewhere = OtherCluster(clock)
        metrics = Metrics()
        self.expectations = Expectations(self.cluster, clock)
        self.reconciler = Reconciler(
            Controller("maps", ConfigMap, plan, **row),
            self.cluster,
            Writer(self.cluster, metrics),
            EventRecorder(self.cluster, "test", clock, metrics),
            self.expectations,
            self.elsewhere,
        )


def make(name: str) -> Create:
    return Create(MAPS, {"metadata": {"namespace": "garden", "name": name}})


async def test_an_object_that_is_not_watched_is_read_live_once() -> None:
    found: list[Any] = []

    def plan(_obj: ConfigMap, snapshot: Snapshot) -> Plan:
        found.append(snapshot.look_up(Secret, KEY))
        return Plan((make("two"),) if found[-1] is not None else ())

    bench = Bench(plan)
    bench.cluster.put(SECRETS, {"metadata": {"namespace": "garden", "name": "one"}, "data": {}})
    await bench.reconciler.reconcile(KEY)
    assert [each is None for each in found] == [True, False]
    assert bench.cluster.live_reads == ["Secret garden/one"]
    assert ("create", "ConfigMap", "garden/two") in bench.cluster.calls


@pytest.mark.parametrize(
    ("needs", "outcome"),
    [
        pytest.param((Secret,), (PAUSE, "paused"), id="a kind that is needed"),
        pytest.param((), (None, "ok"), id="a kind that may be missing"),
    ],
)
async def test_a_plan_waits_for_a_kind_that_it_needs_and_that_is_not_served(
    needs: tuple[type[Object], ...], outcome: tuple[float | None, str]
) -> None:
    bench = Bench(lambda _obj, _snapshot: Plan((make("two"),)), reads=(Secret,), needs=needs)
    bench.cluster.unserved = frozenset({Secret})
    assert (await bench.reconciler.reconcile(KEY))[:2] == outcome
    assert (("create", "ConfigMap", "garden/two") in bench.cluster.calls) == (not needs)
    bench.cluster.unserved = frozenset()
    assert (await bench.reconciler.reconcile(KEY)).outcome == "ok"


async def test_a_live_read_may_lead_to_the_next() -> None:
    def plan(_obj: ConfigMap, snapshot: Snapshot) -> Plan:
        first = snapshot.look_up(Secret, KEY)
        second = snapshot.look_up(Secret, ObjectKey("garden", "two")) if first else None
        return Plan((make("three"),) if second is not None else ())

    bench = Bench(plan)
    for name in ("one", "two"):
        bench.cluster.put(SECRETS, {"metadata": {"namespace": "garden", "name": name}})
    await bench.reconciler.reconcile(KEY)
    assert bench.cluster.live_reads == ["Secret garden/one", "Secret garden/two"]
    assert ("create", "ConfigMap", "garden/three") in bench.cluster.calls


async def test_a_plan_with_endless_live_reads_is_not_carried_out() -> None:
    def plan(_obj: ConfigMap, snapshot: Snapshot) -> Plan:
        for number in range(9):
            if snapshot.look_up(Secret, ObjectKey("garden", f"s{number}")) is None:
                break
        return Plan((make("two"),))

    bench = Bench(plan)
    for number in range(9):
        bench.cluster.put(SECRETS, {"metadata": {"namespace": "garden", "name": f"s{number}"}})
    with pytest.raises(RuntimeError, match="needs more than 4 rounds of live reads"):
        await bench.reconciler.reconcile(KEY)
    assert ("create", "ConfigMap", "garden/two") not in bench.cluster.calls


def refusing(*actions: Action) -> Planner:
    def report(refusal: WriteRefusal) -> Iterator[Action]:
        yield Patch(MAPS, KEY, {"data": {"why": refusal.message}}, "")

    return lambda _obj, _snapshot: Plan(actions, refused=report)


async def test_a_refused_write_is_reported_and_stops_the_plan() -> None:
    bench = Bench(refusing(make("two"), make("three")))
    bench.cluster.faults = [InvalidError(422, "Invalid", "spec.x: no")]
    with pytest.raises(RefusedError, match=r"spec\.x: no"):
        await bench.reconciler.reconcile(KEY)
    assert bench.cluster.objects[ConfigMap, KEY]["data"] == {"why": "spec.x: no"}
    assert (ConfigMap, ObjectKey("garden", "three")) not in bench.cluster.objects


async def test_a_failure_is_no_refusal() -> None:
    bench = Bench(refusing(make("two")))
    bench.cluster.faults = [UnavailableError(503, "ServiceUnavailable", "later")]
    with pytest.raises(UnavailableError):
        await bench.reconciler.reconcile(KEY)
    assert "data" not in bench.cluster.objects[ConfigMap, KEY]


@pytest.mark.parametrize(
    ("force", "error"),
    [
        pytest.param(False, RefusedError, id="without force"),
        pytest.param(True, ConflictError, id="with force"),
    ],
)
async def test_a_conflict_of_field_managers_is_a_refusal(
    force: bool, error: type[Exception]
) -> None:
    body = {"metadata": {"namespace": "garden", "name": "one"}}
    bench = Bench(refusing(Apply(MAPS, KEY, body, force=force)))
    bench.cluster.faults = [ConflictError(409, "Conflict", "owned by helm")]
    with pytest.raises(error):
        await bench.reconciler.reconcile(KEY)


async def test_a_plan_may_write_to_another_cluster() -> None:
    bench = Bench(lambda _obj, _snapshot: Plan((RemoteWrite("the way", make("there")),)))
    await bench.reconciler.reconcile(KEY)
    assert bench.elsewhere.kubeconfigs == ["the way"]
    assert (ConfigMap, ObjectKey("garden", "there")) in bench.elsewhere.cluster.objects
    assert (ConfigMap, ObjectKey("garden", "there")) not in bench.cluster.objects


def remote_plan(_obj: Object, snapshot: Snapshot) -> Plan:
    """Create an object here that is named after what another cluster shows."""
    there = snapshot.look_up_remote("the way", MAPS, ObjectKey("garden", "there"))
    seen = "down" if isinstance(there, Unreachable) else "present" if there else "absent"
    return Plan((make(seen),))


@pytest.mark.parametrize("seen", ["absent", "present", "down"])
async def test_a_plan_may_read_another_cluster_and_goes_on_without_it(seen: str) -> None:
    bench = Bench(remote_plan)
    if seen == "present":
        bench.elsewhere.cluster.put(MAPS, make("there").body)
    if seen == "down":
        bench.elsewhere.down = Unreachable("no route")
    await bench.reconciler.reconcile(KEY)
    assert bench.elsewhere.kubeconfigs == ["the way"]
    assert {key.name for _, key in bench.cluster.objects} == {"one", seen}


async def test_a_kubeconfig_that_cannot_be_used_makes_its_cluster_unreachable() -> None:
    async with ClientPool(Metrics()) as pool:
        result = await pool.read(RemoteGet("text", MAPS, KEY), 1)
    assert isinstance(result, Unreachable)
    assert result.reason == "the kubeconfig of the shoot is not a mapping"


async def test_a_cluster_that_does_not_answer_is_unreachable() -> None:
    way = f"clusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:{free_port()}'}}}}]"
    way += "\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a"
    way += "\nusers: [{name: a, user: {token: t}}]"
    async with ClientPool(Metrics()) as pool:
        result = await pool.read(RemoteGet(way, MAPS, KEY), 5)
    assert isinstance(result, Unreachable)


class SlowDeletion(FakeCluster):
    """Another cluster, in which a deleted object remains while its pods do."""

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
            return self.objects[kind.model, key]
        return await super().delete(kind, key, uid=uid, version=version)


async def test_the_rest_of_a_plan_waits_until_a_remote_object_is_gone() -> None:
    there = ObjectKey("garden", "there")
    delete = Delete(MAPS, there, "", propagation="Foreground")
    bench = Bench(
        lambda _obj, _snapshot: Plan((RemoteWrite("way", delete, until_gone=True), make("after")))
    )
    elsewhere = bench.elsewhere.cluster = SlowDeletion(FakeClock())
    elsewhere.put(MAPS, make("there").body)
    result = await bench.reconciler.reconcile(KEY)
    assert (result.requeue_after, result.outcome) == (PAUSE, "waiting")
    assert (ConfigMap, ObjectKey("garden", "after")) not in bench.cluster.objects
    elsewhere.pods = 0
    assert (await bench.reconciler.reconcile(KEY)).outcome == "ok"
    assert not elsewhere.objects
    assert (ConfigMap, ObjectKey("garden", "after")) in bench.cluster.objects
    assert (await bench.reconciler.reconcile(KEY)).outcome == "ok"


@pytest.mark.parametrize(
    ("kubeconfig", "expected"),
    [
        pytest.param("users: [{user: {exec: {command: x}}}]", "uses exec", id="a program"),
        pytest.param("users: [{user: {tokenFile: /x}}]", "uses tokenFile", id="a token file"),
        pytest.param(
            "clusters: [{cluster: {certificate-authority: /x}}]",
            "uses certificate-authority",
            id="a CA file",
        ),
        pytest.param("[", "is not YAML", id="not YAML"),
        pytest.param("text", "is not a mapping", id="not a mapping"),
    ],
)
def test_a_kubeconfig_from_a_secret_may_not_use_this_machine(
    kubeconfig: str, expected: str
) -> None:
    with pytest.raises(UnreachableError, match=expected):
        require_inline(kubeconfig)


def test_a_kubeconfig_with_inline_credentials_is_accepted() -> None:
    require_inline("users: [{user: {token: t}}]\nclusters: [{cluster: {server: 'https://x'}}]")


async def test_a_write_to_an_unwatched_object_is_not_waited_for() -> None:
    elsewhere = {"metadata": {"namespace": "elsewhere", "name": "two"}}
    bench = Bench(lambda _obj, _snapshot: Plan((Create(MAPS, elsewhere),)))
    await bench.reconciler.reconcile(KEY)
    assert ("create", "ConfigMap", "elsewhere/two") in bench.cluster.calls
    assert len(bench.expectations) == 0
