"""The local provider plays gardenlets: step by step, and never over what others wrote."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from webhook.api import names
from webhook.api.core import Lease
from webhook.api.meta import Object, ObjectKey
from webhook.api.patches import apply, merge
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.api.timestamps import format_micro_time, format_time
from webhook.cli.dev.gardenlet import DARK, FAIL, MARK, PACE, plan_seed, plan_shoot
from webhook.runtime.actions import Create, Patch, Plan
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
READY = {"status": {"conditions": [{"type": "GardenletReady", "status": "True", "message": MARK}]}}


def _seed(**fields: Any) -> dict[str, Any]:
    metadata = {"name": "one", "uid": "s", "generation": 1, **fields.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"provider": {"zones": ["a"]}}, **fields}


def _shoot(seed: str = "one", **fields: Any) -> dict[str, Any]:
    metadata = {
        "name": "crazy",
        "namespace": "garden-dev",
        "uid": "u",
        "generation": 1,
        "finalizers": [names.GARDENER_FINALIZER],
        **fields.pop("metadata", {}),
    }
    return {"metadata": metadata, "spec": {"seedName": seed} if seed else {}, **fields}


def _up(seed: str = "one", **status: Any) -> dict[str, Any]:
    operation = {"type": "Create", "state": "Succeeded", "description": f"healthy, {MARK}"}
    return {"seedName": seed, "observedGeneration": 1, "lastOperation": operation, **status}


def _snapshot(*objects: Object, at: datetime = NOW) -> Snapshot:
    return Snapshot.of(objects, taken_at=at)


def _plan(shoot: dict[str, Any], seed: dict[str, Any] | None = None, at: datetime = NOW) -> Plan:
    known = [msgspec.convert(seed or _seed(), Seed)]
    return plan_shoot(msgspec.convert(shoot, Shoot), _snapshot(*known, at=at))


def _apply(shoot: dict[str, Any], plan: Plan) -> dict[str, Any]:
    for action in plan.actions:
        assert isinstance(action, Patch)
        if isinstance(action.change, list):
            shoot = apply(shoot, action.change)
        else:
            assert isinstance(action.change, dict)
            shoot = merge(shoot, action.change)
    return shoot


def test_a_shoot_on_a_seed_comes_up_in_two_steps() -> None:
    shoot = _apply(_shoot(), _plan(_shoot()))
    assert shoot["status"]["lastOperation"]["state"] == "Processing"
    assert shoot["metadata"]["labels"][names.SHOOT_STATUS] == "progressing"
    assert _plan(shoot, at=NOW + PACE / 2) == Plan(requeue_after=PACE.total_seconds() / 2)
    shoot = _apply(shoot, _plan(shoot, at=NOW + PACE))
    assert shoot["status"]["lastOperation"]["state"] == "Succeeded"
    assert shoot["status"]["seedName"] == "one"
    assert shoot["status"]["observedGeneration"] == 1
    assert {each["status"] for each in shoot["status"]["conditions"]} == {"True"}
    assert shoot["metadata"]["labels"][names.SHOOT_STATUS] == "healthy"
    assert _plan(shoot, at=NOW + 2 * PACE).actions == ()


def test_a_shoot_gets_the_finalizer_first() -> None:
    bare = _shoot(metadata={"finalizers": []})
    shoot = _apply(bare, _plan(bare))
    assert shoot["metadata"]["finalizers"] == [names.GARDENER_FINALIZER]
    assert "status" not in shoot


@pytest.mark.parametrize(
    ("shoot", "operation"),
    [
        pytest.param(_shoot(status=_up("other")), "Migrate", id="a move"),
        pytest.param(
            _shoot(metadata={"generation": 2}, status=_up()), "Reconcile", id="a changed spec"
        ),
        pytest.param(
            _shoot(status={"lastOperation": {"type": "Create", "state": "Pending"}}),
            "Create",
            id="placed after having waited",
        ),
    ],
)
def test_what_starts_a_new_operation(shoot: dict[str, Any], operation: str) -> None:
    after = _apply(shoot, _plan(shoot))
    assert after["status"]["lastOperation"]["type"] == operation
    assert after["status"]["lastOperation"]["state"] == "Processing"


def test_a_moved_shoot_reports_its_new_seed_only_when_it_is_there() -> None:
    shoot = _apply(_shoot(status=_up("other")), _plan(_shoot(status=_up("other"))))
    assert shoot["status"]["seedName"] == "other"
    shoot = _apply(shoot, _plan(shoot, at=NOW + PACE))
    assert shoot["status"]["seedName"] == "one"


@pytest.mark.parametrize(
    ("shoot", "seed"),
    [
        pytest.param(_shoot(seed=""), None, id="no seed yet"),
        pytest.param(_shoot(), _seed(metadata={"annotations": {names.SIMULATE: DARK}}), id="dark"),
        pytest.param(_shoot(seed="gone"), None, id="a seed that is not there"),
        pytest.param(
            _shoot(
                status=_up(
                    lastOperation={"type": "Reconcile", "state": "Failed", "description": "broken"},
                    conditions=[
                        {"type": name, "status": "False", "message": "by hand"}
                        for name in (
                            "APIServerAvailable",
                            "ControlPlaneHealthy",
                            "ObservabilityComponentsHealthy",
                            "EveryNodeReady",
                            "SystemComponentsHealthy",
                        )
                    ],
                )
            ),
            None,
            id="a status that somebody else wrote",
        ),
    ],
)
def test_what_is_left_alone(shoot: dict[str, Any], seed: dict[str, Any] | None) -> None:
    assert _plan(shoot, seed).actions == ()


def test_conditions_of_other_types_survive_an_operation() -> None:
    gate = {"type": "BackupInstalled", "status": "True", "reason": "Ours", "message": "by hand"}
    shoot = _shoot(metadata={"generation": 2}, status=_up(conditions=[gate]))
    shoot = _apply(shoot, _plan(shoot))
    shoot = _apply(shoot, _plan(shoot, at=NOW + PACE))
    assert shoot["status"]["conditions"][0] == gate
    assert len(shoot["status"]["conditions"]) == 6


def test_a_condition_that_somebody_else_wrote_survives_an_operation() -> None:
    theirs = {"type": "APIServerAvailable", "status": "False", "reason": "R", "message": "by hand"}
    shoot = _shoot(metadata={"generation": 2}, status=_up(conditions=[theirs]))
    shoot = _apply(shoot, _plan(shoot))
    shoot = _apply(shoot, _plan(shoot, at=NOW + PACE))
    assert shoot["status"]["conditions"][0] == theirs
    assert {each["status"] for each in shoot["status"]["conditions"][1:]} == {"True"}


def test_a_health_that_somebody_else_reports_stays() -> None:
    shoot = _apply(_shoot(), _plan(_shoot()))
    shoot = _apply(shoot, _plan(shoot, at=NOW + PACE))
    shoot["status"]["conditions"][0]["status"] = "False"
    shoot["metadata"]["labels"][names.SHOOT_STATUS] = "unhealthy"
    assert _plan(shoot, at=NOW + 2 * PACE).actions == ()


def test_a_shoot_that_is_told_to_fail_does() -> None:
    shoot = _shoot(metadata={"annotations": {names.SIMULATE: FAIL}})
    shoot = _apply(shoot, _plan(shoot))
    shoot = _apply(shoot, _plan(shoot, at=NOW + PACE))
    assert shoot["status"]["lastOperation"]["state"] == "Failed"
    assert shoot["metadata"]["labels"][names.SHOOT_STATUS] == "unhealthy"


@pytest.mark.parametrize(
    ("tolerance", "word"),
    [
        pytest.param("node", "unhealthy", id="a single-zone control plane goes down"),
        pytest.param("zone", "healthy", id="a multi-zone one stays up"),
    ],
)
def test_a_failed_zone(tolerance: str, word: str) -> None:
    shoot = _shoot(status=_up())
    shoot["spec"]["controlPlane"] = {"highAvailability": {"failureTolerance": {"type": tolerance}}}
    seed = _seed(metadata={"annotations": {names.SIMULATE: "zone=a"}})
    shoot["metadata"]["labels"] = {names.SHOOT_STATUS: "healthy"}
    shoot = _apply(shoot, _plan(shoot, seed))
    assert shoot["metadata"]["labels"][names.SHOOT_STATUS] == word


def test_a_deleted_shoot_goes_after_an_operation() -> None:
    shoot = _shoot(metadata={"deletionTimestamp": format_time(NOW)}, status=_up())
    shoot = _apply(shoot, _plan(shoot))
    assert shoot["status"]["lastOperation"]["type"] == "Delete"
    assert _plan(shoot).actions == ()
    shoot = _apply(shoot, _plan(shoot, at=NOW + PACE))
    assert shoot["metadata"]["finalizers"] == []


def test_a_deleted_shoot_without_a_seed_goes_at_once() -> None:
    shoot = _shoot(seed="", metadata={"deletionTimestamp": format_time(NOW)})
    assert _apply(shoot, _plan(shoot))["metadata"]["finalizers"] == []


def test_a_seed_reports_and_holds_its_lease() -> None:
    lease, status = plan_seed(msgspec.convert(_seed(), Seed), _snapshot()).actions
    assert isinstance(lease, Create)
    assert lease.key == ObjectKey(names.SEED_LEASE_NAMESPACE, "one")
    assert isinstance(status, Patch)
    assert isinstance(status.change, dict)
    assert {each["status"] for each in status.change["status"]["conditions"]} == {"True"}
    assert status.change["status"]["observedGeneration"] == 1


@pytest.mark.parametrize(
    ("age", "renewed"),
    [
        pytest.param(9, False, id="a fresh lease is left"),
        pytest.param(10, True, id="an older one is renewed"),
    ],
)
def test_a_lease_is_renewed_when_due(age: int, renewed: bool) -> None:
    stamp = format_micro_time(NOW - timedelta(seconds=age))
    lease = msgspec.convert(
        {
            "metadata": {"name": "one", "namespace": names.SEED_LEASE_NAMESPACE, "uid": "l"},
            "spec": {"renewTime": stamp},
        },
        Lease,
    )
    plan = plan_seed(msgspec.convert(_seed(), Seed), _snapshot(lease))
    assert any(action.kind.name == "Lease" for action in plan.actions) == renewed


def test_a_dark_seed_is_silent_and_unknown() -> None:
    seed = _seed(metadata={"annotations": {names.SIMULATE: DARK}}, **READY)
    (status,) = plan_seed(msgspec.convert(seed, Seed), _snapshot()).actions
    assert isinstance(status, Patch)
    assert isinstance(status.change, dict)
    assert {each["status"] for each in status.change["status"]["conditions"]} == {"Unknown"}


def test_a_condition_that_somebody_else_wrote_on_a_seed_stays() -> None:
    theirs = {"type": "GardenletReady", "status": "False", "reason": "Test", "message": "by hand"}
    seed = _seed(status={"conditions": [theirs]})
    _, status = plan_seed(msgspec.convert(seed, Seed), _snapshot()).actions
    assert isinstance(status, Patch)
    assert isinstance(status.change, dict)
    assert theirs in status.change["status"]["conditions"]


@pytest.mark.parametrize(
    ("shoots", "kept"),
    [
        pytest.param([], False, id="nobody is on it"),
        pytest.param([_shoot()], True, id="a shoot still is"),
    ],
)
def test_a_deleted_seed_goes_once_it_is_empty(shoots: list[dict[str, Any]], kept: bool) -> None:
    deleted = {"deletionTimestamp": format_time(NOW), "finalizers": [names.GARDENER_FINALIZER]}
    seed = msgspec.convert(_seed(metadata=deleted), Seed)
    snapshot = _snapshot(*(msgspec.convert(shoot, Shoot) for shoot in shoots))
    assert (plan_seed(seed, snapshot).actions == ()) == kept
