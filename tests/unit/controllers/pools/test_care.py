"""The record of a pool: what the leader writes into it, and what follows from it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.controllers.pools.world import NOW, fleet, make_cluster, record, show, zone
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.poolobjects import PoolObject
from webhook.api.timestamps import format_micro_time, format_time
from webhook.controllers.pools.care import plan_record
from webhook.domain import poolencoding
from webhook.domain.poolrecord import Grant, HeldOut, Record, Target, ZoneState
from webhook.runtime.actions import Delete, Emit, Patch, Plan

FIRST = zone(0, 2)["metadata"]["name"]
BAD = ZoneState(
    until=format_time(NOW + timedelta(minutes=5)), strikes=1, last_failure="m@x", on_trial=True
)


def plan(found: PoolObject, *around: Any, after: float = 0.0, **more: Any) -> Plan:
    return plan_record(found, show(found, *around, after=after), **more)


def written(action: Any) -> Record:
    """Read the record that an action writes."""
    assert isinstance(action, Patch)
    assert action.version == "7"
    data = {key: value for key, value in action.change["data"].items() if value is not None}  # type: ignore[call-overload]
    metadata = {"name": "r", "labels": {names.POOL_LABEL: "record"}}
    decoded = poolencoding.decode(convert(PoolObject, {"metadata": metadata, "data": data}))
    assert decoded is not None
    return decoded


def grant(size: int, age: float = 0.0) -> Grant:
    return Grant(size=size, time=format_micro_time(NOW - timedelta(seconds=age)), zone=FIRST)


@pytest.mark.parametrize(
    ("grants", "kept"),
    [
        pytest.param({"uid": grant(2)}, set(), id="seen at that size"),
        pytest.param({"uid": grant(3)}, {"uid"}, id="still on its way"),
        pytest.param({"uid": grant(3, 60)}, set(), id="too old to come"),
        pytest.param({"other": grant(1)}, {"other"}, id="a set that is not made yet"),
        pytest.param({"name": grant(3)}, {"uid"}, id="first by name, then by uid"),
    ],
)
def test_grants_are_kept_until_they_are_seen_or_a_minute_old(
    grants: dict[str, Grant], kept: set[str]
) -> None:
    owner = zone(0, 2)
    owned, *machines = fleet(owner, "1", 2)
    metadata = owned["metadata"]
    known = {"uid": metadata["uid"], "name": metadata["name"]}
    found = record(grants={known.get(key, key): each for key, each in grants.items()})
    actions = plan(found, owner, owned, *machines).actions
    after = written(actions[0]).grants if actions else poolencoding_grants(found)
    assert {*after} == {known.get(key, key) for key in kept}


def poolencoding_grants(found: PoolObject) -> dict[str, Grant]:
    decoded = poolencoding.decode(found)
    assert decoded is not None
    return dict(decoded.grants)


def test_a_set_that_was_seen_must_be_seen_by_all() -> None:
    owner = zone(0, 2)
    owned, *machines = fleet(owner, "1", 2)
    found = record(grants={owned["metadata"]["uid"]: grant(2)})
    assert written(plan(found, owner, owned, *machines).actions[0]).seen_through == {
        "MachineSet": "10"
    }


def failing(index: int, replicas: int) -> dict[str, Any]:
    operation = {
        "type": "Create",
        "state": "Failed",
        "errorCode": "ResourceExhausted",
        "lastUpdateTime": format_time(NOW),
    }
    failed = [{"name": "m", "lastOperation": operation}]
    return zone(index, replicas, status={"failedMachines": failed})


def test_a_zone_without_resources_is_avoided_and_people_are_told() -> None:
    actions = plan(record(disagreeing=""), failing(0, 1), zone(1, 1)).actions
    state = written(actions[0]).zones[FIRST]
    assert (state.strikes, state.on_trial) == (1, True)
    event = actions[1]
    assert isinstance(event, Emit)
    assert (event.reason, event.regarding.name) == ("ZoneWithoutResources", FIRST)


def rolling(owner: dict[str, Any], *, serving: int = 0, born: float = 0.0) -> list[Any]:
    new = fleet(owner, "2", 1, serving, revision=2, born=NOW - timedelta(seconds=born))
    return [owner, *fleet(owner, "1", 2), *new]


def test_a_bad_zone_with_a_permit_is_held_out_then_shrunk() -> None:
    objects = rolling(failing(0, 2))
    held = written(plan(record(disagreeing=""), *objects).actions[0])
    assert {*held.held_out} == {FIRST}
    found = record(zones=held.zones, held_out=held.held_out)
    write, event = plan(found, *objects).actions
    assert isinstance(write, Patch)
    assert (write.kind.name, write.change) == ("MachineSet", {"spec": {"replicas": 0}})
    assert write.version == "10"
    assert isinstance(event, Emit)


def test_a_machine_that_serves_is_never_taken_back() -> None:
    found = record(zones={FIRST: BAD}, held_out={FIRST: HeldOut(since=format_time(NOW))})
    actions = plan(found, *rolling(zone(0, 2), serving=1)).actions
    assert not any(isinstance(each, Patch) and each.kind.name == "MachineSet" for each in actions)


def test_a_zone_that_is_bad_no_more_takes_part_again() -> None:
    found = record(zones={FIRST: BAD}, held_out={FIRST: HeldOut(since=format_time(NOW))})
    actions = plan(found, zone(0, 2), after=301).actions
    assert written(actions[0]).held_out == {}


@pytest.mark.parametrize(("seconds", "held"), [(899, False), (901, True)])
def test_a_new_machine_has_a_deadline(seconds: float, held: bool) -> None:
    found = record(disagreeing="")
    actions = plan(found, *rolling(zone(0, 2), born=seconds)).actions
    assert bool(actions) is held
    if held:
        assert {*written(actions[0]).held_out} == {FIRST}


def test_what_cluster_autoscaler_avoids_is_bad() -> None:
    actions = plan(record(disagreeing=""), zone(0, 1), backed_off=lambda _group: True).actions
    assert written(actions[0]).zones[FIRST].backed_off == format_time(NOW)
    assert plan(record(disagreeing=""), zone(0, 1), backed_off=lambda _group: None).actions == ()


def test_zones_that_disagree_are_named_after_a_minute() -> None:
    zones = (zone(0, 1), zone(1, 1, bounds=(0, 8)))
    since = written(plan(record(disagreeing=""), *zones).actions[0]).disagreeing
    assert since == format_time(NOW)
    found = record(disagreeing=since)
    assert plan(found, *zones, after=59).actions == ()
    events = plan(found, *zones, after=60).actions
    assert [each.reason for each in events if isinstance(each, Emit)] == ["PoolZonesDisagree"] * 2
    assert written(plan(found, zone(0, 1)).actions[0]).disagreeing == ""


def test_a_write_that_is_announced_and_overdue_is_made_to_fail() -> None:
    target = Target(target=3, resource_version="10", time=format_micro_time(NOW))
    found = record(targets={FIRST: target})
    assert plan(found, zone(0, 2), after=9).actions == ()
    (touch,) = plan(found, zone(0, 2), after=10).actions
    assert isinstance(touch, Patch)
    assert (touch.kind.name, touch.version) == ("MachineDeployment", "10")


def test_a_record_goes_with_its_pool_and_not_before() -> None:
    (gone,) = plan(record(disagreeing="")).actions
    assert isinstance(gone, Delete)
    unfit = zone(0, 1, bounds=(9, 3))
    assert plan(record(disagreeing=""), unfit).actions == ()


@pytest.mark.parametrize(
    ("sizes", "bounds", "raised"),
    [
        pytest.param((0, 1, 1), (3, 5), (0, 1), id="the first zone lacks one"),
        pytest.param((1, 1, 1), (3, 5), None, id="all have their share"),
        pytest.param((3, 0, 0), (3, 5), (1, 1), id="in the order of zones"),
        pytest.param((5, 0, 0), (3, 5), None, id="the maximum is reached"),
        pytest.param((4, 2, 2), (3, 5), None, id="nothing is ever lowered"),
    ],
)
def test_zones_are_raised_to_their_minimum(
    sizes: tuple[int, ...], bounds: tuple[int, int], raised: tuple[int, int] | None
) -> None:
    zones = [zone(index, size, bounds=bounds) for index, size in enumerate(sizes)]
    actions = plan(record(disagreeing=""), *zones).actions
    if raised is None:
        assert actions == ()
        return
    index, size = raised
    name = zones[index]["metadata"]["name"]
    note, write = actions
    assert written(note).targets[name].target == size
    assert isinstance(write, Patch)
    assert (write.key.name, write.change) == (name, {"spec": {"replicas": size}})
    assert write.version == "10"


@pytest.mark.parametrize(
    ("after", "raised"),
    [
        pytest.param(30, None, id="a zone is bad for less than a minute"),
        pytest.param(61, (FIRST.replace("-z1", "-z2"), 2), id="others carry its share"),
    ],
)
def test_others_are_raised_for_a_bad_zone_after_a_minute(
    after: float, raised: tuple[str, int] | None
) -> None:
    zones = [zone(0, 1, bounds=(3, 9)), zone(1, 1, bounds=(3, 9)), zone(2, 1, bounds=(3, 9))]
    actions = plan(record(zones={FIRST: BAD}), *zones, after=after).actions
    found = [
        (each.key.name, each.change["spec"]["replicas"])  # type: ignore[call-overload]
        for each in actions
        if isinstance(each, Patch) and each.kind.name == "MachineDeployment"
    ]
    assert found == ([] if raised is None else [raised])


def test_a_shoot_that_sleeps_is_not_woken() -> None:
    zones = [zone(index, 0, bounds=(3, 5)) for index in range(3)]
    assert plan(record(disagreeing=""), *zones, make_cluster(asleep=True)).actions == ()
    assert plan(record(disagreeing=""), *zones, make_cluster()).actions != ()
