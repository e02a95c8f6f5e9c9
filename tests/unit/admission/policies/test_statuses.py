"""seed.status, managedseed.status, managedseedset.status: status updates are consistent."""

from typing import Any

import pytest

from tests.support.admission import ValidationResult, validate
from tests.support.builders import make_managed_seed, make_managed_seed_set, make_seed, merged
from webhook.domain.options import AdmissionOptions, Options

POLICIES = ("seed.status", "managedseed.status", "managedseedset.status")
ON = Options(admission=AdmissionOptions(modes=dict.fromkeys(POLICIES, "deny")))
MADE = {
    "seed.status": make_seed(),
    "managedseed.status": make_managed_seed(),
    "managedseedset.status": make_managed_seed_set("set"),
}


def validate_status(
    policy: str, new: dict[str, Any], old: dict[str, Any], options: Options | None = ON
) -> ValidationResult:
    before, after = (merged(MADE[policy], {"status": status}) for status in (old, new))
    return validate(policy, after, before, options=options, subresource="status")


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    [
        pytest.param({"clusterIdentity": "a"}, {}, set(), id="given"),
        pytest.param({"clusterIdentity": "a"}, {"clusterIdentity": "a"}, set(), id="kept"),
        pytest.param(
            {"clusterIdentity": "b"},
            {"clusterIdentity": "a"},
            {("status.clusterIdentity", "Invalid")},
            id="changed",
        ),
        pytest.param(
            {}, {"clusterIdentity": "a"}, {("status.clusterIdentity", "Invalid")}, id="lost"
        ),
    ],
)
def test_the_cluster_identity_of_a_seed(
    new: dict[str, Any], old: dict[str, Any], refused: set[tuple[str, str]]
) -> None:
    assert validate_status("seed.status", new, old).refused == refused


@pytest.mark.parametrize(("generation", "refused"), [(0, False), (7, False), (-1, True)])
def test_the_generation_of_a_managed_seed(generation: int, refused: bool) -> None:
    result = validate_status("managedseed.status", {"observedGeneration": generation}, {})
    assert result.fields == ({"status.observedGeneration"} if refused else set())


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    [
        pytest.param({}, {}, "", id="nothing yet"),
        pytest.param({"replicas": 3, "readyReplicas": 3}, {}, "", id="all are ready"),
        pytest.param({"replicas": 3, "readyReplicas": 4}, {}, "readyReplicas", id="more are"),
        pytest.param({"replicas": 3, "currentReplicas": 4}, {}, "currentReplicas", id="current"),
        pytest.param({"replicas": 3, "updatedReplicas": 4}, {}, "updatedReplicas", id="updated"),
        pytest.param({"readyReplicas": -1}, {}, "readyReplicas", id="fewer than none"),
        pytest.param({"observedGeneration": -1}, {}, "observedGeneration", id="generation"),
        pytest.param({"nextReplicaNumber": 3}, {"nextReplicaNumber": 3}, "", id="the same number"),
        pytest.param({"nextReplicaNumber": 2}, {"nextReplicaNumber": 3}, "nextReplicaNumber",
                     id="a number that was given out"),
        pytest.param({"collisionCount": 2}, {"collisionCount": 1}, "", id="one more collision"),
        pytest.param({"collisionCount": 0}, {"collisionCount": 1}, "collisionCount", id="one less"),
        pytest.param({}, {"collisionCount": 0}, "collisionCount", id="collisions forgotten"),
        pytest.param({"collisionCount": -1}, {}, "collisionCount", id="less than no collision"),
    ],
)  # fmt: skip
def test_the_counts_of_a_set(new: dict[str, Any], old: dict[str, Any], refused: str) -> None:
    result = validate_status("managedseedset.status", new, old)
    assert result.refused == {(f"status.{name}", "Invalid") for name in refused.split()}


@pytest.mark.parametrize(
    ("pending", "field"),
    [
        pytest.param({}, "", id="a replica of the set"),
        pytest.param({"name": "other-0"}, "name", id="of another set"),
        pytest.param({"name": "set"}, "name", id="no number"),
        pytest.param({"name": "set-x"}, "name", id="a word"),
        pytest.param({"reason": "Tired"}, "reason", id="an unknown reason"),
        pytest.param({"retries": 0}, "", id="not tried again"),
        pytest.param({"retries": -1}, "retries", id="tried again less than never"),
    ],
)
def test_the_pending_replica_of_a_set(pending: dict[str, Any], field: str) -> None:
    whole = {"name": "set-0", "reason": "SeedNotReady", **pending}
    result = validate_status("managedseedset.status", {"pendingReplica": whole}, {})
    assert result.fields == ({f"status.pendingReplica.{field}"} if field else set())


def test_they_are_off_by_default() -> None:
    result = validate_status("managedseedset.status", {"replicas": -1}, {}, options=None)
    assert result.refused == set()
