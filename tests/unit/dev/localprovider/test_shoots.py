"""The local provider simulates shoots step by step and overwrites nothing of others."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from webhook.api import names
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.dev.localprovider.managedfields import FIELD_MANAGER
from webhook.dev.localprovider.shoots import OPERATION_DURATION, SHOOT_CONDITIONS, plan_shoot
from webhook.dev.localprovider.simulation import DARK, FAIL, MARK, REASON
from webhook.kube.patches import apply, merge
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import Patch, Plan
from webhook.state.cluster_state import ClusterState
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
SOMEBODY = "kubectl-edit"


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


def _reconciled(seed: str = "one", **status: Any) -> dict[str, Any]:
    done = f"Create succeeded, healthy, {MARK}"
    operation = {"type": "Create", "state": "Succeeded", "description": done}
    return {"seedName": seed, "observedGeneration": 1, "lastOperation": operation, **status}


def _plan(shoot: dict[str, Any], seed: dict[str, Any] | None = None, at: datetime = NOW) -> Plan:
    seed_object, shoot_object = (
        msgspec.convert(seed or _seed(), Seed),
        msgspec.convert(shoot, Shoot),
    )
    memory = ClusterState([Seed, Shoot])
    memory.store(Seed).put(seed_object.key, seed_object)
    memory.store(Shoot).put(shoot_object.key, shoot_object, json.dumps(shoot).encode())
    return plan_shoot(shoot_object, Snapshot(memory, at))


def _managed_by(manager: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of managedFields that owns fields of the status."""
    return {"manager": manager, "operation": "Update", "fieldsV1": {"f:status": fields}}


def _condition(condition_type: str, status: str = "True", message: str = MARK) -> dict[str, Any]:
    reason = REASON if message == MARK else "Manual"
    return {"type": condition_type, "status": status, "reason": reason, "message": message}


def _apply(shoot: dict[str, Any], plan: Plan) -> dict[str, Any]:
    for action in plan.actions:
        assert isinstance(action, Patch)
        if isinstance(action.change, list):
            shoot = apply(shoot, action.change)
        else:
            assert isinstance(action.change, dict)
            shoot = merge(shoot, action.change)
    return shoot


def test_a_shoot_on_a_seed_is_created_in_two_steps() -> None:
    shoot = _apply(_shoot(), _plan(_shoot()))
    assert shoot["status"]["lastOperation"]["state"] == "Processing"
    assert shoot["metadata"]["labels"][names.SHOOT_STATUS] == "progressing"
    assert _plan(shoot, at=NOW + OPERATION_DURATION / 2) == Plan(
        requeue_after=OPERATION_DURATION.total_seconds() / 2
    )
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    assert shoot["status"]["lastOperation"]["state"] == "Succeeded"
    assert shoot["status"]["seedName"] == "one"
    assert shoot["status"]["observedGeneration"] == 1
    assert {each["status"] for each in shoot["status"]["conditions"]} == {"True"}
    assert shoot["metadata"]["labels"][names.SHOOT_STATUS] == "healthy"
    assert _plan(shoot, at=NOW + 2 * OPERATION_DURATION).actions == ()


def test_the_finalizer_is_added_first() -> None:
    bare = _shoot(metadata={"finalizers": []})
    shoot = _apply(bare, _plan(bare))
    assert shoot["metadata"]["finalizers"] == [names.GARDENER_FINALIZER]
    assert "status" not in shoot


def _operation_annotation(operation: str) -> dict[str, Any]:
    return {"annotations": {names.OPERATION: operation}}


def _failed() -> dict[str, Any]:
    status = _reconciled()
    return {**status, "lastOperation": {**status["lastOperation"], "state": "Failed"}}


def test_a_failed_operation_restarts_for_a_retry_only() -> None:
    assert not _plan(_shoot(metadata=_operation_annotation("reconcile"), status=_failed())).actions


def test_finalizers_that_others_add_meanwhile_are_kept() -> None:
    bare = _shoot(metadata={"finalizers": [], "resourceVersion": "7"})
    (write,) = _plan(bare).actions
    assert isinstance(write, Patch)
    assert write.version == "7"


