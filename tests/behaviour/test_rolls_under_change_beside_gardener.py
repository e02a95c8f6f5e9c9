"""Rollouts of Gardener's sets that fail, change midway, are undone, held back and scaled in."""

from typing import Any

import pytest

from tests.support.garden_cluster import make_set, make_shoot, ready_seed, unique
from tests.support.gardener_sets import (
    GARDEN,
    SeedSet,
    confined,
    make_quick_autoscaler,
    most_in_flight,
    until_able,
    updates,
)
from tests.support.waits import eventually
from webhook.api import names
from webhook.domain.sets import rollout

pytestmark = pytest.mark.timeout(600)

FAILS = f"{names.SIMULATE}=fail"


async def test_a_roll_that_breaks_is_changed_and_undone_one_replica_at_a_time(
    gardener, capsys, monkeypatch
):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(gardener, parent)
    found = SeedSet(gardener, name)
    draft = make_set(name, parent, 2)
    draft["spec"]["shootTemplate"]["spec"]["purpose"] = "evaluation"
    await gardener.kubectl("create", "-f", "-", input=draft)
    await found.ready(2)
    await found.patch({"spec": {"maintenance": confined()}}, f"shoot/{name}-0")
    await found.ready(2)
    collided = await _take_its_name(found)
    await gardener.kubectl("annotate", "mss", name, GARDEN, f"{names.ROLLOUT}=true")
    first = await found.rolled()
    assert (first["currentRevision"], first["collisionCount"]) == (collided, 1)

    await _drop_a_default(found, capsys)
    await _break_and_undo(found, capsys)
    assert (await found.get())["status"]["collisionCount"] == 1
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, reported, _ = await found.rollout(capsys, "status", "--timeout=60")
    assert f"{name}-0" in reported
    assert "not ready" not in reported


async def _take_its_name(found: SeedSet) -> str:
    """Create a foreign revision under the name of the first one; return the next name."""
    data = rollout.revision_data(await found.get())
    taken = {"name": rollout.revision_name(found.name, data), "namespace": "garden"}
    body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": taken}
    await found.gardener.kubectl("create", "-f", "-", input={**body, "data": {}, "revision": 1})
    return rollout.revision_name(found.name, data, 1)


async def _drop_a_default(found: SeedSet, capsys: Any) -> None:
    """A template that Gardener restores is no change; completion is of the current templates."""
    before = await found.shoot(1)
    assert before["spec"]["purpose"] == "evaluation"
    await found.patch([{"op": "remove", "path": "/spec/shootTemplate/spec/purpose"}], how="json")
    code, reported, _ = await found.rollout(capsys, "status", "--timeout=60")
    status = (await found.get())["status"]
    done = f"rollout complete: 2 of 2 replicas are updated, revision {status['updateRevision']}"
    assert (code, reported.splitlines()[-1]) == (0, done)
    after = await found.shoot(1)
    labels = after["metadata"]["labels"]
    assert labels[names.CONTROLLER_REVISION_HASH] == status["updateRevision"]
    assert labels != before["metadata"]["labels"]
    assert (after["spec"], after["metadata"]["generation"]) == (
        before["spec"],
        before["metadata"]["generation"],
    )


async def _break_and_undo(found: SeedSet, capsys: Any) -> None:
    """The failed replica gets every change first; it also confines changes."""
    await found.annotate(0, FAILS)
    async with found.watched() as seen:
        await found.label("one")
        await found.until_progressing("ShootReconcileFailed")
        await found.label("two")
        await eventually(lambda: updates(seen)[2:] == [("0", "two")])
        await found.until_progressing("ShootReconcileFailed")
        await found.annotate(0, f"{names.SIMULATE}-")
        code, _, _ = await found.rollout(capsys, "undo")
        assert code == 0
        code, reported, _ = await found.rollout(capsys, "status", "--timeout=60")
        assert (code, "rollout complete: 2 of 2" in reported) == (0, True)
    assert updates(seen) == [("1", "one"), ("0", "one"), ("0", "two"), ("0", "one")]
    assert most_in_flight(seen) == 1


async def test_unready_shoots_hold_a_roll_and_its_autoscaler_while_gardener_scales_in(
    gardener,
):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(gardener, parent)
    found = SeedSet(gardener, name)
    notes = {names.ROLLOUT: "true", names.MAX_UNREADY_SHOOTS: "0"}
    await gardener.kubectl("create", "-f", "-", input=make_set(name, parent, 3, **notes))
    await found.ready(3)
    first = await found.rolled()
    hosted = make_shoot(seedName=f"{name}-1", annotations={names.SIMULATE: "fail"})
    await gardener.kubectl("create", "-f", "-", input=hosted)
    place = (hosted["metadata"]["name"], f"--namespace={hosted['metadata']['namespace']}")
    failed = "--for=jsonpath={.status.lastOperation.state}=Failed"
    await gardener.kubectl("wait", failed, "--timeout=120s", "shoot", *place)

    await found.label("yes")
    reported = await found.until_progressing("HostedShootsUnready")
    assert f"1 of 1 shoots on {name}-1 are not ready" in reported
    assert [await found.labels(n) for n in range(3)] == [None, None, {"rolled": "yes"}]
    await gardener.kubectl("create", "-f", "-", input=make_quick_autoscaler(name))
    await until_able(gardener, name, "RollingUpdate")
    assert (await found.get())["spec"]["replicas"] == 3
    await gardener.kubectl("delete", "seedautoscaler", name, GARDEN)

    await gardener.kubectl("scale", "mss", name, GARDEN, "--replicas=2")
    await eventually(lambda: _is_gone(found, 0))
    await gardener.kubectl("annotate", "shoot", *place, f"{names.SIMULATE}-")
    await gardener.kubectl("annotate", "shoot", *place, f"{names.OPERATION}=retry")
    await found.rolled(first["currentRevision"])
    assert [await found.labels(n) for n in (1, 2)] == [{"rolled": "yes"}] * 2


async def _is_gone(found: SeedSet, ordinal: int) -> bool:
    listed = await found.gardener.get("shoots", GARDEN, f"--selector=set={found.name}")
    return f"{found.name}-{ordinal}" not in {each["metadata"]["name"] for each in listed["items"]}
