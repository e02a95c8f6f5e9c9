"""What a set does next about a replica, for every state that one can be in."""

from typing import Any

import pytest

from tests.landscapes import read
from tests.sets import LABELS, make_set
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, Object
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset.plan import plan
from webhook.runtime.actions import Apply, Create, Delete, Emit, Patch
from webhook.state.snapshot import Snapshot

GONE: Draft = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["gardener"]}
LONG_AGO = "2025-12-31T00:00:00Z"
MARKED: Draft = {"annotations": {names.SCALE_IN: LONG_AGO}}
CONFIRMED: Draft = {"annotations": {names.SCALE_IN: LONG_AGO, names.DELETION_CONFIRMATION: "true"}}
RETRIED: Draft = {"annotations": {names.OPERATION: names.OPERATION_RETRY, names.SHOOT_RETRIES: "1"}}
OWNER = make_set(replicas=1)
OWNER["metadata"] |= {
    "uid": "uid-leaf",
    "finalizers": [names.GARDENER_FINALIZER],
    "annotations": {names.NEXT_REPLICA_NUMBER: "1"},
}


def make_revision() -> ControllerRevision:
    owner = read(ManagedSeedSet, OWNER)
    (made,) = plan(owner, Snapshot.of([owner])).actions
    assert isinstance(made, Create)
    return read(ControllerRevision, made.body)


REVISION = make_revision()


def metadata(**more: Any) -> Draft:
    reference = {"kind": "ManagedSeedSet", "name": "leaf", "uid": "uid-leaf", "controller": True}
    return {
        "name": "leaf-0",
        "namespace": "garden",
        "uid": "uid-leaf-0",
        "generation": 1,
        "labels": {
            **LABELS,
            names.SHOOT_STATUS: "healthy",
            names.CONTROLLER_REVISION_HASH: REVISION.name,
        },
        "ownerReferences": [reference],
        **more,
    }


def shoot(kind: str = "", state: str = "", **more: Any) -> Shoot:
    operation = {"type": kind, "state": state, "lastUpdateTime": LONG_AGO}
    status = {"observedGeneration": 1, "lastOperation": operation} if kind else {}
    return read(Shoot, {"metadata": metadata(**more), "status": status})


def managed_seed(registered: bool = False, ready: bool = False, **more: Any) -> ManagedSeed:
    told = [
        {"type": names.SEED_REGISTERED, "status": str(registered)},
        {"type": names.SEED_READY, "status": str(ready), "reason": "x" if ready else ""},
    ]
    status = {"observedGeneration": 1, "conditions": told}
    spec = {"shoot": {"name": "leaf-0"}}
    return read(ManagedSeed, {"metadata": metadata(**more), "spec": spec, "status": status})


def seed(ready: bool = True, hidden: bool = False) -> Seed:
    conditions = (names.GARDENLET_READY, names.SEED_SYSTEM_COMPONENTS_HEALTHY)
    status = [{"type": name, "status": str(ready)} for name in conditions]
    visible = {"settings": {"scheduling": {"visible": not hidden}}}
    return read(
        Seed,
        {
            "metadata": {"name": "leaf-0", "generation": 1},
            "spec": visible,
            "status": {"observedGeneration": 1, "conditions": status},
        },
    )


GUEST = read(
    Shoot,
    {"metadata": {"name": "guest", "namespace": "garden-dev"}, "spec": {"seedName": "leaf-0"}},
)
DONE = shoot("Create", "Succeeded")
REGISTERED = managed_seed(registered=True, ready=True)


def steps(replicas: int, *objects: Object) -> list[str]:
    """Plan, and name each write; without any, the reason why the replica is waited for."""
    owner = read(ManagedSeedSet, {**OWNER, "spec": {**OWNER["spec"], "replicas": replicas}})
    found = plan(owner, Snapshot.of([owner, REVISION, *objects])).actions
    told: list[str] = []
    for action in found:
        match action:
            case Patch(subresource="status"):
                assert isinstance(action.change, dict)
                pending = action.change["status"].get("pendingReplica") or {}
                told.append(pending.get("reason", "settled"))
            case Patch() | Apply() | Delete():
                told.append(f"{type(action).__name__.lower()} {action.kind.name}")
            case Create() | Emit() | _:
                continue
    return told


