"""machineset.permits: MachineSets of an adaptive pool are scaled within the permits of the pool."""

from typing import Any

import pytest

from tests.support.admission import make_request, read
from tests.support.builders import merged
from tests.support.machine_objects import make_deployment, make_set
from webhook.admission.decision import Decision, Grant, Needs
from webhook.admission.engine import PolicyTable
from webhook.admission.table import POLICIES
from webhook.api import names
from webhook.domain.options import AdmissionOptions, Options
from webhook.domain.pools.discovery import PoolKey
from webhook.state.snapshot import Snapshot

TABLE = PolicyTable(row for row in POLICIES if row.name == "machineset.permits")
ADAPTIVE: dict[str, Any] = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}
POOL = PoolKey("shoot--dev--one", f"mcm:{names.WORKER_POOL}", "pool")


def zone(**changes: Any) -> dict[str, Any]:
    return make_deployment(replicas=3, **merged(ADAPTIVE, changes))


def sized(owner: dict[str, Any], replicas: int) -> dict[str, Any]:
    return make_set(owner, spec={"replicas": replicas})


def decide(
    new: dict[str, Any],
    old: dict[str, Any] | None,
    *around: dict[str, Any],
    options: Options | None = None,
) -> Decision | Needs | Grant:
    snapshot = Snapshot.of([read(raw) for raw in around], options=options)
    return TABLE.mutate(make_request(new, old), snapshot)


def test_a_new_set_needs_a_grant_for_all_its_machines() -> None:
    owner = zone()
    grant = decide(sized(owner, 2), None, owner)
    assert isinstance(grant, Grant)
    name = owner["metadata"]["name"]
    assert (grant.pool, grant.deployment, grant.uid) == (POOL, name, f"uid-{name}-1")
    assert (grant.old, grant.size) == (0, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [pytest.param(3, 4, id="that grows"), pytest.param(3, 2, id="that shrinks")],
)
def test_the_grant_has_the_old_and_the_new_size(old: int, new: int) -> None:
    owner = zone()
    grant = decide(sized(owner, new), sized(owner, old), owner)
    assert isinstance(grant, Grant)
    assert (grant.old, grant.size) == (old, new)


@pytest.mark.parametrize(
    ("owner", "new", "old"),
    [
        pytest.param(zone(), 3, 3, id="the size stays"),
        pytest.param(zone(), 0, None, id="made empty"),
        pytest.param(make_deployment(replicas=3), 4, 3, id="the pool is Backward-Compatible"),
        pytest.param(
            zone(spec={"strategy": {"type": "Recreate"}}), 0, 3, id="machines are recreated"
        ),
        pytest.param(
            zone(spec={"strategy": {"type": "InPlaceUpdate"}}), 2, 3, id="updated in place"
        ),
        pytest.param(
            make_deployment(bounds=None, **ADAPTIVE), 4, 3, id="a zone that fits into no pool"
        ),
    ],
)
def test_writes_without_a_grant(owner: dict[str, Any], new: int, old: int | None) -> None:
    before = None if old is None else sized(owner, old)
    decision = decide(sized(owner, new), before, owner)
    assert isinstance(decision, Decision)
    assert (decision.allowed, decision.patch) == (True, ())


def test_a_set_without_a_deployment_needs_no_grant() -> None:
    alone = merged(sized(zone(), 4), {"metadata": {"ownerReferences": []}})
    assert isinstance(decide(alone, sized(zone(), 3)), Decision)


def test_the_pool_of_a_deployment_that_is_not_cached_is_left_open() -> None:
    owner = zone()
    grant = decide(sized(owner, 4), sized(owner, 3))
    assert isinstance(grant, Grant)
    assert (grant.pool.name, grant.deployment) == ("", owner["metadata"]["name"])


def test_a_scale_returns_a_grant_for_its_set() -> None:
    owner = zone()
    found = sized(owner, 3)
    scale = {**found, "spec": {"replicas": 5}}
    del scale["metadata"]["ownerReferences"]
    known = Snapshot.of([read(owner), read(sized(owner, 3))])
    grant = TABLE.mutate(make_request(scale, found, subresource="scale"), known)
    assert isinstance(grant, Grant)
    assert (grant.uid, grant.old, grant.size) == (found["metadata"]["uid"], 3, 5)


def test_the_granted_number_becomes_the_size() -> None:
    owner = zone()
    grant = decide(sized(owner, 5), sized(owner, 3), owner)
    assert isinstance(grant, Grant)
    assert grant.complete(5).patch == ()
    clamped = grant.complete(4)
    assert clamped.patch == ({"op": "add", "path": "/spec/replicas", "value": 4},)
    assert clamped.allowed
    assert clamped.audit == {"machineset.permits": "mutate"}


def test_in_mode_warn_no_grant_is_returned() -> None:
    owner = zone()
    options = Options(admission=AdmissionOptions(modes={"machineset.permits": "warn"}))
    decision = decide(sized(owner, 5), sized(owner, 3), owner, options=options)
    assert isinstance(decision, Decision)
    assert decision.warnings == ("machineset.permits: would request permits from the pool",)
