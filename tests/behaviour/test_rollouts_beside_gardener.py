"""Sets of seeds that gardener-controller-manager makes, rolled and scaled by Espalier."""

import argparse
import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.gardening import Beside, make_set, make_shoot, ready_seed, unique
from tests.waiting import eventually
from webhook.api import names
from webhook.cli.rollout import command

pytestmark = pytest.mark.timeout(600)

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

    async def labels(self, ordinal: int) -> dict[str, str] | None:
        """Give the labels of a replica's one pool."""
        (worker,) = (await self.shoot(ordinal))["spec"]["provider"]["workers"]
        labels: dict[str, str] | None = worker.get("labels")
        return labels

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

    async def rollout(self, capsys: Any, action: str, *flags: str) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        kubeconfig = f"--kubeconfig={self.beside.plane.kubeconfig}"
        words = (action, f"mss/{self.name}", GARDEN, kubeconfig, *flags)
        code = await asyncio.to_thread(command.run, parser.parse_args(words))
        told = capsys.readouterr()
        return code, told.out, told.err


async def order(found: Set) -> list[str]:
    """In which order replicas were updated, by the Events."""
    chosen = f"--field-selector=involvedObject.name={found.name},reason=Updating"
    told = (await found.beside.get("events", GARDEN, chosen))["items"]
    told.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [event["message"].split()[1] for event in told]


async def test_a_set_that_gardener_made_is_rolled_with_all_that_has_drifted(beside, capsys):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(beside, parent)
    found = Set(beside, name)
    await beside.kubectl("create", "-f", "-", input=make_set(name, parent, 3))
    await found.ready(3)
    pool = [{"op": "replace", "path": "/spec/provider/workers/0/maximum", "value": 5}]
    await found.patch(pool, f"shoot/{name}-1", "json")
    version = {"spec": {"kubernetes": {"version": "1.35.4"}}}
    await found.patch(version, f"shoot/{name}-0")
    await found.patch({"spec": {"maintenance": confined()}}, f"shoot/{name}-2")
    await found.ready(3)
    before = [await found.shoot(ordinal) for ordinal in range(3)]

    await beside.kubectl("annotate", "mss", name, GARDEN, f"{names.ROLLOUT}=true")
    first = await found.rolled()
    drift = await found.condition(names.DRIFTED)
    assert drift["status"] == "True"
    assert f"{name}-1: Shoot spec.provider.workers[local].maximum" in drift["message"]
    for ordinal, shoot in enumerate(before):
        now = await found.shoot(ordinal)
        assert now["spec"] == shoot["spec"]
        recorded = now["metadata"]["labels"].get(names.CONTROLLER_REVISION_HASH)
        assert recorded == (None if ordinal == 1 else first["currentRevision"])

    await _hold_back(found, capsys)
    second = await found.rolled(first["currentRevision"])
    assert await order(found) == [f"{name}-{ordinal}" for ordinal in (2, 1, 0)]
    for ordinal, maximum, kubernetes in ((0, 2, "1.35.4"), (1, 5, "1.35.3"), (2, 2, "1.35.3")):
        spec = (await found.shoot(ordinal))["spec"]
        (worker,) = spec["provider"]["workers"]
        assert (worker["labels"], worker["maximum"]) == ({"rolled": "yes"}, maximum)
        assert spec["kubernetes"]["version"] == kubernetes
        config = (await found.managed_seed(ordinal))["spec"]["gardenlet"]["config"]
        assert (config["logLevel"], config["resources"]["capacity"]["shoots"]) == ("debug", "10")
    assert not {"currentReplicas", "updatedReplicas"} & second.keys()

    code, told, _ = await found.rollout(capsys, "undo")
    assert (code, "goes back to revision 1" in told) == (0, True)
    third = await found.rolled(second["currentRevision"])
    assert third["currentRevision"] == first["currentRevision"]
    for ordinal in range(3):
        assert await found.labels(ordinal) is None

    async with beside.with_settings({"rollout": {"respectWindow": True}}):
        await _wait_for_the_window(found, capsys)


