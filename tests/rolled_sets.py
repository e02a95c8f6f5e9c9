"""A set of seeds that gardener-controller-manager makes and Espalier rolls, for tests."""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from tests.gardening import Beside
from tests.waiting import eventually
from webhook.api import names
from webhook.cli.rollout import command

GARDEN = "--namespace=garden"
POOL_LABELS = "/spec/shootTemplate/spec/provider/workers/0/labels"


class Set:
    """One set of seeds in the cluster."""

    def __init__(self, beside: Beside, name: str) -> None:
        self.beside = beside
        self.name = name

    async def get(self) -> dict[str, Any]:
        return await self.beside.get("managedseedset", self.name, GARDEN)

    async def shoot(self, ordinal: int) -> dict[str, Any]:
        return await self.beside.shoot(f"{self.name}-{ordinal}", "garden")

    async def managed_seed(self, ordinal: int) -> dict[str, Any]:
        return await self.beside.get("managedseed", f"{self.name}-{ordinal}", GARDEN)

    async def patch(self, change: Any, what: str = "", how: str = "merge") -> None:
        target = what or f"managedseedset/{self.name}"
        body = json.dumps(change)
        await self.beside.kubectl("patch", target, GARDEN, f"--type={how}", "-p", body)

    async def condition(self, kind: str) -> dict[str, Any]:
        found = (await self.get()).get("status", {}).get("conditions") or ()
        return next((each for each in found if each["type"] == kind), {})

    async def says(self, reason: str) -> str:
        """Wait until the rollout tells that it is so; give the message."""

        async def told() -> str:
            found = await self.condition(names.PROGRESSING)
            return str(found["message"]) if found.get("reason") == reason else ""

        message: str = await eventually(told, 90)
        return message

    async def pools(self, ordinal: int) -> dict[str, dict[str, Any]]:
        """Give a replica's pools by name."""
        workers = (await self.shoot(ordinal))["spec"]["provider"]["workers"]
        return {worker["name"]: worker for worker in workers}

    async def labels(self, ordinal: int) -> dict[str, str] | None:
        """Give the labels of the pool that every replica has."""
        labels: dict[str, str] | None = (await self.pools(ordinal))["local"].get("labels")
        return labels

    async def label(self, value: str) -> None:
        """Change the template: the pool that every replica has gets a label."""
        change = {"op": "add", "path": POOL_LABELS, "value": {"rolled": value}}
        await self.patch([change], how="json")

    async def annotate(self, ordinal: int, *notes: str) -> None:
        name = f"{self.name}-{ordinal}"
        await self.beside.kubectl("annotate", "--overwrite", "shoot", name, GARDEN, *notes)

    async def ready(self, replicas: int) -> None:
        found: dict[str, Any] = {}

        async def enough() -> bool:
            found.update(await self.get())
            status = found.get("status") or {}
            counted = (status.get("replicas", 0), status.get("readyReplicas", 0))
            return counted == (replicas, replicas)

        try:
            await eventually(enough, 180)
        except TimeoutError:
            scalers = await self.beside.get("seedautoscalers", GARDEN)
            told = [each for each in scalers["items"] if each["metadata"]["name"] == self.name]
            wanted = found["spec"]["replicas"], found.get("status"), told
            pytest.fail(f"not {replicas} replicas that are ready: {json.dumps(wanted)}")

    async def rolled(self, before: str = "") -> dict[str, Any]:
        """Wait until every replica has the present templates; give the status."""

        async def ended() -> dict[str, Any] | None:
            status: dict[str, Any] = (await self.get()).get("status") or {}
            current = status.get("currentRevision")
            complete = (await self.condition(names.PROGRESSING)).get("reason") == "Complete"
            same = current == status.get("updateRevision") and current != before
            return status if current and complete and same else None

        found: dict[str, Any] = await eventually(ended, 120)
        return found

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Note every state of the replicas' Shoots while the block runs, from a settled one on."""
        await eventually(self._is_settled)
        seen: list[dict[str, Any]] = []
        path = "/apis/core.gardener.cloud/v1beta1/namespaces/garden/shoots"
        query = {"watch": "true", "labelSelector": f"set={self.name}"}
        connector = aiohttp.TCPConnector(
            ssl=await asyncio.to_thread(self.beside.plane.admin.context)
        )
        forever = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(self.beside.plane.url, connector=connector) as session,
            session.get(path, params=query, timeout=forever, read_bufsize=2**20) as answer,
        ):

            async def note() -> None:
                async for line in answer.content:
                    seen.append(json.loads(line)["object"])  # noqa: PERF401 - as it comes

            noting = asyncio.create_task(note())
            try:
                yield seen
            finally:
                noting.cancel()

    async def _is_settled(self) -> bool:
        found = await self.beside.get("shoots", GARDEN, f"--selector=set={self.name}")
        return most_in_flight(found["items"]) == 0

    async def rollout(self, capsys: Any, action: str, *flags: str) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        kubeconfig = f"--kubeconfig={self.beside.plane.kubeconfig}"
        words = (action, f"mss/{self.name}", GARDEN, kubeconfig, *flags)
        code = await asyncio.to_thread(command.run, parser.parse_args(words))
        told = capsys.readouterr()
        return code, told.out, told.err


