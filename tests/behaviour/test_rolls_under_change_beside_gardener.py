"""Rolls of Gardener's sets that break, change midway, are undone, held back and scaled in."""

from typing import Any

import pytest

from tests.gardening import make_set, make_shoot, ready_seed, unique
from tests.rolled_sets import (
    GARDEN,
    Set,
    confined,
    make_autoscaler,
    most_in_flight,
    until_able,
    updates,
)
from tests.waiting import eventually
from webhook.api import names
from webhook.domain import rollout

pytestmark = pytest.mark.timeout(600)

FAILS = f"{names.SIMULATE}=fail"


async def test_a_roll_that_breaks_is_changed_and_undone_one_replica_at_a_time(
    beside, capsys, monkeypatch
):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(beside, parent)
    found = Set(beside, name)
    draft = make_set(name, parent, 2)
    draft["spec"]["shootTemplate"]["spec"]["purpose"] = "evaluation"
    await beside.kubectl("create", "-f", "-", input=draft)
    await found.ready(2)
    await found.patch({"spec": {"maintenance": confined()}}, f"shoot/{name}-0")
    await found.ready(2)
    collided = await _take_its_name(found)
    await beside.kubectl("annotate", "mss", name, GARDEN, f"{names.ROLLOUT}=true")
    first = await found.rolled()
    assert (first["currentRevision"], first["collisionCount"]) == (collided, 1)

    await _drop_a_default(found, capsys)
    await _break_and_undo(found, capsys)
    assert (await found.get())["status"]["collisionCount"] == 1
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, told, _ = await found.rollout(capsys, "status", "--timeout=60")
    assert f"{name}-0" in told
    assert "not ready" not in told


async def _take_its_name(found: Set) -> str:
    """Make somebody else's revision under the name that the first one would get; give the next."""
    data = rollout.data_of(await found.get())
    taken = {"name": rollout.revision_name(found.name, data), "namespace": "garden"}
    body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": taken}
    await found.beside.kubectl("create", "-f", "-", input={**body, "data": {}, "revision": 1})
    return rollout.revision_name(found.name, data, 1)


async def _drop_a_default(found: Set, capsys: Any) -> None:
    """What Gardener puts back is no change, and its end is told of the present templates only."""
    before = await found.shoot(1)
    assert before["spec"]["purpose"] == "evaluation"
    await found.patch([{"op": "remove", "path": "/spec/shootTemplate/spec/purpose"}], how="json")
    code, told, _ = await found.rollout(capsys, "status", "--timeout=60")
    status = (await found.get())["status"]
    done = f"rollout complete: 2 of 2 replicas are updated, revision {status['updateRevision']}"
    assert (code, told.splitlines()[-1]) == (0, done)
    after = await found.shoot(1)
    labels = after["metadata"]["labels"]
    assert labels[names.CONTROLLER_REVISION_HASH] == status["updateRevision"]
    assert labels != before["metadata"]["labels"]
    assert (after["spec"], after["metadata"]["generation"]) == (
        before["spec"],
        before["metadata"]["generation"],
    )


async def _break_and_undo(found: Set, capsys: Any) -> None:
    """The replica that was given up gets every change first; it confines changes besides."""
    await found.annotate(0, FAILS)
    async with found.watched() as seen:
        await found.label("one")
        await found.says("ShootReconcileFailed")
        await found.label("two")
        await eventually(lambda: updates(seen)[2:] == [("0", "two")])
        await found.says("ShootReconcileFailed")
        await found.annotate(0, f"{names.SIMULATE}-")
        code, _, _ = await found.rollout(capsys, "undo")
        assert code == 0
        code, told, _ = await found.rollout(capsys, "status", "--timeout=60")
        assert (code, "rollout complete: 2 of 2" in told) == (0, True)
    assert updates(seen) == [("1", "one"), ("0", "one"), ("0", "two"), ("0", "one")]
    assert most_in_flight(seen) == 1


async def test_unready_shoots_hold_a_roll_and_its_autoscaler_while_gardener_scales_in(beside):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(beside, parent)
    found = Set(beside, name)
    notes = {names.ROLLOUT: "true", names.MAX_UNREADY_SHOOTS: "0"}
    await beside.kubectl("create", "-f", "-", input=make_set(name, parent, 3, **notes))
    await found.ready(3)
    first = await found.rolled()
    guest = make_shoot(seedName=f"{name}-1", annotations={names.SIMULATE: "fail"})
    await beside.kubectl("create", "-f", "-", input=guest)
    place = (guest["metadata"]["name"], f"--namespace={guest['metadata']['namespace']}")
    failed = "--for=jsonpath={.status.lastOperation.state}=Failed"
    await beside.kubectl("wait", failed, "--timeout=120s", "shoot", *place)

    await found.label("yes")
    told = await found.says("HostedShootsUnready")
    assert f"1 of 1 shoots on {name}-1 are not ready" in told
    assert [await found.labels(n) for n in range(3)] == [None, None, {"rolled": "yes"}]
    await beside.kubectl("create", "-f", "-", input=make_autoscaler(name))
    await until_able(beside, name, "RollingUpdate")
    assert (await found.get())["spec"]["replicas"] == 3
    await beside.kubectl("delete", "seedautoscaler", name, GARDEN)

    await beside.kubectl("scale", "mss", name, GARDEN, "--replicas=2")
    await eventually(lambda: _is_gone(found, 0))
    await beside.kubectl("annotate", "shoot", *place, f"{names.SIMULATE}-")
    await beside.kubectl("annotate", "shoot", *place, f"{names.OPERATION}=retry")
    await found.rolled(first["currentRevision"])
    assert [await found.labels(n) for n in (1, 2)] == [{"rolled": "yes"}] * 2


async def _is_gone(found: Set, ordinal: int) -> bool:
    listed = await found.beside.get("shoots", GARDEN, f"--selector=set={found.name}")
    return f"{found.name}-{ordinal}" not in {each["metadata"]["name"] for each in listed["items"]}