@pytest.mark.parametrize(
    ("shoot", "operation"),
    [
        pytest.param(_shoot(status=_reconciled("other")), "Migrate", id="a migration"),
        pytest.param(
            _shoot(metadata={"generation": 2}, status=_reconciled()),
            "Reconcile",
            id="a changed spec",
        ),
        pytest.param(
            _shoot(status={"lastOperation": {"type": "Create", "state": "Pending"}}),
            "Create",
            id="a placement after waiting",
        ),
        pytest.param(
            _shoot(metadata=_operation_annotation("reconcile"), status=_reconciled()),
            "Reconcile",
            id="a reconcile annotation",
        ),
        pytest.param(
            _shoot(metadata=_operation_annotation("retry"), status=_failed()),
            "Reconcile",
            id="a retry annotation",
        ),
    ],
)
def test_an_operation_starts_for(shoot: dict[str, Any], operation: str) -> None:
    after = _apply(shoot, _plan(shoot))
    assert after["status"]["lastOperation"]["type"] == operation
    assert after["status"]["lastOperation"]["state"] == "Processing"


def test_a_migrated_shoot_reports_its_new_seed_at_the_end() -> None:
    shoot = _apply(_shoot(status=_reconciled("other")), _plan(_shoot(status=_reconciled("other"))))
    assert shoot["status"]["seedName"] == "other"
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    assert shoot["status"]["seedName"] == "one"


