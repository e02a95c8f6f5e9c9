"""Binding shoots and writing ledgers, on a running API server."""

import asyncio
import json
from datetime import timedelta

import pytest
from typing_extensions import override

from tests.behaviour.placement_stage import staged
from tests.support.gardener_stage import GardenStage
from tests.support.landscape_objects import ANYWAY, amounts
from tests.support.waits import eventually
from webhook.api.core import ConfigMap, Pod
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import ApiRequest
from webhook.kube.clock import SystemClock
from webhook.kube.meta import ObjectKey
from webhook.placement.extender_service import ExtenderService
from webhook.placement.ledger_gc import LedgerCollector
from webhook.placement.placer import RESET, Placed, Placement, Placer, assumed
from webhook.scheduling import ledger
from webhook.scheduling.extender import ExtenderBindingArgs, ExtenderError
from webhook.scheduling.ledger import LedgerEntry

pytestmark = pytest.mark.timeout(300)

CONFIG_MAP = kind_of_model(ConfigMap)
POD = kind_of_model(Pod)
SHOOT = kind_of_model(Shoot)


class LateClock(SystemClock):
    """A clock that is ahead by more than any timeout."""

    @override
    def now(self):
        return super().now() + ledger.OVERDUE_AFTER + timedelta(seconds=1)


@pytest.fixture
async def stage(server, namespace, espalier):
    async with staged(server, namespace, espalier) as found:
        yield found


async def prepare(stage, *drafts):
    """Create objects and wait until the cache has them."""
    await stage.create(*drafts)
    for draft in drafts:
        model = Seed if draft["kind"] == "Seed" else Shoot
        metadata = draft["metadata"]
        key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        ready = "allocatable" if model is Seed else ""
        await eventually(lambda m=model, k=key, r=ready: _shows(stage, m, k, r))


async def at_rest(stage, *shoots):
    """Wait until Gardener's controllers, if any, have finished with new shoots."""
    if not isinstance(stage, GardenStage):
        return

    async def rests():
        before = [shoot_of(stage, name).resource_version for name in shoots]
        await asyncio.sleep(1.0)
        return before == [shoot_of(stage, name).resource_version for name in shoots]

    await eventually(rests)


def _shows(stage, model, key, ready):
    found = stage.scheduling.cache.snapshot().get(model, key)
    return found is not None and (not ready or bool(found.status.allocatable))


def shoot_of(stage, name):
    return stage.scheduling.cache.snapshot().get(Shoot, stage.key(name))


async def read_ledger(stage, seed):
    key = ObjectKey(stage.namespace, ledger.name_of(stage.name(seed)))
    raw = await stage.client.get(CONFIG_MAP, key)
    return {
        name: json.loads(text)
        for name, text in raw.get("data", {}).items()
        if name != "seenThrough"
    }


async def test_a_placement_is_entered_first_and_struck_out_later(stage):
    await prepare(stage, stage.seed("a"), stage.shoot("one"), stage.shoot("two"))
    await at_rest(stage, "one", "two")
    placer = stage.scheduling.placer
    one = shoot_of(stage, "one")
    assert await placer.place(Placement(one, stage.name("a"))) == Placed("bound")
    entries = await read_ledger(stage, "a")
    assert entries[one.uid]["resourceVersion"] == one.resource_version
    assert await stage.is_on("one", "a")
    await eventually(lambda: shoot_of(stage, "one").resource_version != one.resource_version)
    two = shoot_of(stage, "two")
    assert await placer.place(Placement(two, stage.name("a"))) == Placed("bound")
    assert [*await read_ledger(stage, "a")] == [two.uid]


async def test_a_seed_that_others_have_filled_takes_nobody(stage):
    await prepare(stage, stage.seed("a", shoots=1), stage.shoot("one"))
    one = shoot_of(stage, "one")
    entry = LedgerEntry("foreign", ObjectKey("x", "y"), "5", SystemClock().now(), amounts(shoots=1))
    foreign = ledger.add_entries(ledger.Ledger(stage.name("a")), [entry])
    draft = ledger.write(foreign, stage.namespace)
    await stage.client.create(CONFIG_MAP, ObjectKey(stage.namespace, ""), draft)
    placed = await stage.scheduling.placer.place(Placement(one, stage.name("a")))
    assert placed.result == "full"
    assert shoot_of(stage, "one").spec.seed_name == ""
    assert not (await stage.get("one"))["spec"].get("seedName")


