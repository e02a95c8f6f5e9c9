"""When a Shoot has started and finished a change: windows, operations, generations."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.admission import read
from tests.support.fake_gardener import CONFINED, FakeGardener
from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.controllers.gardenerrollout import rolling
from webhook.domain.options import Options, RolloutOptions
from webhook.domain.sets.replicas import Replica
from webhook.domain.sets.rollout import RolloutSettings, WaitForReplica
from webhook.kube.meta import Draft

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MAINTENANCE = {"spec": {"maintenance": CONFINED}}


def options(*, respects: bool) -> Options:
    return Options(beside_gardener=True, rollout=RolloutOptions(respect_window=respects))


async def maintain(garden: FakeGardener, name: str) -> None:
    """Reconcile a Shoot as Gardener does in its maintenance window."""
    shoot = garden.get(Shoot, name)
    operation = shoot.status.last_operation
    requested: str | None = names.OPERATION_RECONCILE
    if operation is not None and operation.state == "Failed":
        needs = names.NEEDS_RETRY in shoot.metadata.annotations
        requested = names.OPERATION_RETRY if needs else None
    change = {"annotations": {names.OPERATION: requested, names.NEEDS_RETRY: None}}
    await garden.change(Shoot, name, {"metadata": change})


@pytest.mark.parametrize(
    ("respects", "operation"),
    [
        pytest.param(False, "reconcile", id="requests an operation at once"),
        pytest.param(True, None, id="waits for the window"),
    ],
)
async def test_shoots_that_confine_changes(respects: bool, operation: str | None) -> None:
    garden = FakeGardener(1, options(respects=respects))
    await garden.change(Shoot, "leaf-0", MAINTENANCE)
    await garden.settle()
    garden.server.operations.clear()
    await garden.template(purpose="production")
    await garden.settle(60)
    assert garden.server.operations == [operation]
    if respects:
        condition = garden.condition(names.PROGRESSING)
        assert condition["reason"] == "MaintenanceWindow"
        assert "which opens at" in condition["message"]
        await maintain(garden, "leaf-0")
        await garden.settle()
    assert garden.reason == "Complete"


@pytest.mark.parametrize(
    ("respects", "operation"),
    [
        pytest.param(False, "retry", id="retried at once"),
        pytest.param(True, None, id="retried in its window"),
    ],
)
async def test_an_undo_repairs_a_confined_shoot_that_failed(
    respects: bool, operation: str | None
) -> None:
    garden = FakeGardener(3, options(respects=respects))
    await garden.change(Shoot, "leaf-2", MAINTENANCE)
    await garden.settle()
    await garden.break_template({"purpose": "production"})
    if respects:
        await garden.until("MaintenanceWindow")
        await maintain(garden, "leaf-2")
    await garden.until("ShootReconcileFailed")
    garden.server.operations.clear()
    await garden.repair_template({"purpose": None})
    await garden.run(10, lambda: bool(garden.server.operations))
    assert garden.server.operations == [operation]
    if respects:
        await garden.settle()
        condition = garden.condition(names.PROGRESSING)
        assert (condition["status"], condition["reason"]) == ("False", "ShootReconcileFailed")
        assert "failed to reconcile and waits for its maintenance window" in condition["message"]
        await maintain(garden, "leaf-2")
    await garden.settle()
    assert garden.reason == "Complete"
    assert garden.purposes() == ["", "", ""]
    assert garden.updates() == ["leaf-2", "leaf-2"]


async def test_a_failed_shoot_that_confines_nothing_needs_no_retry() -> None:
    garden = FakeGardener(1)
    await garden.settle()
    await garden.break_template({"purpose": "production"})
    await garden.until("ShootReconcileFailed")
    garden.server.operations.clear()
    await garden.repair_template({"purpose": None})
    await garden.settle()
    assert (garden.server.operations, garden.reason) == ([None], "Complete")


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
async def test_a_change_of_confinement_itself_counts(
    before: Draft, after: Draft, operation: str | None
) -> None:
    garden = FakeGardener(1)
    await garden.template(**before)
    await garden.change(Shoot, "leaf-0", {"spec": before})
    await garden.settle()
    garden.server.operations.clear()
    await garden.template(**after)
    await garden.settle()
    assert (garden.server.operations, garden.reason) == ([operation], "Complete")


@pytest.mark.parametrize(
    ("present", "operation"),
    [
        pytest.param("rotate-ca-start", "rotate-ca-start;reconcile", id="kept beside ours"),
        pytest.param(
            "rotate-ca-start; reconcile", "rotate-ca-start;reconcile", id="ours is present"
        ),
        pytest.param("retry", "reconcile", id="a retry is replaced"),
        pytest.param("maintain", "maintain", id="an exclusive operation is kept"),
    ],
)
async def test_a_requested_operation_stays(present: str, operation: str) -> None:
    garden = FakeGardener(1)
    await garden.change(Shoot, "leaf-0", MAINTENANCE)
    await garden.settle()
    garden.server.operations.clear()
    # As the plan finds it: an API server that has taken it up has taken it away, too.
    body = garden.raw("Shoot", "leaf-0")
    body["metadata"]["annotations"] = {names.OPERATION: present}
    garden.put(body)
    await garden.template(purpose="production")
    await garden.run(10, lambda: bool(garden.server.operations))
    assert garden.server.operations == [operation]


async def test_a_default_that_gardener_restores_does_not_block() -> None:
    garden = FakeGardener()
    garden.server.defaults = {"purpose": "evaluation"}
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
        pytest.param(True, 3, 3, "Succeeded", "MaintenanceWindow", id="waits for its window"),
        pytest.param(True, 3, 3, "Failed", "ShootReconcileFailed", id="failed before"),
        pytest.param(False, 3, 3, "Succeeded", "SeedNotReady", id="no change"),
        pytest.param(
            False, 3, 3, "Processing", "ShootReconciling", id="no change, but reconciling"
        ),
        pytest.param(False, 4, 3, "Succeeded", "ShootReconciling", id="an earlier operation"),
        pytest.param(
            True, 4, 3, "Succeeded", "ShootReconciling", id="confined, an earlier operation"
        ),
        pytest.param(
            False, 4, 3, "Processing", "ShootReconciling", id="an earlier operation in progress"
        ),
        pytest.param(False, 4, 3, "Failed", "ShootReconciling", id="an earlier operation failed"),
        pytest.param(False, 4, 4, "Processing", "ShootReconciling", id="started"),
        pytest.param(False, 4, 4, "Failed", "ShootReconcileFailed", id="failed"),
        pytest.param(False, 4, 4, "Succeeded", "SeedNotReady", id="succeeded"),
        pytest.param(False, 5, 4, "Succeeded", "ShootReconciling", id="another change"),
    ],
)
def test_only_an_operation_that_started_after_our_write_counts(
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
    waits = rolling.update_blocker(replica, RolloutSettings(), NOON)
    assert isinstance(waits, WaitForReplica)
    assert waits.reason == reason
    assert not rolling.is_done(replica)
