"""The record of a pool: what the leader writes into it, and its effects."""

from datetime import timedelta
from typing import Any

import pytest

from tests.support.machine_objects import make_machine, make_set
from tests.support.pool_objects import NOW, fleet, make_cluster, record, show, zone
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.pool_records import PoolRecordObject
from webhook.controllers.pools.records import plan_record
from webhook.domain.pools import record_encoding
from webhook.domain.pools.pool_record import (
    HeldOut,
    OpenIncrease,
    PermitGrant,
    PoolRecord,
    SizeTarget,
    ZoneState,
)
from webhook.kube.timestamps import format_micro_time, format_time
from webhook.runtime.actions import Delete, Emit, Patch, Plan

FIRST = zone(0, 2)["metadata"]["name"]
BAD = ZoneState(
    until=format_time(NOW + timedelta(minutes=5)), strikes=1, last_failure="m@x", on_trial=True
)


def plan(found: PoolRecordObject, *around: Any, after: float = 0.0, **more: Any) -> Plan:
    return plan_record(found, show(found, *around, after=after), **more)


def written(action: Any) -> PoolRecord:
    """Read the record that an action writes."""
    assert isinstance(action, Patch)
    assert action.version == "7"
    data = {key: value for key, value in action.change["data"].items() if value is not None}  # type: ignore[call-overload]
    metadata = {"name": "r", "labels": {names.POOL_LABEL: "record"}}
    decoded = record_encoding.decode(
        convert(PoolRecordObject, {"metadata": metadata, "data": data})
    )
    assert decoded is not None
    return decoded


def grant(size: int, age: float = 0.0) -> PermitGrant:
    return PermitGrant(size=size, time=format_micro_time(NOW - timedelta(seconds=age)), zone=FIRST)


@pytest.mark.parametrize(
    ("grants", "kept"),
    [
        pytest.param({"uid": grant(2)}, set(), id="observed"),
        pytest.param({"uid": grant(3)}, {"uid"}, id="not observed yet"),
        pytest.param({"uid": grant(3, 60)}, set(), id="expired"),
        pytest.param({"other": grant(1)}, {"other"}, id="a set that does not exist yet"),
        pytest.param({"name": grant(3)}, {"uid"}, id="first by name, then by uid"),
    ],
)
def test_grants_are_kept_until_they_are_observed_or_expired(
    grants: dict[str, PermitGrant], kept: set[str]
) -> None:
    owner = zone(0, 2)
    owned, *machines = fleet(owner, "1", 2)
    metadata = owned["metadata"]
    known = {"uid": metadata["uid"], "name": metadata["name"]}
    found = record(grants={known.get(key, key): each for key, each in grants.items()})
    actions = plan(found, owner, owned, *machines).actions
    after = written(actions[0]).grants if actions else grants_of(found)
    assert {*after} == {known.get(key, key) for key in kept}


def grants_of(found: PoolRecordObject) -> dict[str, PermitGrant]:
    decoded = record_encoding.decode(found)
    assert decoded is not None
    return dict(decoded.grants)


def test_the_record_keeps_the_version_that_was_observed() -> None:
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


def test_a_zone_without_resources_backs_off_with_an_event() -> None:
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


def test_an_available_machine_is_never_taken_back() -> None:
    found = record(zones={FIRST: BAD}, held_out={FIRST: HeldOut(since=format_time(NOW))})
    actions = plan(found, *rolling(zone(0, 2), serving=1)).actions
    assert not any(isinstance(each, Patch) and each.kind.name == "MachineSet" for each in actions)


def test_a_recovered_zone_takes_part_again() -> None:
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


def test_a_zone_that_cluster_autoscaler_backs_off_from_is_bad() -> None:
    actions = plan(record(disagreeing=""), zone(0, 1), backed_off=lambda _group: True).actions
    assert written(actions[0]).zones[FIRST].backed_off == format_time(NOW)
    assert plan(record(disagreeing=""), zone(0, 1), backed_off=lambda _group: None).actions == ()


def test_zones_that_disagree_are_reported_after_a_minute() -> None:
    zones = (zone(0, 1), zone(1, 1, bounds=(0, 8)))
    since = written(plan(record(disagreeing=""), *zones).actions[0]).disagreeing
    assert since == format_time(NOW)
    found = record(disagreeing=since)
    assert plan(found, *zones, after=59).actions == ()
    events = plan(found, *zones, after=60).actions
    assert [each.reason for each in events if isinstance(each, Emit)] == ["PoolZonesDisagree"] * 2
    assert written(plan(found, zone(0, 1)).actions[0]).disagreeing == ""


def test_an_overdue_target_is_made_to_conflict() -> None:
    target = SizeTarget(target=3, resource_version="10", time=format_micro_time(NOW))
    found = record(targets={FIRST: target})
    assert plan(found, zone(0, 2), after=9).actions == ()
    (touch,) = plan(found, zone(0, 2), after=10).actions
    assert isinstance(touch, Patch)
    assert (touch.kind.name, touch.version) == ("MachineDeployment", "10")


def test_a_record_is_deleted_with_its_pool() -> None:
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
        pytest.param(61, (FIRST.replace("-z1", "-z2"), 2), id="others take over its share"),
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