async def test_a_decision_about_an_outdated_shoot_is_not_carried_out(stage):
    await prepare(stage, stage.seed("a"), stage.shoot("one"))
    one = shoot_of(stage, "one")
    await stage.patch("one", {"spec": {"purpose": "production"}})
    placed = await stage.scheduling.placer.place(Placement(one, stage.name("a")))
    assert placed.result == "changed"
    assert await read_ledger(stage, "a") == {}
    assert not (await stage.get("one"))["spec"].get("seedName")


async def test_many_placements_share_few_writes(stage):
    names = [f"s{index}" for index in range(12)]
    await prepare(stage, stage.seed("a", shoots=10), *(stage.shoot(name) for name in names))
    await at_rest(stage, *names)
    placer = stage.scheduling.placer
    placing = [placer.place(Placement(shoot_of(stage, name), stage.name("a"))) for name in names]
    results = [(await coroutine).result for coroutine in placing]
    assert results == ["bound"] * 10 + ["full"] * 2


async def test_an_entry_left_behind_is_released_and_its_write_fails(stage):
    await prepare(stage, stage.seed("a", shoots=1), stage.shoot("one"), stage.shoot("two"))
    await at_rest(stage, "one", "two")
    scheduling = stage.scheduling
    one, two = shoot_of(stage, "one"), shoot_of(stage, "two")
    # A replica dies, or freezes, between its two writes.
    entry = LedgerEntry(
        one.uid, one.key, one.resource_version, SystemClock().now(), amounts(shoots=1)
    )
    assert await scheduling.placer.ledger_writer(stage.name("a")).enter(entry) == "entered"
    placed = await scheduling.placer.place(Placement(two, stage.name("a")))
    assert placed.result == "full"
    collector = LedgerCollector(scheduling.client, scheduling.cache, scheduling.placer, LateClock())
    await collector.collect()
    assert await read_ledger(stage, "a") == {}
    assert (await scheduling.placer.place(Placement(two, stage.name("a")))).result == "bound"
    frozen = Placer(scheduling.client, scheduling.cache, SystemClock(), scheduling.recorder)
    late = await frozen.place(Placement(one, stage.name("a")))
    assert late.result in ("full", "changed")
    assert not (await stage.get("one"))["spec"].get("seedName")


async def test_ledgers_of_seeds_that_are_gone_go(stage):
    await prepare(stage, stage.seed("a"), stage.shoot("one"))
    scheduling = stage.scheduling
    await scheduling.placer.ledger_writer(stage.name("a")).enter(
        LedgerEntry("gone", stage.key("gone"), "5", SystemClock().now(), {})
    )
    await stage.client.delete(kind_of_model(Seed), ObjectKey("", stage.name("a")))
    key = ObjectKey("", stage.name("a"))
    await eventually(lambda: scheduling.cache.snapshot().get(Seed, key) is None)
    collector = LedgerCollector(scheduling.client, scheduling.cache, scheduling.placer, LateClock())
    await collector.collect()
    await collector.collect()
    with pytest.raises(NotFoundError):
        await read_ledger(stage, "a")


async def test_a_ledger_from_a_lost_future_is_reset(stage, monkeypatch):
    monkeypatch.setattr("webhook.placement.ledger_writer.SEEN_SECONDS", 0.2)
    await prepare(stage, stage.seed("a"), stage.shoot("one"))
    await at_rest(stage, "one")
    lost = ledger.Ledger(stage.name("a"), seen_through="99999999999")
    draft = ledger.write(lost, stage.namespace)
    await stage.client.create(CONFIG_MAP, ObjectKey(stage.namespace, ""), draft)
    placed = await stage.scheduling.placer.place(Placement(shoot_of(stage, "one"), stage.name("a")))
    assert placed.result == "bound"
    key = ObjectKey(stage.namespace, ledger.name_of(stage.name("a")))
    seen = (await stage.client.get(CONFIG_MAP, key))["data"][ledger.SEEN_THROUGH]
    bound = await stage.get("one")
    assert 0 < int(seen) <= int(bound["metadata"]["resourceVersion"])
    (reported,) = await eventually(lambda: _events_of_seed(stage, "a", RESET))
    assert "seenThrough 99999999999 is newer than the cluster" in reported


async def _events_of_seed(stage, seed, reason):
    chosen = {"fieldSelector": f"involvedObject.name={stage.name(seed)},reason={reason}"}
    listed = await stage.client.document(
        ApiRequest("GET", "/api/v1/namespaces/default/events", chosen)
    )
    return [event["message"] for event in listed["items"]]