def updates(seen: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Which replica got which label, in the order of the writes."""
    last: dict[str, str] = {}
    found = []
    for shoot in seen:
        name, label = shoot["metadata"]["name"], _rolled(shoot)
        if name in last and last[name] != label:
            found.append((name.rpartition("-")[2], label))
        last[name] = label
    return found


def most_in_flight(seen: list[dict[str, Any]]) -> int:
    """How many replicas were not what their specs ask for, at worst."""
    unfinished: set[str] = set()
    most = 0
    for shoot in seen:
        name, status = shoot["metadata"]["name"], shoot["status"]
        done = status["lastOperation"]["state"] == "Succeeded"
        if done and status["observedGeneration"] == shoot["metadata"]["generation"]:
            unfinished.discard(name)
        else:
            unfinished.add(name)
        most = max(most, len(unfinished))
    return most


def _rolled(shoot: dict[str, Any]) -> str:
    pool = next(each for each in shoot["spec"]["provider"]["workers"] if each["name"] == "local")
    return str((pool.get("labels") or {}).get("rolled", ""))


def confined() -> dict[str, Any]:
    """Maintenance that keeps changes back until a window which is hours away."""
    begin = datetime.now(UTC) + timedelta(hours=6)
    window = {
        "begin": begin.strftime("%H%M00+0000"),
        "end": (begin + timedelta(hours=1)).strftime("%H%M00+0000"),
    }
    return {"confineSpecUpdateRollout": True, "timeWindow": window}


def make_autoscaler(name: str) -> dict[str, Any]:
    """An autoscaler of a set, from one replica to three, that does at once what it wants."""
    target = {"type": "Utilization", "averageUtilization": 80}
    return {
        "apiVersion": "seedmanagement.gardener.cloud/v1beta1",
        "kind": "SeedAutoscaler",
        "metadata": {"name": name, "namespace": "garden"},
        "spec": {
            "scaleTargetRef": {"kind": "ManagedSeedSet", "name": name},
            "minReplicas": 1,
            "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {"name": "shoots", "target": target}}],
            "behavior": {
                "scaleUp": {"stabilizationWindowSeconds": 0},
                "scaleDown": {"stabilizationWindowSeconds": 0},
            },
        },
    }


async def until_able(beside: Beside, name: str, reason: str) -> str:
    """Wait until an autoscaler tells why it can scale or not; give the message."""

    async def told() -> str:
        status = (await beside.get("seedautoscaler", name, GARDEN)).get("status") or {}
        found = {each["type"]: each for each in status.get("conditions") or ()}
        able = found.get(names.ABLE_TO_SCALE) or {}
        return str(able["message"]) if able.get("reason") == reason else ""

    message: str = await eventually(told, 90)
    return message
