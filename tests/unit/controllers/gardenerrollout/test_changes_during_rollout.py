"""Changes during a rollout: new and undone templates, pauses, edits, collisions."""

import copy
from typing import Any

import pytest

from tests.support.fake_gardener import FakeGardener
from tests.support.set_objects import make_hosted_shoot
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.domain.sets import rollout
from webhook.domain.shoots import health
from webhook.kube.meta import Draft

PAUSED = {"metadata": {"annotations": {names.PAUSED: "true"}}}


def in_flight(garden: FakeGardener) -> list[str]:
    """Return the replicas whose Shoots are not reconciled."""
    shoots = [garden.get(Shoot, f"leaf-{ordinal}") for ordinal in range(3)]
    return [shoot.name for shoot in shoots if not health.is_reconciled(shoot)]


async def until_second(garden: FakeGardener) -> list[list[str]]:
    """Roll out until the second replica is being updated; record what is in flight from then on."""
    await garden.settle()
    seen: list[list[str]] = []
    garden.after_pass = lambda: seen.append(in_flight(garden))
    await garden.template(purpose="production")
    await garden.run(60, lambda: garden.updates() == ["leaf-2", "leaf-1"])
    return seen


@pytest.mark.parametrize(
    ("purpose", "updates"),
    [
        pytest.param("testing", ["leaf-1", "leaf-2", "leaf-0"], id="another change"),
        pytest.param(None, ["leaf-1", "leaf-2"], id="an undo"),
    ],
)
async def test_a_replica_in_flight_goes_first(purpose: str | None, updates: list[str]) -> None:
    garden = FakeGardener()
    seen = await until_second(garden)
    await garden.template(purpose=purpose)
    await garden.settle(60)
    assert garden.updates()[2:] == updates
    assert garden.purposes() == [purpose or ""] * 3
    assert garden.reason == "Complete"
    assert max(map(len, seen)) == 1


async def test_an_undo_repairs_the_broken_replica_only() -> None:
    garden = FakeGardener()
    await until_second(garden)
    await garden.settle()
    before = [garden.get(Shoot, f"leaf-{n}").metadata.generation for n in range(3)]
    await garden.break_template({"purpose": "testing"})
    await garden.until("ShootReconcileFailed")
    assert garden.purposes() == ["production", "production", "testing"]
    await garden.repair_template({"purpose": "production"})
    await garden.settle()
    assert (garden.purposes(), garden.reason) == (["production"] * 3, "Complete")
    now = [garden.get(Shoot, f"leaf-{n}").metadata.generation for n in range(3)]
    assert now == [before[0], before[1], before[2] + 2]


async def test_shoots_that_a_change_made_unready_do_not_keep_it_from_being_undone() -> None:
    garden = FakeGardener(notes={names.MAX_UNREADY_SHOOTS: "0"})
    garden.put(make_hosted_shoot("hosted", "leaf-2"))
    await garden.settle()
    await garden.template(purpose="production")
    await garden.run(10, lambda: garden.updates() == ["leaf-2"])
    fails = {"metadata": {"annotations": {names.SIMULATE: "fail"}}}
    await garden.change(Shoot, "hosted", fails, namespace="garden-dev")
    await garden.until("HostedShootsUnready")
    await garden.template(purpose=None)
    await garden.run(20, lambda: garden.updates() == ["leaf-2", "leaf-2"])
    assert garden.purposes() == ["", "", ""]


async def test_an_undo_is_complete_only_when_its_last_replica_is() -> None:
    garden = FakeGardener()
    await garden.settle()
    await garden.break_template({"purpose": "production"})
    await garden.until("ShootReconcileFailed")
    await garden.repair_template({"purpose": None})
    reasons: list[str] = []
    garden.after_pass = lambda: reasons.append(garden.reason)
    await garden.run(30, lambda: garden.reason == "Complete")
    first = reasons.index("Complete")
    assert "ShootReconciling" in reasons[:first]
    assert garden.status["currentRevision"] == garden.status["updateRevision"]
    assert [reason for reason, _ in garden.events()].count("RolledOut") == 1
    assert health.is_reconciled(garden.get(Shoot, "leaf-2"))


async def test_a_rollout_is_reported_once_before_its_first_write() -> None:
    garden = FakeGardener()
    await garden.settle()
    begun = len(garden.api.calls)
    reported: list[tuple[str, str]] = []

    def note() -> None:
        if garden.actor == "managedseedset.rollout":
            reported.append((garden.reason, garden.status["updateRevision"]))

    garden.api.before_write = note
    await garden.template(purpose="production")
    await garden.run(10, lambda: garden.updates() == ["leaf-2"])
    mine = [
        (verb, kind)
        for (verb, kind, name) in garden.api.calls[begun:]
        if kind != "Seed" and name != "garden/leaf-1"
    ]
    begins = mine.index(("patch status", "ManagedSeedSet"))
    assert ("patch", "Shoot") not in mine[:begins]
    update = garden.status["updateRevision"]
    assert reported[-1] == ("Updating", update)


async def test_a_replica_in_flight_is_finished_during_a_pause() -> None:
    garden = FakeGardener()
    await until_second(garden)
    await garden.change(ManagedSeedSet, "leaf", PAUSED)
    await garden.turn()
    assert garden.reason == "ShootReconciling"
    await garden.settle()
    assert (garden.reason, garden.purposes()) == ("Paused", ["", "production", "production"])


