"""Schedules of every density in one namespace, beside which all others are served as before."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import msgspec
import pytest

from tests.faults.webhook_registration import until_registered
from tests.support.builders import make_shoot, make_worker
from tests.support.fake_scaling_cluster import make_autoscaler, make_tortoise
from tests.support.waits import eventually
from webhook.api.core import HorizontalPodAutoscaler, Lease, Namespace
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.shoots import Shoot
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError
from webhook.cluster.requests import Selection
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess
from webhook.kube.meta import ObjectKey, Raw

SOAK = bool(os.environ.get("ESPALIER_SOAK"))
SCHEDULES = 1_000 if SOAK else 60
TORTOISES = 100 if SOAK else 6
ROUNDS = 2_000 if SOAK else 20
"""How often the others are served once all schedules run; a soak sees edges for minutes."""
SCALINGS = kind_of_model(ScheduledScaling)
AUTOSCALERS = kind_of_model(HorizontalPodAutoscaler)
SHOOTS = kind_of_model(Shoot)
LEASE = ("--lease-duration=6", "--renew-deadline=4", "--retry-period=0.5", "--drain-quiet=0")
PROBE_SECONDS = 20.0

DENSITIES: tuple[dict[str, str], ...] = (
    {"cron": "* * * * *", "duration": "1m"},
    {"cron": "* * * * *", "duration": "24h", "timeZone": "Europe/Berlin"},
    {"cron": "* * * * *", "duration": "1m", "startAt": "2126-01-01T00:00:00Z"},
    {"cron": "*/2 * * * *", "duration": "1m"},
    {"cron": "1-59/2 * * * *", "duration": "1m30s"},
    {"cron": "*/5 * * * *", "duration": "4m59s"},
    {"cron": "*/10 8-20 * * 1-5", "duration": "1h", "timeZone": "America/New_York"},
    {"cron": "0 * * * *", "duration": "59m"},
    {"cron": "0 0 * * *", "duration": "24h"},
    {"cron": "0 9 * * 1-5", "duration": "8h"},
    {"cron": "0 0 29 2 *", "duration": "1h"},
    {"cron": "0 0 29 2 */8", "duration": "1h"},
)

pytestmark = pytest.mark.timeout(0 if SOAK else 300)


class Others:
    """What everybody else asks for: probes, and changes of a Shoot in another namespace."""

    def __init__(self, espalier: EspalierProcess, api: Client, shoot: ObjectKey) -> None:
        self._espalier = espalier
        self._api = api
        self._shoot = shoot
        self.served = 0
        self.failures: list[str] = []

    async def run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=PROBE_SECONDS)
        async with aiohttp.ClientSession(self._espalier.http_url, timeout=timeout) as session:
            while True:
                await asyncio.gather(
                    self._probe(session, "/healthz"),
                    self._probe(session, "/readyz"),
                    self._change_shoot(),
                )
                self.served += 1
                await asyncio.sleep(0.1)

    async def _probe(self, session: aiohttp.ClientSession, path: str) -> None:
        try:
            async with session.get(path) as response:
                if response.status != 200:
                    self.failures.append(f"{path}: {response.status} {await response.text()}")
        except (aiohttp.ClientError, TimeoutError) as error:
            self.failures.append(f"{path}: {error!r}")

    async def _change_shoot(self) -> None:
        change = {"metadata": {"annotations": {"changed": str(self.served)}}}
        try:
            await self._api.patch(SHOOTS, self._shoot, change, query={"dryRun": "All"})
        except ApiError as error:
            self.failures.append(f"shoot: {error!r}")


@asynccontextmanager
async def serving_others(others: Others) -> AsyncIterator[None]:
    task = asyncio.create_task(others.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def scaling(namespace: str, number: int) -> dict[str, Any]:
    return {
        "metadata": {"namespace": namespace, "name": f"s{number:04}"},
        "spec": {
            "targetRefs": {"tortoiseName": f"t{number % TORTOISES}"},
            "strategy": {"static": {"minimumMinReplicas": 10 + number % 40}},
            "schedule": DENSITIES[number % len(DENSITIES)],
        },
    }


async def create_workloads(api: Client, namespace: str) -> None:
    await api.create(kind_of_model(Namespace), ObjectKey("", ""), {"metadata": {"name": namespace}})
    for number in range(TORTOISES):
        autoscaler = make_autoscaler(f"tortoise-hpa-t{number}")
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"t{number}"}
        autoscaler["spec"]["scaleTargetRef"] = target
        for kind, body in (
            (AUTOSCALERS, autoscaler),
            (kind_of_model(Tortoise), make_tortoise(f"t{number}")),
        ):
            body["metadata"]["namespace"] = namespace
            await api.create(kind, ObjectKey(namespace, ""), body)


async def listed(api: Client, kind: Kind, namespace: str) -> list[Raw]:
    return [
        msgspec.json.decode(item)
        async for page in api.pages(Selection(kind, namespace))
        for item in page.items
    ]


async def leadership(api: Client, namespace: str) -> tuple[str, int]:
    spec = (await api.get(kind_of_model(Lease), ObjectKey(namespace, "espalier")))["spec"]
    return spec["holderIdentity"], spec.get("leaseTransitions", 0)


async def test_schedules_of_every_density_delay_nobody_else(
    garden: Any, api: Client, tmp_path: Path
) -> None:
    suffix = uuid4().hex[:8]
    tenant, other, own = f"tenant-{suffix}", f"garden-{suffix}", f"own-{suffix}"
    await create_workloads(api, tenant)
    for name in (other, own):
        await api.create(kind_of_model(Namespace), ObjectKey("", ""), {"metadata": {"name": name}})
    shoot = ObjectKey(other, "shoot")
    await api.create(SHOOTS, shoot, make_shoot(shoot.name, other, workers=[make_worker()]))
    espalier = EspalierProcess(
        tmp_path / "espalier",
        garden.kubeconfig,
        (free_port(), free_port()),
        *(f"--namespace={own}", *LEASE),
    )
    await espalier.start()
    try:
        await until_registered(api)
        leader = await leadership(api, own)
        others = Others(espalier, api, shoot)
        async with serving_others(others):
            for number in range(SCHEDULES):
                key = ObjectKey(tenant, f"s{number:04}")
                await api.create(SCALINGS, key, scaling(tenant, number))
            await eventually(lambda: all_report(api, tenant), 600)
            served = others.served
            await eventually(lambda: others.served >= served + ROUNDS, 1200)
            await check_floors(api, tenant)
            for item in await listed(api, SCALINGS, tenant):
                await api.delete(SCALINGS, ObjectKey(tenant, item["metadata"]["name"]))
            await eventually(lambda: all_restored(api, tenant), 600)
        assert others.failures == []
        assert await leadership(api, own) == leader
    finally:
        await espalier.stop()


async def all_report(api: Client, namespace: str) -> bool:
    found = await listed(api, SCALINGS, namespace)
    return len(found) == SCHEDULES and all(
        item.get("status", {}).get("phase") in ("Active", "Pending") for item in found
    )


async def check_floors(api: Client, namespace: str) -> None:
    """At least the floors of schedules that never close hold on their autoscalers."""
    floors: dict[str, int] = {}
    for number in range(SCHEDULES):
        if number % len(DENSITIES) in (0, 1, 8):
            spec = scaling(namespace, number)["spec"]
            name = f"tortoise-hpa-{spec['targetRefs']['tortoiseName']}"
            replicas = spec["strategy"]["static"]["minimumMinReplicas"]
            floors[name] = max(floors.get(name, 0), replicas)

    async def hold() -> bool:
        found = await listed(api, AUTOSCALERS, namespace)
        least = {item["metadata"]["name"]: item["spec"]["minReplicas"] for item in found}
        return all(least[name] >= floor for name, floor in floors.items())

    assert floors
    await eventually(hold, 120)


async def all_restored(api: Client, namespace: str) -> bool:
    bounds = {
        (item["spec"]["minReplicas"], item["spec"]["maxReplicas"])
        for item in await listed(api, AUTOSCALERS, namespace)
    }
    return not await listed(api, SCALINGS, namespace) and bounds == {(3, 20)}