@pytest.mark.parametrize(
    ("sizes", "maximum", "raised"),
    [
        pytest.param((0, 2, 1), 9, (0, 1), id="the zone is tried with one machine"),
        pytest.param((1, 2, 1), 9, None, id="and no more until it has joined"),
        pytest.param((0, 1, 1), 3, (1, 2), id="the others come first"),
        pytest.param((0, 2, 1), 3, None, id="a full pool tries nothing"),
    ],
)
def test_after_a_backoff_others_keep_the_minimum_and_the_zone_is_tried(
    sizes: tuple[int, ...], maximum: int, raised: tuple[int, int] | None
) -> None:
    zones = [zone(index, size, bounds=(3, maximum)) for index, size in enumerate(sizes)]
    found = record(zones={FIRST: BAD})
    after = timedelta(minutes=6).total_seconds()
    writes = [
        (each.key.name, each.change["spec"]["replicas"])  # type: ignore[call-overload]
        for each in plan(found, *zones, after=after).actions
        if isinstance(each, Patch) and each.kind.name == "MachineDeployment"
    ]
    assert writes == (
        [] if raised is None else [(FIRST.replace("z1", f"z{raised[0] + 1}"), raised[1])]
    )


@pytest.mark.parametrize(
    ("is_marked", "raised"),
    [
        pytest.param(False, (FIRST, 1), id="a machine that stays covers the share of its zone"),
        pytest.param(True, (FIRST.replace("z1", "z2"), 2), id="one marked for removal does not"),
    ],
)
def test_others_keep_the_minimum_while_the_machine_of_a_tried_zone_leaves(
    is_marked: bool, raised: tuple[str, int]
) -> None:
    leaving = make_machine(make_set(zone(0, 0), "1"), "a")
    marked = {names.TRIGGER_DELETION: f"{leaving['metadata']['name']}~2026-01-01T00:00:00Z"}
    metadata = {"annotations": marked if is_marked else {}}
    first = zone(0, 0, bounds=(3, 9), metadata=metadata)
    others = [zone(1, 1, bounds=(3, 9)), zone(2, 1, bounds=(3, 9))]
    around = [first, make_set(first, "1"), leaving, *others]
    writes = [
        (each.key.name, each.change["spec"]["replicas"])  # type: ignore[call-overload]
        for each in plan(record(zones={FIRST: BAD}), *around, after=360).actions
        if isinstance(each, Patch) and each.kind.name == "MachineDeployment"
    ]
    assert writes == [raised]


def increase(wanted: int, granted: int, age: float = 0.0) -> OpenIncrease:
    at = format_micro_time(NOW - timedelta(seconds=age))
    return OpenIncrease(wanted=wanted, granted=granted, time=at)


SECOND, THIRD = (FIRST.replace("-z1", f"-z{number}") for number in (2, 3))


@pytest.mark.parametrize(
    ("increases", "raised"),
    [
        pytest.param({SECOND: increase(4, 2, 0.5)}, (SECOND, 4), id="one zone alone"),
        pytest.param(
            {SECOND: increase(4, 2, 2), THIRD: increase(4, 1, 0.5)},
            (SECOND, 3),
            id="two zones share it evenly",
        ),
        pytest.param({SECOND: increase(4, 2, 0.4)}, None, id="the scale-up may not be complete"),
        pytest.param(
            {SECOND: increase(4, 2, 2), THIRD: increase(4, 1, 0.4)}, None, id="the last call counts"
        ),
    ],
)
def test_what_is_left_is_granted_once_a_scale_up_is_complete(
    increases: dict[str, OpenIncrease], raised: tuple[str, int] | None
) -> None:
    zones = [zone(index, size, bounds=(0, 5)) for index, size in enumerate((0, 2, 1))]
    planned = plan(record(increases=increases), *zones)
    if raised is None:
        assert planned.actions == ()
        assert planned.requeue_after == pytest.approx(0.1)
        return
    noted, write = planned.actions
    assert {*written(noted).increases} == {*increases}, "until the size is observed"
    assert isinstance(write, Patch)
    assert (write.key.name, write.change) == (raised[0], {"spec": {"replicas": raised[1]}})


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        pytest.param((1, 3, 1), increase(4, 3, 1), id="the pool is full"),
        pytest.param((0, 4, 0), increase(4, 2, 1), id="the zone has it"),
        pytest.param((0, 1, 0), increase(4, 2, 1), id="the zone was scaled down"),
        pytest.param((0, 2, 0), increase(4, 2, 30), id="it is too old"),
    ],
)
def test_an_increase_that_gets_no_more_is_dropped(
    sizes: tuple[int, ...], found: OpenIncrease
) -> None:
    zones = [zone(index, size, bounds=(0, 5)) for index, size in enumerate(sizes)]
    (write,) = plan(record(increases={SECOND: found}), *zones).actions
    assert written(write).increases == {}


def test_what_is_left_is_granted_only_after_earlier_writes_are_observed() -> None:
    target = SizeTarget(target=3, resource_version="10", time=format_micro_time(NOW))
    kept = record(increases={SECOND: increase(4, 2, 1)}, targets={SECOND: target})
    zones = [zone(index, size, bounds=(0, 5)) for index, size in enumerate((0, 2, 0))]
    assert plan(kept, *zones).actions == ()


def test_a_hibernated_shoot_is_not_raised() -> None:
    zones = [zone(index, 0, bounds=(3, 5)) for index in range(3)]
    assert plan(record(disagreeing=""), *zones, make_cluster(asleep=True)).actions == ()
    assert plan(record(disagreeing=""), *zones, make_cluster()).actions != ()
