"""The built-in scheduler on a running API server."""

import json
from collections import Counter

import pytest
import yaml

from tests.behaviour.demo_landscape import SHOOTS, DemoLandscape
from tests.behaviour.placement_stage import staged
from tests.support.landscape_objects import ANYWAY, MULTI_ZONE, read
from tests.support.scheduler import run_explain
from tests.support.waits import eventually
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.kube.meta import ObjectKey
from webhook.placement import decision
from webhook.scheduling import explain
from webhook.scheduling.seed_table import SeedTable

pytestmark = pytest.mark.timeout(300)

SHOOT = kind_of_model(Shoot)
SEED = kind_of_model(Seed)
WIDE = ("a", "b", "c")


@pytest.fixture
async def stage(server, namespace, espalier):
    """A running scheduler, and a stage for it."""
    async with staged(server, namespace, espalier, schedules=True) as found:
        yield found


async def test_a_shoot_gets_the_emptiest_seed_and_an_event(stage):
    await stage.create(stage.seed("a", shoots=4), stage.seed("b", shoots=4))
    # Seeds and shoots have separate watches: a scheduler may see a shoot before its seeds.
    await eventually(lambda: _knows(stage, "a", "b"))
    for index in range(4):
        await stage.create(stage.shoot(f"s{index}"))
        await eventually(lambda index=index: _is_placed(stage, f"s{index}"))
    assert await stage.placements() == {"s0": "a", "s1": "b", "s2": "a", "s3": "b"}
    await eventually(lambda: stage.events("s0", decision.SUCCESSFUL))


async def test_a_pending_shoot_has_reasons_and_is_placed_when_a_seed_appears(stage):
    await stage.create(stage.seed("far", region="us-east-1"))
    await stage.create(stage.shoot("s"))
    await eventually(lambda: stage.is_pending("s"))
    description = (await stage.get("s"))["status"]["lastOperation"]["description"]
    assert f"is not in the shoot's region ({stage.name('far')})" in description
    await eventually(lambda: stage.events("s", decision.FAILED))
    await stage.create(stage.seed("here"))
    await eventually(lambda: stage.is_on("s", "here"))
    await eventually(lambda: _is_not_pending(stage, "s"))


async def test_a_waiting_shoot_wakes_when_another_one_goes(stage):
    await stage.create(stage.seed("only", shoots=1), stage.shoot("first", seed="only"))
    await stage.create(stage.shoot("second"))
    await eventually(lambda: stage.is_pending("second"))
    await stage.client.delete(SHOOT, stage.key("first"))
    await eventually(lambda: stage.is_on("second", "only"))


async def test_a_pending_shoot_is_placed_when_a_seed_becomes_ready_or_is_relabelled(stage):
    await stage.create(stage.seed("sick", ready=False), stage.shoot("s"))
    await eventually(lambda: stage.is_pending("s"))
    ready = {"conditions": [{"type": "GardenletReady", "status": "True"}]}
    key = ObjectKey("", stage.name("sick"))
    await stage.client.patch(SEED, key, {"status": ready}, subresource="status")
    await eventually(lambda: stage.is_on("s", "sick"))
    await stage.create(stage.shoot("t", seedSelector={"matchLabels": {"tier": "gold"}}))
    await eventually(lambda: stage.is_pending("t"))
    await stage.client.patch(SEED, key, {"metadata": {"labels": {"tier": "gold"}}})
    await eventually(lambda: stage.is_on("t", "sick"))


async def test_the_higher_purpose_gets_the_last_place(stage):
    await stage.create(stage.seed("only", shoots=1), stage.shoot("first", seed="only"))
    await stage.create(stage.shoot("low", purpose="evaluation"))
    await stage.create(stage.shoot("high", purpose="production"))
    for name in ("low", "high"):
        await eventually(lambda name=name: stage.is_pending(name))
    await stage.client.delete(SHOOT, stage.key("first"))
    await eventually(lambda: stage.is_on("high", "only"))
    assert await stage.is_pending("low")


