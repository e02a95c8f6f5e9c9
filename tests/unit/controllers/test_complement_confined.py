"""When a Shoot has begun and finished with a change: windows, operations, generations."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.admission import read
from tests.unit.controllers.gardened import CONFINED, Gardened
from webhook.api import names
from webhook.api.meta import Draft
from webhook.api.shoots import Shoot
from webhook.controllers.complement import rolling
from webhook.domain.options import Options, RolloutOptions
from webhook.domain.replicas import Replica
from webhook.domain.rollout import Settings, Wait

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MAINTENANCE = {"spec": {"maintenance": CONFINED}}


def options(*, respects: bool) -> Options:
    return Options(beside_gardener=True, rollout=RolloutOptions(respect_window=respects))


async def maintain(garden: Gardened, name: str) -> None:
    """Do what Gardener does in the window of a Shoot."""
    shoot = garden.get(Shoot, name)
    operation = shoot.status.last_operation
    asked: str | None = names.OPERATION_RECONCILE
    if operation is not None and operation.state == "Failed":
        needs = names.NEEDS_RETRY in shoot.metadata.annotations
        asked = names.OPERATION_RETRY if needs else None
    change = {"annotations": {names.OPERATION: asked, names.NEEDS_RETRY: None}}
    await garden.change(Shoot, name, {"metadata": change})


@pytest.mark.parametrize(
    ("respects", "operation"),
    [
        pytest.param(False, "reconcile", id="asks for an operation at once"),
        pytest.param(True, None, id="waits for the window"),
    ],
)
async def test_shoots_that_confine_changes(respects: bool, operation: str | None) -> None:
    garden = Gardened(1, options(respects=respects))
    await garden.change(Shoot, "leaf-0", MAINTENANCE)
    await garden.settle()
    garden.api.operations.clear()
    await garden.template(purpose="production")
    await garden.settle(60)
    assert garden.api.operations == [operation]
    if respects:
        told = garden.condition(names.PROGRESSING)
        assert told["reason"] == "MaintenanceWindow"
        assert "which opens at" in told["message"]
        await maintain(garden, "leaf-0")
        await garden.settle()
    assert garden.reason == "Complete"


@pytest.mark.parametrize(
    ("respects", "operation"),
    [
        pytest.param(False, "retry", id="is begun again at once"),
        pytest.param(True, None, id="is begun again in its window"),
    ],
)
async def test_an_undo_mends_a_confined_shoot_that_was_given_up(
    respects: bool, operation: str | None
) -> None:
    garden = Gardened(3, options(respects=respects))
    await garden.change(Shoot, "leaf-2", MAINTENANCE)
    await garden.settle()
    await garden.break_it({"purpose": "production"})
    if respects:
        await garden.until("MaintenanceWindow")
        await maintain(garden, "leaf-2")
    await garden.until("ShootReconcileFailed")
    garden.api.operations.clear()
    await garden.mend_it({"purpose": None})
    await garden.run(10, lambda: bool(garden.api.operations))
    assert garden.api.operations == [operation]
    if respects:
        await garden.settle()
        told = garden.condition(names.PROGRESSING)
        assert (told["status"], told["reason"]) == ("False", "ShootReconcileFailed")
        assert "failed to reconcile and waits for its maintenance window" in told["message"]
        await maintain(garden, "leaf-2")
    await garden.settle()
    assert garden.reason == "Complete"
    assert garden.purposes() == ["", "", ""]
    assert garden.updates() == ["leaf-2", "leaf-2"]


async def test_a_shoot_that_was_given_up_and_confines_nothing_needs_no_retry() -> None:
    garden = Gardened(1)
    await garden.settle()
    await garden.break_it({"purpose": "production"})
    await garden.until("ShootReconcileFailed")
    garden.api.operations.clear()
    await garden.mend_it({"purpose": None})
    await garden.settle()
    assert (garden.api.operations, garden.reason) == ([None], "Complete")


@pytest.mark.parametrize(
    ("before", "after", "operation"),
    [
        pytest.param({}, {"maintenance": CONFINED}, "reconcile", id="switches it on"),
        pytest.param(
            {"maintenance": CONFINED},
            {"maintenance": {"confineSpecUpdateRollout": False}},
            None,
            id="switches it off",
        ),
    ],
)
async def test_a_change_that_confines_is_judged_by_what_it_makes(
    before: Draft, after: Draft, operation: str | None
) -> None:
    garden = Gardened(1)
    await garden.template(**before)
    await garden.change(Shoot, "leaf-0", {"spec": before})
    await garden.settle()
    garden.api.operations.clear()
    await garden.template(**after)
    await garden.settle()
    assert (garden.api.operations, garden.reason) == ([operation], "Complete")


@pytest.mark.parametrize(
    ("present", "operation"),
    [
        pytest.param("rotate-ca-start", "rotate-ca-start;reconcile", id="goes on beside ours"),
        pytest.param("rotate-ca-start; reconcile", "rotate-ca-start;reconcile", id="ours is there"),
        pytest.param("retry", "reconcile", id="a retry of nothing is no use"),
        pytest.param("maintain", "maintain", id="one that stands alone begins with ours, too"),
    ],
)
async def test_an_operation_that_somebody_asked_for_stays(present: str, operation: str) -> None:
    garden = Gardened(1)
    await garden.change(Shoot, "leaf-0", MAINTENANCE)
    await garden.settle()
    garden.api.operations.clear()
    # As the plan finds it: an API server that has taken it up has taken it away, too.
    body = garden.raw("Shoot", "leaf-0")
    body["metadata"]["annotations"] = {names.OPERATION: present}
    garden.put(body)
    await garden.template(purpose="production")
    await garden.run(10, lambda: bool(garden.api.operations))
    assert garden.api.operations == [operation]


async def test_a_field_that_gardener_puts_back_stops_nothing() -> None:
    garden = Gardened()
    garden.api.defaults = {"purpose": "evaluation"}
    for ordinal in range(3):
        await garden.change(Shoot, f"leaf-{ordinal}", {"spec": {"purpose": "evaluation"}})
    await garden.template(purpose="evaluation")
    await garden.settle()
    generations = [garden.get(Shoot, f"leaf-{n}").metadata.generation for n in range(3)]
    await garden.template(purpose=None)
    await garden.settle()
    assert garden.reason == "Complete"
    assert garden.updates() == ["leaf-2", "leaf-1", "leaf-0"]
    assert garden.purposes() == ["evaluation"] * 3
    now = [garden.get(Shoot, f"leaf-{n}").metadata.generation for n in range(3)]
    assert now == generations


@pytest.mark.parametrize(
    ("confined", "generation", "observed", "state", "reason"),
    [
        pytest.param(True, 3, 3, "Succeeded", "MaintenanceWindow", id="it waits for its window"),
        pytest.param(True, 3, 3, "Failed", "ShootReconcileFailed", id="it was given up before"),
        pytest.param(False, 3, 3, "Succeeded", "SeedNotReady", id="nothing had to change"),
        pytest.param(False, 3, 3, "Processing", "ShootReconciling", id="nor had it, but it works"),
        pytest.param(False, 4, 3, "Succeeded", "ShootReconciling", id="an operation from before"),
        pytest.param(True, 4, 3, "Succeeded", "ShootReconciling", id="confined, and from before"),
        pytest.param(False, 4, 3, "Processing", "ShootReconciling", id="one that goes on since"),
        pytest.param(False, 4, 3, "Failed", "ShootReconciling", id="one that failed before"),
        pytest.param(False, 4, 4, "Processing", "ShootReconciling", id="one that has just begun"),
        pytest.param(False, 4, 4, "Failed", "ShootReconcileFailed", id="one that failed since"),
        pytest.param(False, 4, 4, "Succeeded", "SeedNotReady", id="one that began afterwards"),
        pytest.param(False, 5, 4, "Succeeded", "ShootReconciling", id="another change since"),
    ],
)
def test_only_an_operation_that_began_after_our_write_counts(
    confined: bool, generation: int, observed: int, state: str, reason: str
) -> None:
    maintenance: dict[str, Any] = {"maintenance": CONFINED} if confined else {}
    shoot = {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {
            "name": "leaf-0",
            "generation": generation,
            "annotations": {names.ROLLED_GENERATION: "4"},
        },
        "spec": maintenance,
        "status": {
            "observedGeneration": observed,
            "lastOperation": {"type": "Reconcile", "state": state},
        },
    }
    found = read(shoot)
    assert isinstance(found, Shoot)
    replica = Replica("leaf-0", 0, found)
    waits = rolling.trouble_of(replica, Settings(), NOON)
    assert isinstance(waits, Wait)
    assert waits.reason == reason
    assert not rolling.is_done(replica)
