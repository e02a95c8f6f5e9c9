"""Gardener stops, freezes, dies and comes back; Espalier does, too; neither hurts the other."""

import asyncio
import json
import os
import time
from collections import Counter
from functools import partial
from typing import Any

import aiohttp
import pytest

from tests.gardening import Beside, make_shoot, ready_seed, unique
from tests.reviews import make_review
from tests.waiting import eventually
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError, ApiError
from webhook.planes.gardener import PROJECT_NAMESPACE

SOAK = bool(os.environ.get("ESPALIER_SOAK"))
OUTAGE_SECONDS = 60.0 if SOAK else 0.0
SHOOTS = 1_000 if SOAK else 20
SEEDS = 10 if SOAK else 2
AT_ONCE = 8

pytestmark = pytest.mark.timeout(1800 if SOAK else 240)

_SHOOT = kind_of_model(Shoot)
HERE = f"--namespace={PROJECT_NAMESPACE}"


async def readiness(beside: Beside) -> tuple[int, str]:
    address = f"{beside.http}/readyz?verbose"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return answer.status, await answer.text()


async def lists(beside: Beside) -> Counter[str]:
    """How often each kind was listed anew."""
    address = f"{beside.http}/metrics"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        text = await answer.text()
    found: Counter[str] = Counter()
    for line in text.splitlines():
        if line.startswith("espalier_cache_relists_total{"):
            kind = line.partition('kind="')[2].partition('"')[0]
            found[kind] = int(float(line.rpartition(" ")[2]))
    return found


def make_autoscaler() -> dict[str, Any]:
    """A SeedAutoscaler of a set that is not there."""
    return {
        "apiVersion": "seedmanagement.gardener.cloud/v1beta1",
        "kind": "SeedAutoscaler",
        "metadata": {"name": unique("a"), "namespace": "garden"},
        "spec": {"scaleTargetRef": {"kind": "ManagedSeedSet", "name": "x"}, "maxReplicas": 1},
    }


async def judged(beside: Beside, new: dict[str, Any]) -> tuple[int, Any]:
    """Ask our server about a creation, as an API server does."""
    assert beside.server is not None
    address = f"{beside.server.url}/validate?timeout=5s"
    body = make_review(new, None, "CREATE")
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, json=body, ssl=False) as answer,
    ):
        decoded = answer.content_type == "application/json"
        return answer.status, await answer.json() if decoded else None


async def is_placed(beside: Beside, name: str) -> bool:
    return bool((await beside.shoot(name))["spec"].get("seedName"))


@pytest.mark.parametrize("how", ["stopped", "frozen"])
async def test_an_outage_of_gardener_ends_by_itself(beside, how):
    seed = unique("seed-")
    await ready_seed(beside, seed)
    before = await lists(beside)
    process = beside.plane.gardener_apiserver
    if how == "stopped":
        await process.kill()
    else:
        process.pause()
    began = time.monotonic()
    try:
        # Watches notice one after the other.
        await eventually(lambda: _names_stale(beside), OUTAGE_SECONDS + 80)
        # Whether there is such a set nobody can say: that is our fault, and no refusal.
        assert (await judged(beside, make_autoscaler()))[0] == 503
        # What kube-apiserver serves itself goes on, our own kinds among it.
        await beside.kubectl("create", "-f", "-", input=make_autoscaler())
        await asyncio.sleep(OUTAGE_SECONDS - (time.monotonic() - began))
        assert (await readiness(beside))[0] == 200
    finally:
        if how == "stopped":
            await process.start()
        else:
            process.resume()
    await eventually(lambda: _names_nothing(beside), 90)
    told = await eventually(lambda: _refusal(beside), 60)
    assert "spec.scaleTargetRef.name" in told
    shoot = make_shoot(schedulerName="espalier", seedSelector={"matchLabels": {"test": seed}})
    await eventually(lambda: _create(beside, shoot), 60)
    await eventually(lambda: is_placed(beside, shoot["metadata"]["name"]), 60)
    again = await lists(beside) - before
    assert {kind: count for kind, count in again.items() if count > 1} == {}


async def _refusal(beside: Beside) -> str:
    status, answer = await judged(beside, make_autoscaler())
    return str(answer["response"]["status"]["message"]) if status == 200 else ""


async def _names_stale(beside: Beside) -> bool:
    status, text = await readiness(beside)
    assert status == 200
    return "shoots.core.gardener.cloud" in text


async def _names_nothing(beside: Beside) -> bool:
    status, text = await readiness(beside)
    return status == 200 and "stale" not in text


async def _create(beside: Beside, draft: dict[str, Any]) -> bool:
    done = await beside.kubectl("create", "-f", "-", input=draft, check=False)
    return done.code == 0 or "already exists" in done.stderr


