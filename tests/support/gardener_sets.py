"""A ManagedSeedSet whose replicas gardener-controller-manager creates and Espalier rolls."""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from tests.support.garden_cluster import GardenCluster
from tests.support.set_objects import make_autoscaler
from tests.support.waits import eventually
from webhook.api import names
from webhook.cli.rollout import command

GARDEN = "--namespace=garden"
POOL_LABELS = "/spec/shootTemplate/spec/provider/workers/0/labels"


class SeedSet:
    """One ManagedSeedSet in the cluster."""

    def __init__(self, gardener: GardenCluster, name: str) -> None:
        self.gardener = gardener
        self.name = name

    async def get(self) -> dict[str, Any]:
        return await self.gardener.get("managedseedset", self.name, GARDEN)

    async def shoot(self, ordinal: int) -> dict[str, Any]:
        return await self.gardener.shoot(f"{self.name}-{ordinal}", "garden")

    async def managed_seed(self, ordinal: int) -> dict[str, Any]:
        return await self.gardener.get("managedseed", f"{self.name}-{ordinal}", GARDEN)

    async def patch(self, change: Any, what: str = "", how: str = "merge") -> None:
        target = what or f"managedseedset/{self.name}"
        body = json.dumps(change)
        await self.gardener.kubectl("patch", target, GARDEN, f"--type={how}", "-p", body)

    async def condition(self, kind: str) -> dict[str, Any]:
        found = (await self.get()).get("status", {}).get("conditions") or ()
        return next((each for each in found if each["type"] == kind), {})

    async def until_progressing(self, reason: str) -> str:
        """Wait until the condition Progressing has a reason; return the message."""

        async def message_of() -> str:
            found = await self.condition(names.PROGRESSING)
            return str(found["message"]) if found.get("reason") == reason else ""

        message: str = await eventually(message_of, 90)
        return message

    async def pools(self, ordinal: int) -> dict[str, dict[str, Any]]:
        """Return a replica's worker pools by name."""
        workers = (await self.shoot(ordinal))["spec"]["provider"]["workers"]
        return {worker["name"]: worker for worker in workers}

    async def labels(self, ordinal: int) -> dict[str, str] | None:
        """Return the labels of the pool that every replica has."""
        labels: dict[str, str] | None = (await self.pools(ordinal))["local"].get("labels")
        return labels

    async def label(self, value: str) -> None:
        """Change the template: add a label to the pool that every replica has."""
        change = {"op": "add", "path": POOL_LABELS, "value": {"rolled": value}}
        await self.patch([change], how="json")

    async def annotate(self, ordinal: int, *notes: str) -> None:
        name = f"{self.name}-{ordinal}"
        await self.gardener.kubectl("annotate", "--overwrite", "shoot", name, GARDEN, *notes)

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
            scalers = await self.gardener.get("seedautoscalers", GARDEN)
            message_of = [
                each for each in scalers["items"] if each["metadata"]["name"] == self.name
            ]
            wanted = found["spec"]["replicas"], found.get("status"), message_of
            pytest.fail(f"not {replicas} replicas that are ready: {json.dumps(wanted)}")

    async def rolled(self, before: str = "") -> dict[str, Any]:
        """Wait until every replica has the current templates; return the status."""

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
        """Record every state of the replicas' Shoots while the block runs, starting from rest."""
        await eventually(self._is_settled)
        seen: list[dict[str, Any]] = []
        path = "/apis/core.gardener.cloud/v1beta1/namespaces/garden/shoots"
        query = {"watch": "true", "labelSelector": f"set={self.name}"}
        connector = aiohttp.TCPConnector(
            ssl=await asyncio.to_thread(self.gardener.plane.admin.context)
        )
        forever = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(self.gardener.plane.url, connector=connector) as session,
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
        found = await self.gardener.get("shoots", GARDEN, f"--selector=set={self.name}")
        return most_in_flight(found["items"]) == 0

    async def rollout(self, capsys: Any, action: str, *flags: str) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        kubeconfig = f"--kubeconfig={self.gardener.plane.kubeconfig}"
        arguments = (action, f"mss/{self.name}", GARDEN, kubeconfig, *flags)
        code = await asyncio.to_thread(command.run, parser.parse_args(arguments))
        message_of = capsys.readouterr()
        return code, message_of.out, message_of.err


def updates(seen: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return which replica got which label, in the order of the writes."""
    last: dict[str, str] = {}
    found = []
    for shoot in seen:
        name, label = shoot["metadata"]["name"], _rolled(shoot)
        if name in last and last[name] != label:
            found.append((name.rpartition("-")[2], label))
        last[name] = label
    return found


def most_in_flight(seen: list[dict[str, Any]]) -> int:
    """Return the largest number of replicas that were not reconciled at the same time."""
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
    """Maintenance settings that delay changes until a window some hours ahead."""
    begin = datetime.now(UTC) + timedelta(hours=6)
    window = {
        "begin": begin.strftime("%H%M00+0000"),
        "end": (begin + timedelta(hours=1)).strftime("%H%M00+0000"),
    }
    return {"confineSpecUpdateRollout": True, "timeWindow": window}


def make_quick_autoscaler(name: str) -> dict[str, Any]:
    """An autoscaler of a set, from one replica to three, without stabilization."""
    at_once = {"stabilizationWindowSeconds": 0}
    return make_autoscaler(name, 80, 3, behavior={"scaleUp": at_once, "scaleDown": at_once})


async def until_able(gardener: GardenCluster, name: str, reason: str) -> str:
    """Wait until the condition AbleToScale has a reason; return the message."""

    async def message_of() -> str:
        status = (await gardener.get("seedautoscaler", name, GARDEN)).get("status") or {}
        found = {each["type"]: each for each in status.get("conditions") or ()}
        able = found.get(names.ABLE_TO_SCALE) or {}
        return str(able["message"]) if able.get("reason") == reason else ""

    message: str = await eventually(message_of, 90)
    return message
