"""Gardener stops, freezes, dies and comes back, and so does Espalier, without harm to the other."""

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import aiohttp
import pytest

from tests.support.garden_cluster import GardenCluster, make_seed, make_shoot, ready_seed, unique
from tests.support.reviews import make_review
from tests.support.waits import eventually
from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError, ApiError
from webhook.dev.planes.gardener import PROJECT_NAMESPACE
from webhook.kube.meta import ObjectKey
from webhook.kube.timestamps import format_time
from webhook.placement.scheduler import STALE_RETRY_SECONDS

SOAK = bool(os.environ.get("ESPALIER_SOAK"))
OUTAGE_SECONDS = 60.0 if SOAK else 0.0
SHOOTS = 1_000 if SOAK else 20
SEEDS = 10 if SOAK else 2
AT_ONCE = 8

pytestmark = pytest.mark.timeout(1800 if SOAK else 240)

_SHOOT = kind_of_model(Shoot)
HERE = f"--namespace={PROJECT_NAMESPACE}"
GARDENERS = ("core.gardener.cloud", "seedmanagement.gardener.cloud", "security.gardener.cloud")
LOST = (
    "shoots.core.gardener.cloud",
    "seeds.core.gardener.cloud",
    "cloudprofiles.core.gardener.cloud",
    "managedseeds.seedmanagement.gardener.cloud",
    "managedseedsets.seedmanagement.gardener.cloud",
)


async def readiness(gardener: GardenCluster) -> tuple[int, str]:
    address = f"{gardener.http}/readyz?verbose"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return answer.status, await answer.text()


async def metrics(gardener: GardenCluster, name: str) -> dict[str, float]:
    """Return the samples of a metric by their labels as they are written."""
    address = f"{gardener.http}/metrics"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        lines = (await answer.text()).splitlines()
    samples = (line.rpartition(" ") for line in lines if line.partition("{")[0].split()[0] == name)
    return {labels.removeprefix(name): float(value) for labels, _, value in samples}


async def lists(gardener: GardenCluster) -> Counter[str]:
    """Return how often each kind was listed again."""
    samples = await metrics(gardener, "espalier_cache_relists_total")
    kinds = {labels.partition('kind="')[2].partition('"')[0]: labels for labels in samples}
    return Counter({kind: int(samples[labels]) for kind, labels in kinds.items()})


async def decisions(gardener: GardenCluster) -> float:
    """Return how often the scheduler has decided about a shoot."""
    return sum((await metrics(gardener, "espalier_scheduling_duration_seconds_count")).values())


@asynccontextmanager
async def always_ready(gardener: GardenCluster) -> AsyncIterator[None]:
    """Check `/readyz` all the time while the block runs."""
    answers: list[tuple[int, str]] = []

    async def look() -> None:
        while True:
            answers.append(await readiness(gardener))
            await asyncio.sleep(0.5)

    task = asyncio.create_task(look())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(answers) > 10
    assert [each for each in answers if each[0] != 200] == []


def make_schedule(minutes: int) -> dict[str, Any]:
    """A ScheduledScaling with a window that opens tomorrow."""
    opening = datetime.now(UTC) + timedelta(days=1)
    schedule = {
        "startAt": format_time(opening),
        "finishAt": format_time(opening + timedelta(minutes=minutes)),
    }
    return {
        "apiVersion": "autoscaling.mercari.com/v1alpha1",
        "kind": "ScheduledScaling",
        "metadata": {"name": unique("w"), "namespace": "garden"},
        "spec": {
            "targetRefs": {"tortoiseName": "none"},
            "strategy": {"static": {"minimumMinReplicas": 3}},
            "schedule": schedule,
        },
    }