class Arrivals:
    """Shoots that come one after the other, some at a time, whatever happens to the server."""

    def __init__(self, client: Client, shoots: list[dict[str, Any]]) -> None:
        self._client = client
        self._shoots = shoots
        self._there = 0
        self.half_are_there = asyncio.Event()

    async def come(self) -> None:
        left = iter(self._shoots)

        async def create() -> None:
            for shoot in left:
                await eventually(partial(self._is_created, shoot), 300)
                self._there += 1
                if self._there * 2 >= len(self._shoots):
                    self.half_are_there.set()

        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(create())

    async def _is_created(self, shoot: dict[str, Any]) -> bool:
        try:
            await self._client.create(_SHOOT, ObjectKey(PROJECT_NAMESPACE, ""), shoot)
        except AlreadyExistsError:
            return True
        except ApiError:
            return False
        return True


async def test_placements_survive_a_gardener_that_dies_midway(beside):
    label = unique("t")
    room = SHOOTS // SEEDS
    seeds = [f"{label}-{number}" for number in range(SEEDS)]
    for seed in seeds:
        await ready_seed(beside, seed, shoots=room)
        await beside.kubectl("label", "seed", seed, f"test={label}", "--overwrite")
    selector = {"matchLabels": {"test": label}}
    shoots = [
        make_shoot(f"{label}{number}", schedulerName="espalier", seedSelector=selector)
        for number in range(SHOOTS)
    ]
    process = beside.plane.gardener_apiserver
    async with Client(await config.load(str(beside.plane.kubeconfig))) as client:
        arrivals = Arrivals(client, shoots)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(arrivals.come())
            async with asyncio.timeout(600):
                await arrivals.half_are_there.wait()
            await process.kill()
            await process.start()

    async def placed() -> list[dict[str, Any]]:
        found = await beside.get("shoots", HERE)
        mine = [each for each in found["items"] if each["metadata"]["name"].startswith(label)]
        bound = [each for each in mine if each["spec"].get("seedName")]
        return bound if len(bound) == SHOOTS else []

    bound = await eventually(placed, 1200 if SOAK else 120, 1.0)
    counted = Counter(shoot["spec"]["seedName"] for shoot in bound)
    assert counted == dict.fromkeys(seeds, room)


async def test_gardener_goes_on_while_espalier_is_dead(beside):
    seed = unique("seed-")
    await ready_seed(beside, seed)
    assert beside.server is not None
    await beside.server.kill()
    try:
        shoot = make_shoot(seedSelector={"matchLabels": {"test": seed}})
        await beside.kubectl("create", "-f", "-", input=shoot)
        name = shoot["metadata"]["name"]
        await beside.kubectl("wait", f"--for=jsonpath={{.spec.seedName}}={seed}", "--timeout=60s",
                             f"shoot/{name}", HERE)  # fmt: skip
        await beside.kubectl("label", "shoot", name, HERE, "team=blue")
        purpose = json.dumps({"spec": {"purpose": "development"}})
        await beside.kubectl("patch", "shoot", name, HERE, "--type=merge", "-p", purpose)
        status = json.dumps({"status": {"hibernated": False}})
        await beside.kubectl("patch", "shoot", name, HERE, "--subresource=status", "--type=merge",
                             "-p", status)  # fmt: skip
    finally:
        await beside.server.start()


async def test_a_missing_right_is_named_once_and_costs_only_what_needs_it(beside):
    role = await beside.get("clusterrole", "espalier")
    without = [
        {**rule, "resources": [each for each in rule["resources"] if each != "quotas"]}
        for rule in role["rules"]
    ]
    change = {"rules": [rule for rule in without if rule["resources"]]}
    body = json.dumps(change)
    await beside.kubectl("patch", "clusterrole", "espalier", "--type=merge", "-p", body)
    assert beside.server is not None
    await beside.server.restart()
    try:
        seed = unique("seed-")
        await ready_seed(beside, seed)
        shoot = make_shoot(schedulerName="espalier", seedSelector={"matchLabels": {"test": seed}})
        await beside.kubectl("create", "-f", "-", input=shoot)
        await eventually(lambda: is_placed(beside, shoot["metadata"]["name"]), 60)
        said = (await beside.said()).rpartition("beside a Gardener")[0].rpartition("stopped (")[2]
        lines = [line for line in said.splitlines() if "quotas" in line and "forbidden" in line]
        assert len(lines) == 1
        assert "watch" in lines[0] or "list" in lines[0]
    finally:
        back = json.dumps({"rules": role["rules"]})
        await beside.kubectl("patch", "clusterrole", "espalier", "--type=merge", "-p", back)
        await beside.server.restart()