@pytest.mark.parametrize(
    ("objects", "wanted", "unwanted"),
    [
        pytest.param(
            [managed_seed()], ["apply Shoot"], ["patch ManagedSeed"], id="the Shoot is missing"
        ),
        pytest.param([shoot()], ["ShootReconciling"], ["patch Shoot"], id="Shoot just made"),
        pytest.param(
            [shoot("Create", "Processing")],
            ["ShootReconciling"],
            ["patch Shoot"],
            id="Shoot being reconciled",
        ),
        pytest.param(
            [shoot("Create", "Failed")],
            ["patch Shoot"],
            ["patch Shoot"],
            id="Shoot failed: tried again, or chosen to go",
        ),
        pytest.param(
            [shoot("Create", "Failed", **RETRIED)],
            ["ShootReconcileFailed"],
            ["patch Shoot"],
            id="Shoot failed and asked to try again",
        ),
        pytest.param(
            [shoot("Delete", "Failed", **GONE)],
            ["patch Shoot"],
            ["patch Shoot"],
            id="Shoot could not be deleted: tried again in any case",
        ),
        pytest.param(
            [shoot("Delete", "Processing", **GONE)],
            ["ShootDeleting"],
            ["ShootDeleting"],
            id="Shoot being deleted: waited for in any case",
        ),
        pytest.param(
            [DONE], ["apply ManagedSeed"], ["patch Shoot"], id="Shoot reconciled: registered next"
        ),
        pytest.param(
            [DONE, managed_seed()],
            ["ManagedSeedPreparing"],
            ["patch Shoot", "patch ManagedSeed"],
            id="being registered",
        ),
        pytest.param(
            [DONE, managed_seed(**GONE)],
            ["ManagedSeedDeleting"],
            ["patch Shoot", "patch ManagedSeed"],
            id="ManagedSeed being deleted: waited for, its Shoot marked where it is to go, too",
        ),
        pytest.param(
            [DONE, managed_seed(registered=True), seed(ready=False)],
            ["SeedNotReady"],
            ["patch Shoot", "patch ManagedSeed", "patch Seed"],
            id="registered, Seed not ready yet",
        ),
        pytest.param(
            [DONE, REGISTERED, seed()],
            ["settled"],
            ["patch Shoot", "patch ManagedSeed", "patch Seed"],
            id="ready: left alone, or marked and hidden",
        ),
        pytest.param(
            [DONE, REGISTERED, seed(), GUEST], ["settled"], ["settled"], id="ready and used: stays"
        ),
        pytest.param(
            [DONE, managed_seed(annotations={names.PROTECT_FROM_DELETION: "true"}), seed()],
            ["ManagedSeedPreparing"],
            ["ManagedSeedPreparing"],
            id="protected: stays",
        ),
        pytest.param(
            [
                shoot("Create", "Succeeded", **MARKED),
                managed_seed(registered=True, ready=True, **MARKED),
                seed(hidden=True),
            ],
            ["patch ManagedSeed", "patch Shoot"],
            ["delete ManagedSeed"],
            id="marked, hidden and still empty: goes, or is kept after all",
        ),
        pytest.param(
            [
                shoot("Create", "Succeeded", **MARKED),
                managed_seed(registered=True, ready=True, **MARKED),
                seed(hidden=True),
                GUEST,
            ],
            ["patch ManagedSeed", "patch Shoot"],
            ["patch ManagedSeed", "patch Shoot"],
            id="marked, hidden, and a shoot has come: undone",
        ),
        pytest.param(
            [shoot("Create", "Succeeded", **MARKED)],
            ["patch Shoot"],
            ["patch Shoot"],
            id="its ManagedSeed is gone: the deletion is confirmed, or taken back",
        ),
        pytest.param(
            [shoot("Create", "Succeeded", **CONFIRMED)],
            ["patch Shoot"],
            ["delete Shoot"],
            id="confirmed: deleted, or taken back",
        ),
    ],
)
def test_the_next_step_where_the_replica_is_wanted_and_where_it_is_not(
    objects: list[Object], wanted: list[str], unwanted: list[str]
) -> None:
    assert steps(1, *objects) == wanted
    assert steps(0, *objects) == unwanted