async def test_a_pause_during_the_last_replica_is_not_complete_before_it_is() -> None:
    garden = FakeGardener(1)
    await garden.settle()
    await garden.template(purpose="production")
    await garden.run(10, lambda: garden.updates() == ["leaf-0"])
    await garden.change(ManagedSeedSet, "leaf", PAUSED)
    reasons: list[str] = []
    garden.after_pass = lambda: reasons.append(garden.reason)
    await garden.settle()
    assert reasons[-1] == "Complete"
    assert "ShootReconciling" in reasons[: reasons.index("Complete")]


async def test_concurrent_writes_between_a_plan_and_its_patch_survive() -> None:
    garden = FakeGardener(1)
    await garden.settle()
    edited: list[str] = []

    def edit() -> None:
        last = garden.api.calls[-1][:2]
        rolls = garden.actor == "managedseedset.rollout"
        if rolls and not edited and last == ("patch status", "ManagedSeedSet"):
            body = copy.deepcopy(garden.raw("Shoot", "leaf-0"))
            body["spec"]["region"] = "eu-central-1"
            edited.append(body["metadata"]["resourceVersion"])
            garden.put(body)

    await garden.template(purpose="production")
    garden.api.before_write = edit
    await garden.settle()
    spec = garden.raw("Shoot", "leaf-0")["spec"]
    assert (len(edited), garden.reason) == (1, "Complete")
    assert (spec["region"], spec["purpose"]) == ("eu-central-1", "production")


async def test_the_history_is_limited() -> None:
    garden = FakeGardener(1)
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"revisionHistoryLimit": 1}})
    for purpose in ("development", "testing", "evaluation", "production"):
        await garden.template(purpose=purpose)
        await garden.settle()
    found = garden.api.memory.store(ControllerRevision).list()
    kept = [each.data["spec"]["shootTemplate"]["spec"]["purpose"] for each in found]
    assert sorted(kept) == ["evaluation", "production"]


def foreign_revision(garden: FakeGardener, data: Draft) -> None:
    """Add a revision of another owner with the name that ours would have."""
    name = rollout.revision_name("leaf", data)
    other: Draft = {"spec": {"template": {}}}
    body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": other, "revision": 1}
    garden.put({**body, "metadata": {"name": name, "namespace": "garden"}})


async def test_the_collision_count_never_decreases() -> None:
    garden = FakeGardener(1)
    before = rollout.revision_data(garden.raw("ManagedSeedSet", "leaf"))
    foreign_revision(garden, before)
    await garden.settle()
    assert garden.status["collisionCount"] == 1
    assert garden.status["currentRevision"] == rollout.revision_name("leaf", before, 1)
    more = {"status": {"collisionCount": 7}}
    await garden.change(ManagedSeedSet, "leaf", more, subresource="status")
    await garden.template(purpose="production")
    await garden.settle()
    assert (garden.status["collisionCount"], garden.reason) == (7, "Complete")


@pytest.mark.parametrize(
    ("late", "label"),
    [
        pytest.param({"purpose": "production"}, 2, id="a revision younger than the replica"),
        pytest.param({}, 1, id="the oldest of those, if it fits several"),
        pytest.param({"purpose": "testing"}, None, id="none"),
    ],
)
async def test_an_unlabelled_replica_gets_the_revision_that_it_matches(
    late: Draft, label: int | None
) -> None:
    garden = FakeGardener(1, notes=PAUSED["metadata"]["annotations"])
    if late:
        await garden.change(Shoot, "leaf-0", {"spec": {"region": "eu-central-1"}})
    garden.clock.pass_time(60)
    await garden.settle()
    await garden.template(purpose="production", region="eu-central-1")
    await garden.change(Shoot, "leaf-0", {"spec": late})
    await garden.settle()
    found = garden.api.memory.store(ControllerRevision).list()
    named = next((each.name for each in found if each.revision == label), None)
    labels = garden.raw("Shoot", "leaf-0")["metadata"]["labels"]
    assert labels.get(names.CONTROLLER_REVISION_HASH) == named


async def test_a_removed_pool_stays_removed_and_an_added_pool_is_reported() -> None:
    garden = FakeGardener(2)
    await garden.settle()
    (pool,) = garden.raw("Shoot", "leaf-1")["spec"]["provider"]["workers"]
    two: dict[str, Any] = {"provider": {"workers": [pool, {**pool, "name": "more"}]}}
    await garden.template(**two)
    await garden.settle()
    await garden.change(Shoot, "leaf-1", {"spec": {"provider": {"workers": [pool]}}})
    extra = [*two["provider"]["workers"], {**pool, "name": "extra"}]
    await garden.change(Shoot, "leaf-0", {"spec": {"provider": {"workers": extra}}})
    await garden.template(purpose="production")
    await garden.settle()
    pools = [
        [each["name"] for each in garden.raw("Shoot", name)["spec"]["provider"]["workers"]]
        for name in ("leaf-0", "leaf-1")
    ]
    assert pools == [["pool", "more", "extra"], ["pool"]]
    reported = garden.condition(names.DRIFTED)["message"]
    assert "leaf-0: Shoot spec.provider.workers[extra]" in reported
    assert "leaf-1: Shoot spec.provider.workers[more]" in reported
    assert kind_of_model(ManagedSeed).name not in reported
