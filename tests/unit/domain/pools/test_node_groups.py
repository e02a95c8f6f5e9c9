"""Node groups of a pool: bounds, instances and placeholders."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.machine_objects import SHOOT_NAMESPACE, make_deployment, make_machine, make_set
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.machines import Machine, MachineDeployment
from webhook.domain.pools import node_groups, pool_record
from webhook.domain.pools.discovery import Discovery, discover
from webhook.domain.pools.node_groups import (
    Placeholder,
    ZoneGroup,
    parse_machine,
    parse_placeholder,
)
from webhook.domain.pools.pool_record import PoolRecord, ZoneState
from webhook.domain.pools.sizing import Bounds

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ADAPTIVE = {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}
Z1 = f"{SHOOT_NAMESPACE}-pool-z1"


def _form(
    *replicas: int,
    machines: dict[int, list[dict[str, Any]]] | None = None,
    state: ZoneState | None = None,
    held: bool = False,
    metadata: dict[str, Any] | None = None,
) -> tuple[ZoneGroup, ...]:
    found = [
        convert(
            MachineDeployment,
            make_deployment(zone=zone, replicas=size, metadata=metadata or ADAPTIVE),
        )
        for zone, size in enumerate(replicas)
    ]
    (pool,), _ = discover(found, [Discovery(names.WORKER_POOL)])
    record = pool_record.with_zone_state(PoolRecord(pool.key), Z1, state)
    if held:
        record = pool_record.hold_out(record, Z1, "no quota", NOW)
    members = {
        found[zone].name: node_groups.members_of(
            found[zone], [convert(Machine, each) for each in made]
        )
        for zone, made in (machines or {}).items()
    }
    return node_groups.build_groups(pool, record, {each.name: each for each in found}, members, NOW)


def _machines(*phases: str, suffix: str = "1") -> list[dict[str, Any]]:
    owner = make_set(make_deployment(), suffix)
    return [make_machine(owner, str(number), phase) for number, phase in enumerate(phases)]


def test_good_zones_are_sized_by_the_formula() -> None:
    assert [group.bounds for group in _form(2, 1, 0)] == [Bounds(1, 3), Bounds(1, 2), Bounds(1, 1)]


def test_the_minimum_of_an_avoided_zone_is_shared_by_the_others() -> None:
    bad = ZoneState(until="2026-01-01T12:05:00Z", on_trial=True)
    found = _form(0, 1, 0, state=bad)
    assert [group.bounds for group in found] == [Bounds(0, 3), Bounds(2, 4), Bounds(1, 3)]
    assert found[0].health == "bad"
    assert found[0].bad_until == datetime(2026, 1, 1, 12, 5, tzinfo=UTC)


TRIED = ZoneState(until="2026-01-01T11:00:00Z", strikes=1, on_trial=True)
UNPROVEN = ZoneState(unproven="2026-01-01T11:00:00Z")


@pytest.mark.parametrize("state", [TRIED, UNPROVEN], ids=["failed", "backed off"])
@pytest.mark.parametrize(
    ("phases", "minimums"),
    [
        pytest.param([], [0, 2, 1], id="before the zone has a machine"),
        pytest.param(["Pending"], [0, 2, 1], id="while its machine is on its way"),
        pytest.param(["Unknown"], [0, 2, 1], id="while it is lost sight of"),
        pytest.param(["Running"], [1, 1, 1], id="until it has joined"),
    ],
)
def test_others_keep_the_minimum_of_a_zone_that_is_tried_again(
    state: ZoneState, phases: list[str], minimums: list[int]
) -> None:
    found = _form(len(phases), 2, 1, machines={0: _machines(*phases)}, state=state)
    assert [group.bounds.minimum for group in found] == minimums


def test_others_keep_the_minimum_if_the_machine_of_a_tried_zone_is_marked_for_removal() -> None:
    (leaving,) = _machines("Running")
    marked = {names.TRIGGER_DELETION: f"{leaving['metadata']['name']}~2026-01-01T00:00:00Z"}
    metadata = {"annotations": {**ADAPTIVE["annotations"], **marked}}
    found = _form(0, 2, 1, machines={0: [leaving]}, state=TRIED, metadata=metadata)
    assert [group.bounds.minimum for group in found] == [0, 2, 1]


def test_a_zone_that_the_autoscaler_backs_off_from_is_avoided_without_an_end() -> None:
    found = _form(0, 1, 0, state=ZoneState(backed_off="2026-01-01T11:59:00Z"))
    assert found[0].bounds == Bounds(0, 3)
    assert (found[0].health, found[0].bad_until) == ("bad", None)


@pytest.mark.parametrize(
    ("phases", "maximum"),
    [
        pytest.param([], 1, id="one machine is tried"),
        pytest.param(["Pending"], 1, id="and no more while it is on its way"),
        pytest.param(["Running"], 2, id="one more than have joined"),
    ],
)
def test_a_zone_on_trial_is_tried_with_one_machine(phases: list[str], maximum: int) -> None:
    found = _form(0, 0, 0, machines={0: _machines(*phases)}, state=TRIED)
    assert found[0].health == "trial"
    assert found[0].bounds.maximum == maximum


def test_a_rolling_zone_keeps_its_size_even_above_its_maximum() -> None:
    two = [*_machines("Running"), *_machines("Pending", suffix="2")]
    found = _form(3, 3, 0, machines={0: two})
    assert found[0].is_rolling
    assert found[0].bounds == Bounds(3, 1)


def test_a_zone_that_is_held_out_may_be_scaled_down() -> None:
    two = [*_machines("Running"), *_machines("Pending", suffix="2")]
    assert _form(2, 1, 0, machines={0: two}, held=True)[0].bounds == Bounds(1, 3)


def test_terminating_machines_do_not_make_a_zone_rolling() -> None:
    two = [*_machines("Running"), *_machines("Terminating", suffix="2")]
    assert not _form(2, 1, 0, machines={0: two})[0].is_rolling


def test_machines_marked_for_removal_are_terminating() -> None:
    (first, second) = _machines("Running", "Running")
    marked = {names.TRIGGER_DELETION: f"{first['metadata']['name']}~2026-01-01T00:00:00Z"}
    metadata = {"annotations": {**ADAPTIVE["annotations"], **marked}}
    group = _form(1, 0, machines={0: [first, second]}, metadata=metadata)[0]
    assert [instance.state for instance in group.instances()] == ["deleting", "running"]
    assert (group.present, group.missing) == (1, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("espalier:///ns/name/3-2", Placeholder("ns", "name", 3, 2), id="whole"),
        pytest.param("espalier:///ns/machine", None, id="a machine"),
        pytest.param("espalier:///ns/name/3", None, id="no number"),
        pytest.param("espalier:///ns/name/-1-2", None, id="no generation"),
        pytest.param("espalier:///ns/name/x-y", None, id="letters"),
        pytest.param("aws:///ns/name/3-2", None, id="another provider's"),
    ],
)
def test_placeholder_ids_are_parsed(text: str, expected: Placeholder | None) -> None:
    assert parse_placeholder(text) == expected


def test_machines_without_a_provider_id_have_an_id_with_their_name() -> None:
    assert parse_machine("espalier:///ns/machine") == ("ns", "machine")
    assert parse_machine("espalier:///ns/name/3-2") is None
    assert parse_machine("aws:///ns/machine") is None