def make_distances() -> dict[str, Any]:
    """A table of distances for a profile that does not exist; any table triggers the scheduler."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": unique("distances-"),
            "namespace": "garden",
            "labels": {names.REGION_CONFIG_PURPOSE: names.REGION_CONFIG},
            "annotations": {names.REGION_CONFIG_PROFILES: "none"},
        },
    }


def make_autoscaler() -> dict[str, Any]:
    """A SeedAutoscaler of a set that does not exist."""
    return {
        "apiVersion": "seedmanagement.gardener.cloud/v1beta1",
        "kind": "SeedAutoscaler",
        "metadata": {"name": unique("a"), "namespace": "garden"},
        "spec": {"scaleTargetRef": {"kind": "ManagedSeedSet", "name": "x"}, "maxReplicas": 1},
    }


async def send_review(gardener: GardenCluster, new: dict[str, Any]) -> tuple[int, Any]:
    """Send a review of a creation to our server, as an API server does."""
    assert gardener.server is not None
    address = f"{gardener.server.url}/validate?timeout=5s"
    body = make_review(new, None, "CREATE")
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, json=body, ssl=False) as answer,
    ):
        decoded = answer.content_type == "application/json"
        return answer.status, await answer.json() if decoded else None


async def is_placed(gardener: GardenCluster, name: str) -> bool:
    return bool((await gardener.shoot(name))["spec"].get("seedName"))


@pytest.mark.parametrize("how", ["stopped", "frozen"])
async def test_an_outage_of_gardener_ends_by_itself(gardener, how):
    seed = unique("seed-")
    waiting = make_shoot(schedulerName="espalier", seedSelector={"matchLabels": {"test": seed}})
    name = waiting["metadata"]["name"]
    await gardener.kubectl("create", "-f", "-", input=waiting)
    await eventually(lambda: _is_reported(gardener, name))
    before = await lists(gardener)
    process = gardener.plane.gardener_apiserver
    async with always_ready(gardener):
        if how == "stopped":
            await process.kill()
        else:
            process.pause()
        began = time.monotonic()
        try:
            # Watches notice the outage one after the other.
            await eventually(lambda: _names_stale(gardener), OUTAGE_SECONDS + 80)
            # Whether the set exists is unknown: that is an internal error, and no refusal.
            assert (await send_review(gardener, make_autoscaler()))[0] == 503
            await _goes_on(gardener)
            await _is_paused(gardener)
            await asyncio.sleep(OUTAGE_SECONDS - (time.monotonic() - began))
        finally:
            if how == "stopped":
                await process.start()
            else:
                process.resume()
        await eventually(lambda: _names_nothing(gardener), 90)
    reported = await eventually(lambda: _refusal(gardener), 60)
    assert "spec.scaleTargetRef.name" in reported
    await eventually(lambda: _create(gardener, make_seed(seed)), 60)
    await eventually(lambda: is_placed(gardener, name), 60)
    again = await lists(gardener) - before
    assert {kind: count for kind, count in again.items() if count > 1} == {}


async def _goes_on(gardener: GardenCluster) -> None:
    """Kinds of kube-apiserver are validated and reconciled, although webhooks may be ignored."""
    bad = await gardener.kubectl("create", "-f", "-", input=make_schedule(-5), check=False)
    assert "spec.schedule.finishAt" in bad.stderr
    good = make_schedule(5)
    await gardener.kubectl("create", "-f", "-", input=good)
    where = ("-n", "garden", f"scheduledscaling/{good['metadata']['name']}")
    await gardener.kubectl(
        "wait", "--for=jsonpath={.status.phase}=Pending", "--timeout=20s", *where
    )
    await gardener.kubectl("delete", *where)


async def _is_paused(gardener: GardenCluster) -> None:
    """Something changes that could help pending shoots, and no decision is made on stale kinds."""
    before = await decisions(gardener)
    table = make_distances()
    await gardener.kubectl("create", "-f", "-", input=table)
    await asyncio.sleep(2 * STALE_RETRY_SECONDS)
    assert await decisions(gardener) == before
    await gardener.kubectl("delete", "-f", "-", input=table)


async def _is_reported(gardener: GardenCluster, name: str) -> str:
    operation = (await gardener.shoot(name)).get("status", {}).get("lastOperation") or {}
    return str(operation.get("description", ""))


async def _refusal(gardener: GardenCluster) -> str:
    status, answer = await send_review(gardener, make_autoscaler())
    return str(answer["response"]["status"]["message"]) if status == 200 else ""


async def _names_stale(gardener: GardenCluster) -> bool:
    """Return whether every kind of Gardener that decisions read is stale, and no other."""
    _, text = await readiness(gardener)
    stale = text.partition("stale: ")[2].partition("\n")[0].split(", ")
    assert not [kind for kind in stale if kind and not kind.endswith(GARDENERS)]
    return {*LOST} <= {*stale}


async def _names_nothing(gardener: GardenCluster) -> bool:
    status, text = await readiness(gardener)
    return status == 200 and "stale" not in text


async def _create(gardener: GardenCluster, draft: dict[str, Any]) -> bool:
    done = await gardener.kubectl("create", "-f", "-", input=draft, check=False)
    return done.code == 0 or "already exists" in done.stderr


class Arrivals:
    """Shoots that are created some at a time, whatever happens to the server."""

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


async def test_placements_survive_a_gardener_that_dies_midway(gardener):
    label = unique("t")
    room = SHOOTS // SEEDS
    seeds = [f"{label}-{number}" for number in range(SEEDS)]
    for seed in seeds:
        await ready_seed(gardener, seed, shoots=room)
        await gardener.kubectl("label", "seed", seed, f"test={label}", "--overwrite")
    selector = {"matchLabels": {"test": label}}
    shoots = [
        make_shoot(f"{label}{number}", schedulerName="espalier", seedSelector=selector)
        for number in range(SHOOTS)
    ]
    process = gardener.plane.gardener_apiserver
    async with Client(await config.load(str(gardener.plane.kubeconfig))) as client:
        arrivals = Arrivals(client, shoots)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(arrivals.come())
            async with asyncio.timeout(600):
                await arrivals.half_are_there.wait()
            await process.kill()
            await process.start()

    async def placed() -> list[dict[str, Any]]:
        found = await gardener.get("shoots", HERE)
        mine = [each for each in found["items"] if each["metadata"]["name"].startswith(label)]
        bound = [each for each in mine if each["spec"].get("seedName")]
        return bound if len(bound) == SHOOTS else []

    bound = await eventually(placed, 1200 if SOAK else 120, 1.0)
    counted = Counter(shoot["spec"]["seedName"] for shoot in bound)
    assert counted == dict.fromkeys(seeds, room)


async def test_gardener_goes_on_while_espalier_is_dead(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, seed)
    assert gardener.server is not None
    await gardener.server.kill()
    try:
        shoot = make_shoot(seedSelector={"matchLabels": {"test": seed}})
        await gardener.kubectl("create", "-f", "-", input=shoot)
        name = shoot["metadata"]["name"]
        await gardener.kubectl("wait", f"--for=jsonpath={{.spec.seedName}}={seed}", "--timeout=60s",
                             f"shoot/{name}", HERE)  # fmt: skip
        await gardener.kubectl("label", "shoot", name, HERE, "team=blue")
        purpose = json.dumps({"spec": {"purpose": "development"}})
        await gardener.kubectl("patch", "shoot", name, HERE, "--type=merge", "-p", purpose)
        status = json.dumps({"status": {"hibernated": False}})
        await gardener.kubectl("patch", "shoot", name, HERE, "--subresource=status", "--type=merge",
                             "-p", status)  # fmt: skip
    finally:
        await gardener.server.start()


@asynccontextmanager
async def without(gardener: GardenCluster, *resources: str) -> AsyncIterator[None]:
    """Remove all permissions on some resources while the block runs."""
    role = await gardener.get("clusterrole", "espalier")
    left = [
        {**rule, "resources": [each for each in rule["resources"] if each not in resources]}
        for rule in role["rules"]
    ]
    await _allow(gardener, [rule for rule in left if rule["resources"]])
    try:
        yield
    finally:
        await _allow(gardener, role["rules"])


async def _allow(gardener: GardenCluster, rules: list[dict[str, Any]]) -> None:
    body = json.dumps({"rules": rules})
    await gardener.kubectl("patch", "clusterrole", "espalier", "--type=merge", "-p", body)


async def test_a_missing_right_is_named_once_and_costs_only_what_needs_it(gardener):
    assert gardener.server is not None
    before = len(await gardener.read_log())
    seed = unique("seed-")
    ours: dict[str, Any] = {
        "schedulerName": "espalier",
        "seedSelector": {"matchLabels": {"test": seed}},
    }
    shoots = [make_shoot(**ours) for _ in range(4)]
    called = [shoot["metadata"]["name"] for shoot in shoots]
    try:
        async with without(gardener, "quotas", "events"):
            await gardener.server.restart()
            await ready_seed(gardener, seed)
            for shoot in shoots[:2]:
                await gardener.kubectl("create", "-f", "-", input=shoot)
            for name in called[:2]:
                await eventually(partial(is_placed, gardener, name), 60)
            async with without(gardener, "shoots/binding"):
                for shoot in shoots[2:]:
                    await gardener.kubectl("create", "-f", "-", input=shoot)
                for name in called[2:]:
                    reported = await eventually(partial(_is_reported, gardener, name), 60)
                    assert "may not patch shoots.core.gardener.cloud/binding" in reported
            for name in called[2:]:
                await eventually(partial(is_placed, gardener, name), 60)
            log = (await gardener.read_log())[before:]
    finally:
        await gardener.server.restart()
    missing = [line for line in log.splitlines() if "is forbidden: User" in line]
    assert len(missing) == 3, missing
    for right in (
        'watch resource "quotas"',
        'create resource "events"',
        'patch resource "shoots/binding"',
    ):
        assert len([line for line in missing if f"cannot {right}" in line]) == 1