@pytest.mark.parametrize(
    ("shoot", "seed"),
    [
        pytest.param(_shoot(seed=""), None, id="no seed yet"),
        pytest.param(
            _shoot(), _seed(metadata={"annotations": {names.SIMULATE: DARK}}), id="a dark seed"
        ),
        pytest.param(_shoot(seed="gone"), None, id="a missing seed"),
        pytest.param(
            _shoot(
                status=_reconciled(
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
def test_nothing_is_written_for(shoot: dict[str, Any], seed: dict[str, Any] | None) -> None:
    assert _plan(shoot, seed).actions == ()


def test_conditions_of_other_types_survive_an_operation() -> None:
    gate = {"type": "BackupInstalled", "status": "True", "reason": "Ours", "message": "by hand"}
    shoot = _shoot(metadata={"generation": 2}, status=_reconciled(conditions=[gate]))
    shoot = _apply(shoot, _plan(shoot))
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    assert shoot["status"]["conditions"][0] == gate
    assert len(shoot["status"]["conditions"]) == 6


def test_a_condition_that_somebody_else_wrote_survives_an_operation() -> None:
    theirs = {"type": "APIServerAvailable", "status": "False", "reason": "R", "message": "by hand"}
    shoot = _shoot(metadata={"generation": 2}, status=_reconciled(conditions=[theirs]))
    shoot = _apply(shoot, _plan(shoot))
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    assert shoot["status"]["conditions"][0] == theirs
    assert {each["status"] for each in shoot["status"]["conditions"][1:]} == {"True"}


def test_a_health_reported_by_somebody_else_stays() -> None:
    shoot = _apply(_shoot(), _plan(_shoot()))
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    shoot["status"]["conditions"][0]["status"] = "False"
    shoot["metadata"]["labels"][names.SHOOT_STATUS] = "unhealthy"
    assert _plan(shoot, at=NOW + 2 * OPERATION_DURATION).actions == ()


def test_a_shoot_with_the_failure_annotation_fails() -> None:
    shoot = _shoot(metadata={"annotations": {names.SIMULATE: FAIL}})
    shoot = _apply(shoot, _plan(shoot))
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    assert shoot["status"]["lastOperation"]["state"] == "Failed"
    assert shoot["metadata"]["labels"][names.SHOOT_STATUS] == "unhealthy"


@pytest.mark.parametrize(
    ("tolerance", "label"),
    [
        pytest.param("node", "unhealthy", id="a single-zone control plane fails"),
        pytest.param("zone", "healthy", id="a multi-zone one stays healthy"),
    ],
)
def test_a_failed_zone(tolerance: str, label: str) -> None:
    shoot = _shoot(status=_reconciled())
    shoot["spec"]["controlPlane"] = {"highAvailability": {"failureTolerance": {"type": tolerance}}}
    seed = _seed(metadata={"annotations": {names.SIMULATE: "zone=a"}})
    shoot["metadata"]["labels"] = {names.SHOOT_STATUS: "healthy"}
    shoot = _apply(shoot, _plan(shoot, seed))
    assert shoot["metadata"]["labels"][names.SHOOT_STATUS] == label


def test_a_deleted_shoot_loses_its_finalizer_after_an_operation() -> None:
    shoot = _shoot(metadata={"deletionTimestamp": format_time(NOW)}, status=_reconciled())
    shoot = _apply(shoot, _plan(shoot))
    assert shoot["status"]["lastOperation"]["type"] == "Delete"
    assert _plan(shoot).actions == ()
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    assert shoot["metadata"]["finalizers"] == []


def test_a_deleted_shoot_without_a_seed_loses_its_finalizer_at_once() -> None:
    shoot = _shoot(seed="", metadata={"deletionTimestamp": format_time(NOW)})
    assert _apply(shoot, _plan(shoot))["metadata"]["finalizers"] == []


def _written(*entries: dict[str, Any], **status: Any) -> dict[str, Any]:
    """Return a shoot with a changed spec and these managedFields."""
    shoot = _shoot(metadata={"generation": 2}, status=_reconciled(**status))
    shoot["metadata"]["managedFields"] = [*entries]
    return shoot


OPERATION: dict[str, Any] = {"f:lastOperation": {"f:state": {}, "f:description": {}}}


@pytest.mark.parametrize(
    ("manager", "started"),
    [
        pytest.param(FIELD_MANAGER, True, id="a simulated one is followed by the next"),
        pytest.param(SOMEBODY, False, id="an equal one of somebody else stays"),
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"metadata": {"generation": 2}}, id="a changed spec"),
        pytest.param(
            {"spec": {"seedName": "one"}, "status": {"seedName": "two"}}, id="a migration"
        ),
        pytest.param(
            {"metadata": {"annotations": {names.OPERATION: names.OPERATION_RECONCILE}}},
            id="an annotation",
        ),
    ],
)
def test_an_operation_belongs_to_its_field_manager(
    change: Any, manager: str, started: bool
) -> None:
    shoot = merge(_shoot(status=_reconciled()), change)
    shoot["metadata"]["managedFields"] = [_managed_by(manager, OPERATION)]
    assert bool(_plan(shoot).actions) == started


def test_an_operation_of_somebody_else_is_not_finished() -> None:
    theirs = {"type": "Create", "state": "Processing", "description": "by hand"}
    shoot = _shoot(metadata={"generation": 5}, status=_reconciled(lastOperation=theirs))
    assert _plan(shoot, at=NOW + OPERATION_DURATION).actions == ()


def test_a_pending_operation_is_taken_over_with_all_its_fields() -> None:
    waiting = {"type": "Create", "state": "Pending", "description": "no seed fits"}
    shoot = _shoot(status={"lastOperation": waiting})
    shoot["metadata"]["managedFields"] = [
        _managed_by("espalier", {"f:lastOperation": {"f:type": {}}})
    ]
    first, second, _ = _plan(shoot).actions
    assert isinstance(first, Patch)
    assert isinstance(second, Patch)
    assert first.change == {"status": {"lastOperation": None}}
    assert isinstance(second.change, dict)
    assert second.change["status"]["lastOperation"]["state"] == "Processing"


@pytest.mark.parametrize(
    ("entry", "message", "kept"),
    [
        pytest.param(_managed_by(FIELD_MANAGER, {}), MARK, False, id="a simulated one changes"),
        pytest.param(
            _managed_by(
                SOMEBODY, {"f:conditions": {'k:{"type":"EveryNodeReady"}': {"f:status": {}}}}
            ),
            MARK,
            True,
            id="one of somebody else stays, although it is equal",
        ),
        pytest.param(
            _managed_by(SOMEBODY, {"f:conditions": {'k:{"type":"Another"}': {"f:status": {}}}}),
            MARK,
            False,
            id="an owner of another type does not matter",
        ),
        pytest.param(
            _managed_by(SOMEBODY, {"f:conditions": {}}),
            MARK,
            False,
            id="an owner of the whole list does not matter",
        ),
        pytest.param(
            _managed_by(SOMEBODY, {"f:conditions": {}}),
            "by hand",
            True,
            id="one with another message stays",
        ),
    ],
)
def test_a_condition_belongs_to_its_field_manager(entry: Any, message: str, kept: bool) -> None:
    present = [
        _condition(each, message=message if each == "EveryNodeReady" else MARK)
        for each in SHOOT_CONDITIONS
    ]
    shoot = _shoot(
        metadata={"annotations": {names.SIMULATE: FAIL}},
        status=_reconciled(conditions=present),
    )
    shoot["metadata"]["managedFields"] = [entry]
    after = _apply(shoot, _plan(shoot))["status"]["conditions"]
    statuses = {each["type"]: each["status"] for each in after}
    assert statuses.pop("EveryNodeReady") == ("True" if kept else "False")
    assert {*statuses.values()} == {"False"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("observedGeneration", 7, id="a generation"),
        pytest.param("seedName", "other", id="a seed"),
    ],
)
def test_a_field_of_somebody_else_starts_no_operation(field: str, value: Any) -> None:
    shoot = _shoot(status=_reconciled(**{field: value}))
    shoot["metadata"]["managedFields"] = [_managed_by(SOMEBODY, {f"f:{field}": {}})]
    assert _plan(shoot).actions == ()


def test_fields_that_somebody_else_wrote_survive_an_operation() -> None:
    shoot = _written(
        _managed_by(SOMEBODY, {"f:lastErrors": {}, "f:seedName": {}}), lastErrors=[{"a": 1}]
    )
    shoot = _apply(shoot, _plan(shoot))
    assert shoot["status"]["observedGeneration"] == 2
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    assert shoot["status"]["lastOperation"]["state"] == "Succeeded"
    assert shoot["status"]["lastErrors"] == [{"a": 1}]


def test_a_label_that_somebody_else_wrote_survives_an_operation() -> None:
    theirs: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{names.SHOOT_STATUS}": {}}}}
    shoot = _written({"manager": SOMEBODY, "fieldsV1": theirs})
    shoot["metadata"]["labels"] = {names.SHOOT_STATUS: "mine"}
    shoot = _apply(shoot, _plan(shoot))
    shoot = _apply(shoot, _plan(shoot, at=NOW + OPERATION_DURATION))
    assert shoot["metadata"]["labels"] == {names.SHOOT_STATUS: "mine"}


@pytest.mark.parametrize(
    ("operation", "finalizers"),
    [
        pytest.param("Reconcile", [], id="a shoot goes whoever owns its status"),
        pytest.param("Delete", [names.GARDENER_FINALIZER], id="not while somebody else deletes it"),
    ],
)
def test_a_deletion_with_a_status_of_somebody_else(operation: str, finalizers: list[str]) -> None:
    theirs = {"type": operation, "state": "Processing", "description": "by hand"}
    deleted = {"deletionTimestamp": format_time(NOW)}
    shoot = _shoot(metadata=deleted, status=_reconciled(lastOperation=theirs))
    after = _apply(shoot, _plan(shoot))
    assert after["metadata"]["finalizers"] == finalizers
    assert after["status"]["lastOperation"] == theirs


def test_a_status_is_written_only_over_the_version_that_was_read() -> None:
    shoot = _shoot(metadata={"resourceVersion": "7"})
    for at in (NOW, NOW + OPERATION_DURATION):
        status = next(
            action
            for action in _plan(shoot, at=at).actions
            if isinstance(action, Patch) and action.subresource == "status"
        )
        assert status.version == "7"
        shoot = _apply(shoot, _plan(shoot, at=at))