async def test_a_shoot_that_asks_for_more_zones_moves_once(stage):
    await stage.create(stage.seed("plain"), stage.shoot("s"))
    await eventually(lambda: stage.is_on("s", "plain"))
    await stage.patch("s", {"status": {"seedName": stage.name("plain")}}, "status")
    available = {"highAvailability": MULTI_ZONE}
    await stage.patch("s", {"spec": {"kubernetes": {"controlPlane": available}}})
    await eventually(lambda: stage.events("s", decision.FAILED))
    assert await stage.is_on("s", "plain")
    await stage.create(stage.seed("wide", zones=WIDE))
    await eventually(lambda: stage.is_on("s", "wide"))
    moved = (await stage.get("s"))["metadata"]["generation"]
    await stage.create(stage.seed("wider", zones=WIDE), stage.shoot("other"))
    await eventually(lambda: stage.is_on("other", "plain"))
    assert await stage.is_on("s", "wide")
    assert (await stage.get("s"))["metadata"]["generation"] == moved


async def test_schedule_anyway_weakens_with_an_event_and_stays(stage):
    await stage.create(stage.seed("plain"), stage.shoot("s", ha=ANYWAY))
    await eventually(lambda: stage.is_on("s", "plain"))
    shoot = await stage.get("s")
    effective = "espalier.gardener.cloud/effective-failure-domain"
    assert shoot["metadata"]["annotations"][effective] == "single-zone"
    await eventually(lambda: stage.events("s", decision.WEAKENED))
    await stage.patch("s", {"status": {"seedName": stage.name("plain")}}, "status")
    await stage.create(stage.seed("wide", zones=WIDE), stage.shoot("next", ha=MULTI_ZONE))
    await eventually(lambda: stage.is_on("next", "wide"))
    assert await stage.is_on("s", "plain")


async def test_two_hundred_demo_shoots_get_the_seeds_that_explain_predicts(stage, server):
    demonstration = DemoLandscape(stage)
    await demonstration.begin()
    *drafts, one_more = demonstration.shoots(SHOOTS + 1)
    last = one_more["metadata"]["name"]
    ends = demonstration.explained([*drafts, one_more])
    await demonstration.create_in_order(drafts, {name: ends[name] for name in ends if name != last})
    found = await demonstration.placements()
    _, out, _ = await run_explain(server, "-o", "json", "-f", "-", given=yaml.safe_dump(one_more))
    reported = json.loads(out)["seed"] or ""
    found[last] = reported.removesuffix(f"-{stage.suffix}") or None
    assert found == ends
    # Seeds that are full, dark or tainted host nothing, and not every shoot finds a seed.
    used = Counter(found.values())
    assert used["gcp-us2"] == used["az-eu2"] == 0
    assert used["aws-us2"] == 2
    assert 0 < used[None] < SHOOTS // 2


async def test_ledgers_are_empty_enough_and_shoots_are_counted_once(stage):
    await stage.create(stage.seed("a", shoots=20))
    await stage.create(*(stage.shoot(f"s{index}") for index in range(25)))
    await eventually(lambda: _count(stage, "a", 20))
    assert await _count(stage, "a", 20)
    assert [*(await stage.placements()).values()].count("") == 5
    room = {"shoots": "21"}
    seed, status = ObjectKey("", stage.name("a")), {"capacity": room, "allocatable": room}
    await stage.client.patch(SEED, seed, {"status": status}, subresource="status")
    await eventually(lambda: _count(stage, "a", 21))
    names = [name for name, seed in (await stage.placements()).items() if seed]
    placed = {(await stage.get(name))["metadata"]["uid"] for name in names}
    # A new entry removes those that are seen on the seed, and records the version seen.
    written = await stage.ledger("a")
    assert {*written.entries} < placed
    assert int(written.seen_through) > 0


async def test_what_if(stage):
    await stage.create(stage.seed("here"))
    shoot = read(Shoot, stage.shoot("not-there"))

    def reported():
        snapshot = stage.scheduling.cache.snapshot()
        return explain.explain(shoot, SeedTable(), snapshot).seed == stage.name("here")

    await eventually(reported)


def _knows(stage, *seeds):
    snapshot = stage.scheduling.cache.snapshot()
    found = [snapshot.get(Seed, ObjectKey("", stage.name(name))) for name in seeds]
    return all(seed is not None and seed.status.allocatable for seed in found)


async def _is_placed(stage, name):
    return bool((await stage.get(name))["spec"].get("seedName"))


async def _is_not_pending(stage, name):
    return not await stage.is_pending(name)


async def _count(stage, seed, count):
    return [*(await stage.placements()).values()].count(seed) == count
