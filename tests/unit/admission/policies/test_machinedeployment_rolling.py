"""machinedeployment.rolling: adaptive pools roll and grow by the numbers of the whole pool."""

from typing import Any

import pytest

from tests.support.admission import make_request, read
from tests.support.builders import merged
from tests.support.machine_objects import make_deployment
from webhook.admission.decision import Decision, Grant, Needs, UserInfo
from webhook.admission.engine import PolicyTable
from webhook.admission.table import POLICIES
from webhook.api import names
from webhook.domain.options import Options
from webhook.kube import patches
from webhook.state.snapshot import Snapshot

TABLE = PolicyTable(row for row in POLICIES if row.name == "machinedeployment.rolling")
ACTUATOR = UserInfo(username="system:serviceaccount:extension-provider-local-abc:provider")
PERSON = UserInfo(username="jane")
OURS = UserInfo(username="system:serviceaccount:espalier-system:espalier")
OPTIONS = Options(user=OURS.username)


def zone(index: int = 0, replicas: int = 3, **notes: str) -> dict[str, Any]:
    annotations = {
        names.SIZING_STRATEGY: "Adaptive",
        names.POOL_MAX_SURGE: "2",
        names.POOL_MAX_UNAVAILABLE: "1",
        **notes,
    }
    metadata = {"annotations": annotations}
    return make_deployment(zone=index, replicas=replicas, bounds=(3, 10), metadata=metadata)


def static(replicas: int, surge: Any = 0, unavailable: Any = 0, **notes: str) -> dict[str, Any]:
    """The zone as an actuator writes it."""
    share = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return merged(zone(0, replicas, **notes), {"spec": {"strategy": share}})


def decide(
    new: dict[str, Any], old: dict[str, Any] | None, user: UserInfo, *others: dict[str, Any]
) -> tuple[dict[str, Any], Grant | None]:
    around = [read(raw) for raw in (*others, *([old] if old else []))]
    decision = TABLE.mutate(make_request(new, old, user=user), Snapshot.of(around, options=OPTIONS))
    assert not isinstance(decision, Needs)
    grant = decision if isinstance(decision, Grant) else None
    decided = decision.decision if isinstance(decision, Grant) else decision
    assert isinstance(decided, Decision)
    result: dict[str, Any] = patches.apply(new, decided.patch)
    return result, grant


@pytest.mark.parametrize("share", [(1, 0), (0, 0), (0, 1), ("10%", 0)])
def test_a_static_share_becomes_the_pools_full_numbers(share: tuple[Any, Any]) -> None:
    result, _ = decide(static(3, *share), zone(), ACTUATOR)
    assert result["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1},
    }


