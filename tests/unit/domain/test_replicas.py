"""Replicas: whose they are, how far they have come, and what they tell about themselves."""

from typing import Any

import pytest

from tests.landscapes import make_seed, read
from tests.sets import LABELS, make_set
from webhook.api import names
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.shoots import Shoot
from webhook.domain import ordinals
from webhook.domain.health import Hosted
from webhook.domain.replicas import NEVER_READY, Replica, Stage, claim

OURS = {"kind": "ManagedSeedSet", "name": "leaf", "uid": "set-uid", "controller": True}
THEIRS = {"kind": "ManagedSeedSet", "name": "leaf", "uid": "an-earlier-set", "controller": True}


def make_owner(**metadata: Any) -> ManagedSeedSet:
    body = make_set()
    body["metadata"] |= {"uid": "set-uid", **metadata}
    return read(ManagedSeedSet, body)


def make_metadata(name: str, owner: Draft | None, labels: Draft | None, **more: Any) -> Draft:
    return {
        "name": name,
        "namespace": "garden",
        "uid": f"uid-{name}",
        "labels": LABELS if labels is None else labels,
        "ownerReferences": [owner] if owner else [],
        **more,
    }


def make_shoot(
    name: str = "leaf-0", owner: Draft | None = OURS, labels: Draft | None = None, **more: Any
) -> Shoot:
    status = more.pop("status", {})
    return read(Shoot, {"metadata": make_metadata(name, owner, labels, **more), "status": status})


def make_managed_seed(
    name: str = "leaf-0", owner: Draft | None = OURS, labels: Draft | None = None, **more: Any
) -> ManagedSeed:
    status, shoot = more.pop("status", {}), more.pop("shoot", name)
    metadata = make_metadata(name, owner, labels, **more)
    return read(
        ManagedSeed, {"metadata": metadata, "spec": {"shoot": {"name": shoot}}, "status": status}
    )


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
def test_ordinals_have_one_spelling(name: str, ordinal: int | None) -> None:
    assert ordinals.ordinal_of("leaf", name) == ordinal


@pytest.mark.parametrize(
    ("shoot", "managed_seed", "counts", "adopted", "released"),
    [
        pytest.param(make_shoot(), make_managed_seed(), True, 0, 0, id="our own"),
        pytest.param(make_shoot(), None, True, 0, 0, id="our own, not registered yet"),
        pytest.param(None, make_managed_seed(), True, 0, 0, id="our own without its Shoot"),
        pytest.param(make_shoot(owner=None), None, True, 1, 0, id="an orphan that matches"),
        pytest.param(make_shoot(owner=None), make_managed_seed(), True, 1, 0, id="half an orphan"),
        pytest.param(
            make_shoot(owner=None, labels={}), None, False, 0, 0, id="an orphan that does not match"
        ),
        pytest.param(make_shoot(owner=THEIRS), None, False, 0, 0, id="an earlier set's"),
        pytest.param(
            make_shoot(), make_managed_seed(owner=THEIRS), False, 0, 1, id="half somebody else's"
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
def test_a_replica_belongs_as_a_whole(
    shoot: Shoot | None,
    managed_seed: ManagedSeed | None,
    counts: bool,
    adopted: int,
    released: int,
) -> None:
    found = claim(make_owner(), filter(None, [shoot]), filter(None, [managed_seed]))
    assert bool(found.replicas) is counts
    assert (len(found.adopt), len(found.release)) == (adopted, released)


def test_a_set_that_is_being_deleted_takes_nothing_new_and_leaves_orphans_alone() -> None:
    owner = make_owner(deletionTimestamp="2026-01-01T00:00:00Z")
    found = claim(owner, [make_shoot(owner=None)], [make_managed_seed()])
    assert found.adopt == ()
    assert [(replica.shoot, replica.name) for replica in found.replicas] == [(None, "leaf-0")]


def test_the_highest_ordinal_is_anybodys() -> None:
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


def ready_seed() -> Any:
    seed = {"type": "SeedSystemComponentsHealthy", "status": "True"}
    found = make_seed("leaf-0")
    told = [*({"type": c.type, "status": c.status} for c in found.status.conditions), seed]
    return read(type(found), {"metadata": {"name": "leaf-0"}, "status": {"conditions": told}})


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
    assert replica.is_settled is ready


@pytest.mark.parametrize(
    ("status", "reason", "in_flight"),
    [
        pytest.param("False", NEVER_READY, True, id="never ready: still being made"),
        pytest.param(
            "False", "SeedNotReady", False, id="was ready once: in trouble, not in flight"
        ),
        pytest.param("True", "SeedReady", False, id="ready"),
    ],
)
def test_trouble_of_an_old_replica_is_no_part_of_making_it(
    status: str, reason: str, in_flight: bool
) -> None:
    told = {"type": "SeedReady", "status": status, "reason": reason}
    managed_seed = make_managed_seed(status={"conditions": [told]})
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
def test_wishes_about_removal_are_annotations_of_either_half(
    annotations: Draft, priority: int, protected: bool
) -> None:
    for halves in (
        (make_shoot(annotations=annotations), make_managed_seed()),
        (make_shoot(), make_managed_seed(annotations=annotations)),
    ):
        replica = Replica("leaf-0", 0, *halves)
        assert (replica.priority, replica.is_protected) == (priority, protected)


def test_a_replica_is_at_a_revision_with_both_halves() -> None:
    new = {**LABELS, names.CONTROLLER_REVISION_HASH: "leaf-two"}
    shoot, managed_seed = make_shoot(labels=new), make_managed_seed()
    assert Replica("leaf-0", 0, shoot).is_at("leaf-two")
    assert not Replica("leaf-0", 0, shoot, managed_seed).is_at("leaf-two")
    assert Hosted(5, 3).unready == 2
