"""Replicas: ownership, stages, readiness and their annotations."""

from typing import Any

import pytest

from tests.support.replica_objects import (
    THEIRS,
    make_managed_seed,
    make_owner,
    make_shoot,
    ready_seed,
)
from tests.support.set_objects import LABELS
from webhook.api import names
from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.domain.seeds.shoot_counts import HostedShoots
from webhook.domain.sets import ordinals
from webhook.domain.sets.replicas import NEVER_READY, Replica, Stage, claim
from webhook.kube.meta import Draft


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [
        pytest.param("leaf-0", 0, id="the first"),
        pytest.param("leaf-12", 12, id="two digits"),
        pytest.param("leaf-01", None, id="no leading zeros"),
        pytest.param("leaf--1", None, id="no sign"),
        pytest.param("leaf", None, id="no ordinal at all"),
        pytest.param("leaf-a-1", None, id="of another set"),
        pytest.param("leaf-2147483648", None, id="beyond an int32"),
        pytest.param("leaf-2147483647", 2147483647, id="the last int32"),
    ],
)
def test_ordinals_have_one_notation(name: str, ordinal: int | None) -> None:
    assert ordinals.ordinal_of("leaf", name) == ordinal


@pytest.mark.parametrize(
    ("shoot", "managed_seed", "counts", "adopted", "released"),
    [
        pytest.param(make_shoot(), make_managed_seed(), True, 0, 0, id="our own"),
        pytest.param(make_shoot(), None, True, 0, 0, id="our own, not registered yet"),
        pytest.param(None, make_managed_seed(), True, 0, 0, id="our own without its Shoot"),
        pytest.param(make_shoot(owner=None), None, True, 1, 0, id="an orphan that matches"),
        pytest.param(
            make_shoot(owner=None), make_managed_seed(), True, 1, 0, id="one object is an orphan"
        ),
        pytest.param(
            make_shoot(owner=None, labels={}), None, False, 0, 0, id="an orphan that does not match"
        ),
        pytest.param(make_shoot(owner=THEIRS), None, False, 0, 0, id="an earlier set's"),
        pytest.param(
            make_shoot(),
            make_managed_seed(owner=THEIRS),
            False,
            0,
            1,
            id="one object of another owner",
        ),
        pytest.param(
            make_shoot(), make_managed_seed(labels={}), False, 0, 2, id="no longer matching"
        ),
        pytest.param(
            make_shoot(owner=None),
            make_managed_seed(owner=None, shoot="other"),
            False,
            0,
            0,
            id="a ManagedSeed of another Shoot",
        ),
        pytest.param(
            make_shoot("leaf-x"), None, False, 0, 1, id="owned, but not named like a replica"
        ),
        pytest.param(
            make_shoot(owner=None, deletionTimestamp="2026-01-01T00:00:00Z"),
            None,
            False,
            0,
            0,
            id="an orphan that is being deleted",
        ),
    ],
)
def test_a_replica_is_owned_as_a_whole(
    shoot: Shoot | None,
    managed_seed: ManagedSeed | None,
    counts: bool,
    adopted: int,
    released: int,
) -> None:
    found = claim(make_owner(), filter(None, [shoot]), filter(None, [managed_seed]))
    assert bool(found.replicas) is counts
    assert (len(found.adopt), len(found.release)) == (adopted, released)


def test_a_set_that_is_being_deleted_adopts_no_orphans() -> None:
    owner = make_owner(deletionTimestamp="2026-01-01T00:00:00Z")
    found = claim(owner, [make_shoot(owner=None)], [make_managed_seed()])
    assert found.adopt == ()
    assert [(replica.shoot, replica.name) for replica in found.replicas] == [(None, "leaf-0")]


def test_the_highest_ordinal_counts_objects_of_any_owner() -> None:
    found = claim(make_owner(), [make_shoot("leaf-3"), make_shoot("leaf-9", owner=THEIRS)], [])
    assert found.highest == 9
    assert [replica.ordinal for replica in found.replicas] == [3]


SUCCEEDED = {"lastOperation": {"type": "Create", "state": "Succeeded"}}
FAILED = {"lastOperation": {"type": "Create", "state": "Failed"}}
DELETED: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
REGISTERED = {"conditions": [{"type": "SeedRegistered", "status": "True"}]}


