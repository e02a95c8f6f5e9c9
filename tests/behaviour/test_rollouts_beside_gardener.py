"""ManagedSeedSets whose replicas gardener-controller-manager creates, rolled and scaled by us."""

import argparse
import asyncio
import json
import re
from typing import Any

import pytest

from tests.support.garden_cluster import make_set, make_shoot, ready_seed, unique
from tests.support.gardener_sets import (
    GARDEN,
    POOL_LABELS,
    SeedSet,
    confined,
    make_quick_autoscaler,
    most_in_flight,
    until_able,
    updates,
)
from tests.support.waits import eventually
from webhook.api import names
from webhook.cli import doctor

pytestmark = pytest.mark.timeout(600)


async def test_a_set_that_gardener_made_is_rolled_with_all_that_has_drifted(gardener, capsys):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(gardener, parent)
    found = SeedSet(gardener, name)
    draft = make_set(name, parent, 3)
    pools = draft["spec"]["shootTemplate"]["spec"]["provider"]["workers"]
    pools.append({**pools[0], "name": "more"})
    await gardener.kubectl("create", "-f", "-", input=draft)
    await found.ready(3)
    await _drift(found)
    before = [await found.shoot(ordinal) for ordinal in range(3)]

    await gardener.kubectl("annotate", "mss", name, GARDEN, f"{names.ROLLOUT}=true")
    first = await found.rolled()
    await _check_drift(found, capsys)
    for ordinal, shoot in enumerate(before):
        now = await found.shoot(ordinal)
        assert now["spec"] == shoot["spec"]
        recorded = now["metadata"]["labels"].get(names.CONTROLLER_REVISION_HASH)
        assert recorded == (None if ordinal == 1 else first["currentRevision"])

    async with found.watched() as seen:
        await _hold_back(found, capsys)
        second = await found.rolled(first["currentRevision"])
    assert updates(seen) == [("2", "yes"), ("1", "yes"), ("0", "yes")]
    assert most_in_flight(seen) == 1
    await _check_rolled_replicas(found)
    assert not {"currentReplicas", "updatedReplicas"} & second.keys()

    code, reported, _ = await found.rollout(capsys, "undo")
    assert (code, "rolled back to revision 1" in reported) == (0, True)
    third = await found.rolled(second["currentRevision"])
    assert third["currentRevision"] == first["currentRevision"]
    for ordinal in range(3):
        assert await found.labels(ordinal) is None

    async with gardener.with_settings({"rollout": {"respectWindow": True}}):
        await _wait_for_the_window(found, capsys)
        await found.annotate(2, f"{names.OPERATION}=maintain")
        await found.rolled(third["currentRevision"])
    # One version was raised above those of the other replicas.
    versions = [(await found.shoot(n))["spec"]["kubernetes"]["version"] for n in range(3)]
    assert versions == ["1.36.0", "1.35.4", "1.35.4"]


async def _check_drift(found: SeedSet, capsys: Any) -> None:
    """Check that the condition and the doctor name the fields of the changed replica."""
    drift = await found.condition(names.DRIFTED)
    assert drift["status"] == "True"
    fields = "Shoot spec.provider.workers[local].maximum, Shoot spec.provider.workers[mine]"
    assert f"{found.name}-1: {fields}" in drift["message"]
    report = await _doctor_report(found, capsys)
    assert f"{found.name}-1" in report
    assert "spec.provider.workers[local].maximum" in report


async def _check_rolled_replicas(found: SeedSet) -> None:
    """Check that replicas have the new templates and keep what users changed."""
    for ordinal, maximum, own in ((0, 2, []), (1, 5, ["mine"]), (2, 2, [])):
        workers = await found.pools(ordinal)
        assert [*workers] == ["local", "more", *own]
        worker = workers["local"]
        assert (worker["labels"], worker["maximum"]) == ({"rolled": "yes"}, maximum)
        assert "labels" not in workers["more"]
        config = (await found.managed_seed(ordinal))["spec"]["gardenlet"]["config"]
        assert (config["logLevel"], config["resources"]["capacity"]["shoots"]) == ("debug", "10")


async def _drift(found: SeedSet) -> None:
    """Change one replica by hand, raise one version as maintenance does, confine one."""
    (pool, *_) = (await found.shoot(1))["spec"]["provider"]["workers"]
    change = [
        {"op": "replace", "path": "/spec/provider/workers/0/maximum", "value": 5},
        {"op": "add", "path": "/spec/provider/workers/-", "value": {**pool, "name": "mine"}},
    ]
    await found.patch(change, f"shoot/{found.name}-1", "json")
    lifted = {"spec": {"kubernetes": {"version": "1.36.0"}}}
    await found.patch(lifted, f"shoot/{found.name}-0")
    await found.patch({"spec": {"maintenance": confined()}}, f"shoot/{found.name}-2")
    await found.ready(3)


