"""The local provider simulates gardenlets and overwrites nothing of others."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from webhook.api import names
from webhook.api.core import Lease
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.dev.localprovider.managedfields import FIELD_MANAGER
from webhook.dev.localprovider.seeds import plan_seed
from webhook.dev.localprovider.simulation import DARK, MARK
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.patches import apply
from webhook.kube.timestamps import format_micro_time, format_time
from webhook.runtime.actions import Create, Patch, Plan
from webhook.state.cluster_state import ClusterState
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
READY = {"status": {"conditions": [{"type": "GardenletReady", "status": "True", "message": MARK}]}}


def _seed(**fields: Any) -> dict[str, Any]:
    metadata = {"name": "one", "uid": "s", "generation": 1, **fields.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"provider": {"zones": ["a"]}}, **fields}


def _plan(seed: dict[str, Any], *others: Object) -> Plan:
    planned = msgspec.convert(seed, Seed)
    memory = ClusterState([Seed, Shoot, Lease])
    memory.store(Seed).put(planned.key, planned, json.dumps(seed).encode())
    for other in others:
        memory.store(type(other)).put(other.key, other)
    return plan_seed(planned, Snapshot(memory, NOW))


def _reported(seed: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """Return the status after the status patches of a plan."""
    for action in plan.actions:
        if isinstance(action, Patch) and action.subresource == "status":
            assert isinstance(action.change, list)
            seed = apply(seed, action.change)
    status: dict[str, Any] = seed.get("status") or {}
    return status


def _statuses(status: dict[str, Any]) -> set[str]:
    return {each["status"] for each in status["conditions"]}


def test_a_seed_reports_its_status_and_holds_a_lease() -> None:
    plan = _plan(_seed())
    lease, _ = plan.actions
    assert isinstance(lease, Create)
    assert lease.key == ObjectKey(names.SEED_LEASE_NAMESPACE, "one")
    status = _reported(_seed(), plan)
    assert _statuses(status) == {"True"}
    assert status["observedGeneration"] == 1
    assert status["lastOperation"]["state"] == "Succeeded"
    assert _reported(_seed(status=status), _plan(_seed(status=status))) == status


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
    assert any(each.kind.name == "Lease" for each in _plan(_seed(), lease).actions) == renewed


def test_a_dark_seed_renews_no_lease_and_is_unknown() -> None:
    seed = _seed(metadata={"annotations": {names.SIMULATE: DARK}}, **READY)
    plan = _plan(seed)
    assert len(plan.actions) == 1
    status = _reported(seed, plan)
    assert _statuses(status) == {"Unknown"}
    assert "observedGeneration" not in status


@pytest.mark.parametrize(
    ("manager", "message", "status"),
    [
        pytest.param(FIELD_MANAGER, MARK, "Unknown", id="a simulated one changes"),
        pytest.param("kubectl", MARK, "True", id="one of somebody else stays"),
        pytest.param("", "by hand", "True", id="one with another message stays"),
    ],
)
def test_a_condition_belongs_to_its_field_manager(manager: str, message: str, status: str) -> None:
    theirs = {"type": "GardenletReady", "status": "True", "message": message, "extra": "kept"}
    seed = _seed(metadata={"annotations": {names.SIMULATE: DARK}}, status={"conditions": [theirs]})
    item: dict[str, Any] = {'k:{"type":"GardenletReady"}': {"f:status": {}}}
    fields = {"f:status": {"f:conditions": item}}
    if manager:
        seed["metadata"]["managedFields"] = [{"manager": manager, "fieldsV1": fields}]
    first = _reported(seed, _plan(seed))["conditions"][0]
    assert first["status"] == status
    assert first["extra"] == "kept"


@pytest.mark.parametrize(
    ("manager", "generation"),
    [
        pytest.param(FIELD_MANAGER, 1, id="simulated"),
        pytest.param("kubectl", 9, id="somebody else's"),
    ],
)
def test_a_generation_belongs_to_its_field_manager(manager: str, generation: int) -> None:
    seed = _seed(status={"observedGeneration": 9})
    fields: dict[str, Any] = {"f:status": {"f:observedGeneration": {}}}
    seed["metadata"]["managedFields"] = [{"manager": manager, "fieldsV1": fields}]
    assert _reported(seed, _plan(seed))["observedGeneration"] == generation


def test_the_status_is_written_only_over_the_version_that_was_read() -> None:
    _, status = _plan(_seed(metadata={"resourceVersion": "7"})).actions
    assert isinstance(status, Patch)
    assert status.version == "7"


@pytest.mark.parametrize(
    ("shoots", "kept"),
    [
        pytest.param(0, False, id="no shoot"),
        pytest.param(1, True, id="one shoot"),
    ],
)
def test_a_deleted_seed_loses_its_finalizer_once_it_has_no_shoots(shoots: int, kept: bool) -> None:
    deleted = {"deletionTimestamp": format_time(NOW), "finalizers": [names.GARDENER_FINALIZER]}
    on_it = {"metadata": {"name": "crazy", "namespace": "garden-dev"}, "spec": {"seedName": "one"}}
    hosted = [msgspec.convert(on_it, Shoot)] * shoots
    assert (_plan(_seed(metadata=deleted), *hosted).actions == ()) == kept