@pytest.mark.parametrize(
    ("shoot", "managed_seed", "stage"),
    [
        pytest.param(None, None, Stage.UNKNOWN, id="nothing there"),
        pytest.param(make_shoot(), None, Stage.SHOOT_RECONCILING, id="just made"),
        pytest.param(make_shoot(status=SUCCEEDED), None, Stage.SHOOT_RECONCILED, id="reconciled"),
        pytest.param(
            make_shoot(status=SUCCEEDED, generation=2),
            None,
            Stage.SHOOT_RECONCILING,
            id="reconciled, but not the present spec",
        ),
        pytest.param(
            make_shoot(status=FAILED), None, Stage.SHOOT_RECONCILE_FAILED, id="failed to reconcile"
        ),
        pytest.param(
            make_shoot(status=FAILED, generation=2),
            None,
            Stage.SHOOT_RECONCILING,
            id="an older spec failed",
        ),
        pytest.param(make_shoot(**DELETED), None, Stage.SHOOT_DELETING, id="being deleted"),
        pytest.param(
            make_shoot(**DELETED, status={"lastOperation": {"type": "Delete", "state": "Failed"}}),
            None,
            Stage.SHOOT_DELETE_FAILED,
            id="failed to be deleted",
        ),
        pytest.param(
            make_shoot(), make_managed_seed(), Stage.MANAGED_SEED_PREPARING, id="registering"
        ),
        pytest.param(
            make_shoot(),
            make_managed_seed(status=REGISTERED),
            Stage.MANAGED_SEED_REGISTERED,
            id="registered",
        ),
        pytest.param(
            make_shoot(),
            make_managed_seed(status=REGISTERED, generation=2),
            Stage.MANAGED_SEED_PREPARING,
            id="registered, but not the present spec",
        ),
        pytest.param(
            make_shoot(),
            make_managed_seed(**DELETED, status=REGISTERED),
            Stage.MANAGED_SEED_DELETING,
            id="being unregistered",
        ),
    ],
)
def test_every_stage_of_a_replica(
    shoot: Shoot | None, managed_seed: ManagedSeed | None, stage: Stage
) -> None:
    assert Replica("leaf-0", 0, shoot, managed_seed).stage is stage


@pytest.mark.parametrize(
    ("label", "seed", "ready"),
    [
        pytest.param("healthy", True, True, id="all well"),
        pytest.param("progressing", True, False, id="Shoot is progressing"),
        pytest.param("unhealthy", True, False, id="Shoot is unhealthy"),
        pytest.param("healthy", False, False, id="Seed is missing"),
    ],
)
def test_a_ready_replica_is_registered_with_a_ready_seed_and_a_healthy_shoot(
    label: str, seed: bool, ready: bool
) -> None:
    shoot = make_shoot(labels={**LABELS, names.SHOOT_STATUS: label}, status=SUCCEEDED)
    managed_seed = make_managed_seed(status=REGISTERED)
    replica = Replica("leaf-0", 0, shoot, managed_seed, ready_seed() if seed else None)
    assert replica.is_ready is ready
    assert replica.is_stable is ready


@pytest.mark.parametrize(
    ("status", "reason", "in_flight"),
    [
        pytest.param("False", NEVER_READY, True, id="never ready: still being made"),
        pytest.param("False", "SeedNotReady", False, id="was ready once: unready, not in flight"),
        pytest.param("True", "SeedReady", False, id="ready"),
    ],
)
def test_a_replica_that_was_ready_before_is_not_creating(
    status: str, reason: str, in_flight: bool
) -> None:
    reported = {"type": "SeedReady", "status": status, "reason": reason}
    managed_seed = make_managed_seed(status={"conditions": [reported]})
    replica = Replica("leaf-0", 0, make_shoot(status=SUCCEEDED), managed_seed)
    assert replica.is_in_flight is in_flight


@pytest.mark.parametrize(
    ("annotations", "priority", "protected"),
    [
        pytest.param({}, 3, False, id="neither given"),
        pytest.param({names.DELETION_PRIORITY: "1"}, 1, False, id="priority given"),
        pytest.param(
            {names.DELETION_PRIORITY: "much"}, 3, False, id="a priority that is no number"
        ),
        pytest.param({names.PROTECT_FROM_DELETION: "true"}, 3, True, id="protected"),
        pytest.param({names.PROTECT_FROM_DELETION: ""}, 3, True, id="protected without a value"),
        pytest.param({names.PROTECT_FROM_DELETION: "false"}, 3, False, id="expressly not"),
    ],
)
def test_protection_and_priority_are_annotations_of_either_object(
    annotations: Draft, priority: int, protected: bool
) -> None:
    for objects in (
        (make_shoot(annotations=annotations), make_managed_seed()),
        (make_shoot(), make_managed_seed(annotations=annotations)),
    ):
        replica = Replica("leaf-0", 0, *objects)
        assert (replica.priority, replica.is_protected) == (priority, protected)


def test_a_replica_is_at_a_revision_if_both_objects_are() -> None:
    new = {**LABELS, names.CONTROLLER_REVISION_HASH: "leaf-two"}
    shoot, managed_seed = make_shoot(labels=new), make_managed_seed()
    assert Replica("leaf-0", 0, shoot).is_at("leaf-two")
    assert not Replica("leaf-0", 0, shoot, managed_seed).is_at("leaf-two")
    assert HostedShoots(5, 3).unready == 2