async def _doctor_report(found: SeedSet, capsys: Any) -> str:
    """Return what the doctor reports about a set."""
    parser = argparse.ArgumentParser()
    doctor.add_arguments(parser)
    kubeconfig = f"--kubeconfig={found.gardener.plane.kubeconfig}"
    await asyncio.to_thread(doctor.run, parser.parse_args((kubeconfig, "--output=json")))
    reported = json.loads(capsys.readouterr().out)
    return "\n".join(each["message"] for each in reported if found.name in each["subject"])


async def _hold_back(found: SeedSet, capsys: Any) -> None:
    """Change both templates; partition and pause hold replicas back, one after the other.

    The first replica confines changes to its window: it started only because of the operation
    annotation.
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
    await found.until_progressing("PartitionReached")
    assert [await found.labels(ordinal) for ordinal in range(3)] == [None, None, {"rolled": "yes"}]
    code, _, _ = await found.rollout(capsys, "pause")
    assert code == 0
    await found.patch({"spec": {"updateStrategy": partition(0)}})
    await found.until_progressing("Paused")
    assert await found.labels(1) is None
    code, _, _ = await found.rollout(capsys, "resume")
    assert code == 0


async def _wait_for_the_window(found: SeedSet, capsys: Any) -> None:
    """A version cannot be undone, the rest can; a confined Shoot waits and reports until when."""
    version = {"op": "replace", "path": "/spec/shootTemplate/spec/kubernetes/version"}
    label = {"op": "add", "path": POOL_LABELS, "value": {"rolled": "again"}}
    await found.patch([{**version, "value": "1.35.4"}, label], how="json")
    reported = await found.until_progressing("MaintenanceWindow")
    assert f"the Shoot of {found.name}-2 waits for its maintenance window" in reported
    assert re.search(r"which opens at \d{4}-\d\d-\d\dT", reported)
    await eventually(lambda: _has_revisions(found, capsys, 3))
    code, _, reported = await found.rollout(capsys, "undo")
    assert code == 2
    assert "spec.shootTemplate.spec.kubernetes.version" in reported
    assert "--keep-versions" in reported
    code, _, _ = await found.rollout(capsys, "undo", "--keep-versions")
    assert code == 0
    spec = (await found.get())["spec"]["shootTemplate"]["spec"]
    assert spec["kubernetes"]["version"] == "1.35.4"
    assert "labels" not in spec["provider"]["workers"][0]


def partition(ordinal: int) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": ordinal}}


async def _has_revisions(found: SeedSet, capsys: Any, count: int) -> bool:
    _, reported, _ = await found.rollout(capsys, "history")
    return len(reported.splitlines()) == count + 1


async def test_an_autoscaler_takes_a_set_of_gardeners_from_one_to_three_and_back(gardener):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(gardener, parent)
    draft = make_set(name, parent, 1)
    config = draft["spec"]["template"]["spec"]["gardenlet"]["config"]
    config["resources"]["capacity"]["shoots"] = "3"
    await gardener.kubectl("create", "-f", "-", input=draft)
    found = SeedSet(gardener, name)
    await found.ready(1)
    shoots = [make_shoot(schedulerName="espalier") for _ in range(7)]
    for shoot in shoots:
        shoot["spec"]["seedSelector"] = {"matchLabels": {"test": name}}
    await gardener.kubectl("create", "-f", "-", input=shoots)
    await gardener.kubectl("create", "-f", "-", input=make_quick_autoscaler(name))
    reported = await until_able(gardener, name, "PendingReplica")
    assert re.fullmatch(rf"the set waits for {name}-[12]: \w+", reported)
    await found.ready(3)
    names_of = [shoot["metadata"]["name"] for shoot in shoots]
    namespace = shoots[0]["metadata"]["namespace"]

    async def all_placed() -> bool:
        placed = [await gardener.shoot(each) for each in names_of]
        return all(shoot["spec"].get("seedName", "").startswith(name) for shoot in placed)

    await eventually(all_placed)
    await until_able(gardener, name, "ReadyForNewScale")

    here = f"--namespace={namespace}"
    confirmed = "confirmation.gardener.cloud/deletion=true"
    await gardener.kubectl("annotate", "shoot", *names_of, here, confirmed)
    await gardener.kubectl("delete", "shoot", *names_of, here, "--wait=false")
    await found.ready(1)
    assert (await found.get())["spec"]["replicas"] == 1