def shadow(stage, name, shoot):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": stage.namespace,
            "annotations": {"espalier.gardener.cloud/shoot": str(stage.key(shoot))},
        },
        "spec": {
            "schedulerName": "nobody",
            "containers": [{"name": "shadow", "image": "none.invalid/none"}],
        },
    }


@pytest.fixture
async def pods(server, stage):
    """Make Pods possible: a real server requires the namespace's ServiceAccount first."""
    await server.kubectl("create", "serviceaccount", "default", "-n", stage.namespace, check=False)


def extending(stage):
    scheduling = stage.scheduling
    return ExtenderService(
        scheduling.client, scheduling.cache, scheduling.placer, scheduling.recorder
    )


async def test_bind_writes_the_shoot_then_the_pod_and_again_is_the_same(stage, pods):
    await prepare(stage, stage.seed("a"), stage.shoot("one"))
    key = ObjectKey(stage.namespace, "shadow")
    pod = await stage.client.create(POD, key, shadow(stage, "shadow", "one"))
    binding = ExtenderBindingArgs(key, pod["metadata"]["uid"], stage.name("a"))
    service = extending(stage)
    for _ in range(2):
        shoot = await service.find_shoot(binding, 30)
        assert shoot == stage.key("one")
        await service.bind(shoot, binding, 30)
        assert await stage.is_on("one", "a")
        bound = await stage.client.get(POD, key)
        assert bound["spec"]["nodeName"] == stage.name("a")
    elsewhere = binding._replace(seed="elsewhere")
    with pytest.raises(ExtenderError, match="is assigned to seed"):
        await service.bind(stage.key("one"), elsewhere, 30)


async def test_bind_of_a_shoot_needs_no_pod(stage):
    await prepare(stage, stage.seed("a"), stage.shoot("one", ha=ANYWAY))
    one = shoot_of(stage, "one")
    binding = ExtenderBindingArgs(one.key, one.uid, stage.name("a"))
    service = extending(stage)
    assert await service.find_shoot(binding, 30) == one.key
    await eventually(lambda: _binds(service, binding))
    weak = await stage.get("one")
    reported = weak["metadata"]["annotations"]
    assert reported["espalier.gardener.cloud/effective-failure-domain"] == "single-zone"
    assert weak["spec"]["seedName"] == stage.name("a")


async def _binds(service, binding):
    """Bind, again if needed, as schedulers do: controllers may write a new shoot meanwhile."""
    try:
        await service.bind(binding.pod, binding, 30)
    except ExtenderError:
        return False
    return True


async def test_bind_refuses_what_does_not_fit_any_more(stage):
    await prepare(stage, stage.seed("far", region="us-east-1", ready=False), stage.shoot("one"))
    one = shoot_of(stage, "one")
    with pytest.raises(ExtenderError, match="gardenlet is not ready"):
        await extending(stage).bind(
            one.key, ExtenderBindingArgs(one.key, one.uid, stage.name("far")), 30
        )
    with pytest.raises(ExtenderError, match="no such seed"):
        await extending(stage).bind(one.key, ExtenderBindingArgs(one.key, one.uid, "nowhere"), 30)
    with pytest.raises(ExtenderError, match="neither a Pod nor a Shoot"):
        await extending(stage).find_shoot(
            ExtenderBindingArgs(ObjectKey(stage.namespace, "x"), "u", "a"), 30
        )


async def test_a_scheduler_that_has_not_bound_yet_gets_its_own_choice_again(stage):
    seeds = [stage.seed("a", shoots=1), stage.seed("b", shoots=1)]
    await prepare(stage, *seeds, stage.shoot("one"), stage.shoot("two"))
    service = extending(stage)

    def call(function, name):
        body = {"Pod": shadow(stage, "x", name), "NodeNames": [stage.name("a"), stage.name("b")]}
        snapshot = stage.scheduling.cache.snapshot()
        result = function(json.dumps(body).encode(), snapshot, authorized=True)
        service.record(result)
        return json.loads(result.body)

    assert len(call(service.filter, "one")["NodeNames"]) == 2
    best = max(call(service.prioritize, "one"), key=lambda score: score["Score"])
    assert best == {"Host": stage.name("a"), "Score": 10}
    assert call(service.filter, "two")["NodeNames"] == [stage.name("b")]
    assert assumed(Placement(shoot_of(stage, "one"), "x")).spec.seed_name == "x"