async def _hold_back(found: Set, capsys: Any) -> None:
    """Change both templates; partition and pause hold replicas back, one after the other.

    The first in line confines changes to its window: it has begun only because it was told to.
    """
    change = [
        {"op": "add", "path": POOL_LABELS, "value": {"rolled": "yes"}},
        {
            "op": "add",
            "path": "/spec/template/spec/gardenlet/config/logLevel",
            "value": "debug",
        },
        {"op": "add", "path": "/spec/updateStrategy", "value": partition(2)},
    ]
    await found.patch(change, how="json")
    await found.says("PartitionReached")
    assert [await found.labels(ordinal) for ordinal in range(3)] == [None, None, {"rolled": "yes"}]
    code, _, _ = await found.rollout(capsys, "pause")
    assert code == 0
    await found.patch({"spec": {"updateStrategy": partition(0)}})
    await found.says("Paused")
    assert await found.labels(1) is None
    code, _, _ = await found.rollout(capsys, "resume")
    assert code == 0


async def _wait_for_the_window(found: Set, capsys: Any) -> None:
    """A version cannot be undone, the rest can, and a confined Shoot waits and says until when."""
    version = {"op": "replace", "path": "/spec/shootTemplate/spec/kubernetes/version"}
    label = {"op": "add", "path": POOL_LABELS, "value": {"rolled": "again"}}
    await found.patch([{**version, "value": "1.35.4"}, label], how="json")
    told = await found.says("MaintenanceWindow")
    assert f"the Shoot of {found.name}-2 waits for its maintenance window" in told
    assert re.search(r"which opens at \d{4}-\d\d-\d\dT", told)
    await eventually(lambda: _has_revisions(found, capsys, 3))
    code, _, told = await found.rollout(capsys, "undo")
    assert code == 2
    assert "spec.shootTemplate.spec.kubernetes.version" in told
    assert "--keep-versions" in told
    code, _, _ = await found.rollout(capsys, "undo", "--keep-versions")
    assert code == 0
    spec = (await found.get())["spec"]["shootTemplate"]["spec"]
    assert spec["kubernetes"]["version"] == "1.35.4"
    assert "labels" not in spec["provider"]["workers"][0]


def confined() -> dict[str, Any]:
    """Maintenance that keeps changes back until a window which is hours away."""
    begin = datetime.now(UTC) + timedelta(hours=6)
    window = {
        "begin": begin.strftime("%H%M00+0000"),
        "end": (begin + timedelta(hours=1)).strftime("%H%M00+0000"),
    }
    return {"confineSpecUpdateRollout": True, "timeWindow": window}


def partition(ordinal: int) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": ordinal}}


async def _has_revisions(found: Set, capsys: Any, count: int) -> bool:
    _, told, _ = await found.rollout(capsys, "history")
    return len(told.splitlines()) == count + 1


def make_autoscaler(name: str) -> dict[str, Any]:
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


async def test_an_autoscaler_takes_a_set_of_gardeners_from_one_to_three_and_back(beside):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(beside, parent)
    draft = make_set(name, parent, 1)
    config = draft["spec"]["template"]["spec"]["gardenlet"]["config"]
    config["resources"]["capacity"]["shoots"] = "3"
    await beside.kubectl("create", "-f", "-", input=draft)
    found = Set(beside, name)
    await found.ready(1)
    shoots = [make_shoot(schedulerName="espalier") for _ in range(7)]
    for shoot in shoots:
        shoot["spec"]["seedSelector"] = {"matchLabels": {"test": name}}
    await beside.kubectl("create", "-f", "-", input=shoots)
    await beside.kubectl("create", "-f", "-", input=make_autoscaler(name))
    await found.ready(3)
    names_of = [shoot["metadata"]["name"] for shoot in shoots]
    namespace = shoots[0]["metadata"]["namespace"]

    async def all_placed() -> bool:
        placed = [await beside.shoot(each) for each in names_of]
        return all(shoot["spec"].get("seedName", "").startswith(name) for shoot in placed)

    await eventually(all_placed)
    told = await beside.get("seedautoscaler", name, GARDEN)
    scaled = {each["type"]: each for each in told["status"]["conditions"]}
    assert scaled[names.ABLE_TO_SCALE]["status"] in ("True", "False")

    here = f"--namespace={namespace}"
    confirmed = "confirmation.gardener.cloud/deletion=true"
    await beside.kubectl("annotate", "shoot", *names_of, here, confirmed)
    await beside.kubectl("delete", "shoot", *names_of, here, "--wait=false")
    await found.ready(1)
    assert (await found.get())["spec"]["replicas"] == 1
