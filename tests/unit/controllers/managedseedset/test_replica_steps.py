"""The next step of a set for a replica in each state."""

from typing import Any

import pytest

from tests.support.landscape_objects import read
from tests.support.set_objects import LABELS, make_set
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset.plan import plan
from webhook.kube.meta import Draft, Object
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
    found = [
        {"type": names.SEED_REGISTERED, "status": str(registered)},
        {"type": names.SEED_READY, "status": str(ready), "reason": "x" if ready else ""},
    ]
    status = {"observedGeneration": 1, "conditions": found}
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


HOSTED_SHOOT = read(
    Shoot,
    {"metadata": {"name": "hosted", "namespace": "garden-dev"}, "spec": {"seedName": "leaf-0"}},
)
DONE = shoot("Create", "Succeeded")
REGISTERED = managed_seed(registered=True, ready=True)


def steps(replicas: int, *objects: Object) -> list[str]:
    """Plan and name each write; without writes return why the set waits for the replica."""
    owner = read(ManagedSeedSet, {**OWNER, "spec": {**OWNER["spec"], "replicas": replicas}})
    actions = plan(owner, Snapshot.of([owner, REVISION, *objects])).actions
    found: list[str] = []
    for action in actions:
        match action:
            case Patch(subresource="status"):
                assert isinstance(action.change, dict)
                pending = action.change["status"].get("pendingReplica") or {}
                found.append(pending.get("reason", "settled"))
            case Patch() | Apply() | Delete():
                found.append(f"{type(action).__name__.lower()} {action.kind.name}")
            case Create() | Emit() | _:
                continue
    return found


@pytest.mark.parametrize(
    ("objects", "wanted", "unwanted"),
    [
        pytest.param(
            [managed_seed()], ["apply Shoot"], ["patch ManagedSeed"], id="the Shoot is missing"
        ),
        pytest.param([shoot()], ["ShootReconciling"], ["patch Shoot"], id="Shoot created"),
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
            id="Shoot failed: retried, or chosen for removal",
        ),
        pytest.param(
            [shoot("Create", "Failed", **RETRIED)],
            ["ShootReconcileFailed"],
            ["patch Shoot"],
            id="Shoot failed and retried already",
        ),
        pytest.param(
            [shoot("Delete", "Failed", **GONE)],
            ["patch Shoot"],
            ["patch Shoot"],
            id="Shoot failed to be deleted: retried in any case",
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
            id="ManagedSeed being deleted: waited for, its Shoot marked for removal",
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
            id="ready: unchanged, or marked and hidden",
        ),
        pytest.param(
            [DONE, REGISTERED, seed(), HOSTED_SHOOT],
            ["settled"],
            ["settled"],
            id="ready and used: stays",
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
            id="marked, hidden and empty: deleted, or kept after all",
        ),
        pytest.param(
            [
                shoot("Create", "Succeeded", **MARKED),
                managed_seed(registered=True, ready=True, **MARKED),
                seed(hidden=True),
                HOSTED_SHOOT,
            ],
            ["patch ManagedSeed", "patch Shoot"],
            ["patch ManagedSeed", "patch Shoot"],
            id="marked, hidden and used: undone",
        ),
        pytest.param(
            [shoot("Create", "Succeeded", **MARKED)],
            ["patch Shoot"],
            ["patch Shoot"],
            id="ManagedSeed gone: deletion confirmed, or undone",
        ),
        pytest.param(
            [shoot("Create", "Succeeded", **CONFIRMED)],
            ["patch Shoot"],
            ["delete Shoot"],
            id="confirmed: deleted, or undone",
        ),
    ],
)
def test_the_next_step_of_a_wanted_and_of_a_surplus_replica(
    objects: list[Object], wanted: list[str], unwanted: list[str]
) -> None:
    assert steps(1, *objects) == wanted
    assert steps(0, *objects) == unwanted