def test_percentages_are_resolved_for_the_whole_pool() -> None:
    notes = {names.POOL_MAX_SURGE: "25%", names.POOL_MAX_UNAVAILABLE: "50%"}
    result, _ = decide(static(3, **notes), None, PERSON)
    assert result["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 3, "maxUnavailable": 1}


def test_strategy_recreate_is_kept() -> None:
    new = merged(static(3), {"spec": {"strategy": {"type": "Recreate"}}})
    result, _ = decide(new, zone(), ACTUATOR)
    assert result["spec"]["strategy"] == new["spec"]["strategy"]


@pytest.mark.parametrize(
    ("user", "old", "new", "notes", "kept"),
    [
        pytest.param(ACTUATOR, 5, 2, {}, 5, id="an actuator cuts a zone to its share"),
        pytest.param(ACTUATOR, 5, 0, {}, 0, id="hibernation is meant"),
        pytest.param(ACTUATOR, 0, 0, {}, 0, id="and stays"),
        pytest.param(
            ACTUATOR, 5, 4, {names.POOL_MAXIMUM: "12"}, 5, id="the maximum is raised in that write"
        ),
        pytest.param(
            ACTUATOR, 5, 3, {names.POOL_MINIMUM: "4"}, 5, id="the minimum is raised in that write"
        ),
        pytest.param(
            ACTUATOR, 5, 2, {names.POOL_MAXIMUM: "5"}, 5, id="a lower maximum that still fits"
        ),
        pytest.param(
            ACTUATOR, 5, 2, {names.POOL_MAXIMUM: "4"}, 4, id="a maximum below the pool's size"
        ),
        pytest.param(PERSON, 5, 2, {}, 2, id="a person means what she writes"),
    ],
)
def test_sizes_of_actuators(
    user: UserInfo, old: int, new: int, notes: dict[str, str], kept: int
) -> None:
    result, grant = decide(static(new, **notes), zone(replicas=old), user)
    assert result["spec"]["replicas"] == kept
    assert grant is None


@pytest.mark.parametrize(
    ("maximum", "kept"),
    [
        pytest.param("12", [5, 3, 2], id="raised: no node is removed"),
        pytest.param("10", [5, 3, 2], id="the same"),
        pytest.param("8", [3, 3, 2], id="lowered: the largest zone first"),
        pytest.param("6", [2, 2, 2], id="lowered: evenly"),
    ],
)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)], ids=["first to last", "last to first"])
@pytest.mark.parametrize("seen", [True, False], ids=["cache is current", "cache lags"])
def test_an_actuator_that_changes_the_maximum_removes_only_what_is_above_it(
    maximum: str, kept: list[int], order: tuple[int, ...], seen: bool
) -> None:
    zones = {index: zone(index, size) for index, size in enumerate((5, 3, 2))}
    shown = dict(zones)
    results = {}
    for index in order:
        annotations = {"annotations": {names.POOL_MAXIMUM: maximum}}
        new = merged(zones[index], {"metadata": annotations, "spec": {"replicas": 2}})
        others = [each for other, each in shown.items() if other != index]
        result, grant = decide(new, zones[index], ACTUATOR, *others)
        assert grant is None
        results[index] = result["spec"]["replicas"]
        if seen:
            shown[index] = result
    assert [results[index] for index in range(3)] == kept


def test_a_zone_with_a_smaller_maximum_of_its_own_costs_the_others_no_nodes() -> None:
    deviating = zone(1, 3, **{names.POOL_MAXIMUM: "4"})
    result, _ = decide(static(2), zone(replicas=5), ACTUATOR, deviating)
    assert result["spec"]["replicas"] == 5


@pytest.mark.parametrize(
    ("user", "old", "new"),
    [
        pytest.param(PERSON, 3, 5, id="a user scales up"),
        pytest.param(ACTUATOR, 0, 1, id="a shoot wakes up"),
    ],
)
def test_scaling_up_returns_a_grant(user: UserInfo, old: int, new: int) -> None:
    _, grant = decide(zone(replicas=new), zone(replicas=old), user)
    assert grant is not None
    assert (grant.uid, grant.old, grant.size, grant.version) == ("", old, new, "10")


def test_a_scale_returns_a_grant_like_any_other_write() -> None:
    old = zone(replicas=3)
    scale = {**old, "metadata": {**old["metadata"], "labels": {}, "annotations": {}}}
    scale["spec"] = {"replicas": 5}
    request = make_request(scale, {**scale, "spec": {"replicas": 3}}, subresource="scale")
    grant = TABLE.mutate(request, Snapshot.of([read(old)], options=OPTIONS))
    assert isinstance(grant, Grant)
    assert (grant.old, grant.size, grant.version) == (3, 5, "10")
    assert grant.decision.patch == (), "a scale has no strategy"


def test_a_new_deployment_needs_a_grant_for_all_its_machines() -> None:
    _, grant = decide(zone(replicas=2), None, ACTUATOR, zone(1))
    assert grant is not None
    assert (grant.old, grant.size, grant.version) == (0, 2, "")


@pytest.mark.parametrize(
    ("new", "old", "user"),
    [
        pytest.param(zone(replicas=9), zone(), OURS, id="our own writes"),
        pytest.param(
            make_deployment(replicas=9), make_deployment(), PERSON, id="Backward-Compatible pools"
        ),
        pytest.param(
            make_deployment(replicas=9, bounds=None),
            make_deployment(bounds=None),
            PERSON,
            id="what is in no pool",
        ),
    ],
)
def test_writes_that_are_not_changed(
    new: dict[str, Any], old: dict[str, Any], user: UserInfo
) -> None:
    assert decide(new, old, user) == (new, None)
