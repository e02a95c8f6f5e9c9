"""A pool's zones as node groups: bounds and instances as an autoscaler sees them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.machines import SHOOT_NAMESPACE, make_deployment, make_machine, make_set
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.machines import Machine, MachineDeployment
from webhook.domain import groups, poolrecord
from webhook.domain.groups import Group, Placeholder, parse_machine, parse_placeholder
from webhook.domain.poolrecord import Record, ZoneState
from webhook.domain.pools import Discovery, discover
from webhook.domain.sizing import Bounds

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ADAPTIVE = {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}
Z1 = f"{SHOOT_NAMESPACE}-pool-z1"


def _form(
    *replicas: int,
    machines: dict[int, list[dict[str, Any]]] | None = None,
    state: ZoneState | None = None,
    held: bool = False,
    metadata: dict[str, Any] | None = None,
) -> tuple[Group, ...]:
    found = [
        convert(
            MachineDeployment,
            make_deployment(zone=zone, replicas=size, metadata=metadata or ADAPTIVE),
        )
        for zone, size in enumerate(replicas)
    ]
    (pool,), _ = discover(found, [Discovery(names.WORKER_POOL)])
    record = poolrecord.with_zone(Record(pool.key), Z1, state)
    if held:
        record = poolrecord.hold_out(record, Z1, "no quota", NOW)
    crews = {
        found[zone].name: groups.members_of(found[zone], [convert(Machine, each) for each in made])
        for zone, made in (machines or {}).items()
    }
    return groups.form(pool, record, {each.name: each for each in found}, crews, NOW)


def _machines(*phases: str, suffix: str = "1") -> list[dict[str, Any]]:
    owner = make_set(make_deployment(), suffix)
    return [make_machine(owner, str(number), phase) for number, phase in enumerate(phases)]


def test_good_zones_are_sized_by_the_formula() -> None:
    assert [group.bounds for group in _form(2, 1, 0)] == [Bounds(1, 3), Bounds(1, 2), Bounds(1, 1)]


def test_a_bad_zones_minimum_is_carried_by_the_others() -> None:
    bad = ZoneState(until="2026-01-01T12:05:00Z", on_trial=True)
    found = _form(0, 1, 0, state=bad)
    assert [group.bounds for group in found] == [Bounds(0, 3), Bounds(2, 4), Bounds(1, 3)]
    assert found[0].standing == "bad"
    assert found[0].bad_until == datetime(2026, 1, 1, 12, 5, tzinfo=UTC)


def test_a_zone_that_the_autoscaler_backs_off_is_bad_without_an_end() -> None:
    found = _form(0, 1, 0, state=ZoneState(backed_off="2026-01-01T11:59:00Z"))
    assert found[0].bounds == Bounds(0, 3)
    assert (found[0].standing, found[0].bad_until) == ("bad", None)


@pytest.mark.parametrize(
    ("phases", "maximum"),
    [
        pytest.param([], 1, id="one machine is tried"),
        pytest.param(["Pending"], 1, id="and no more while it is on its way"),
        pytest.param(["Running"], 2, id="one more than have joined"),
    ],
)
def test_a_zone_on_trial_is_tried_with_one_machine(phases: list[str], maximum: int) -> None:
    tried = ZoneState(until="2026-01-01T11:00:00Z", strikes=1, on_trial=True)
    found = _form(0, 0, 0, machines={0: _machines(*phases)}, state=tried)
    assert found[0].standing == "trial"
    assert found[0].bounds.maximum == maximum


def test_a_rolling_zone_keeps_its_size_even_above_its_maximum() -> None:
    two = [*_machines("Running"), *_machines("Pending", suffix="2")]
    found = _form(3, 3, 0, machines={0: two})
    assert found[0].is_rolling
    assert found[0].bounds == Bounds(3, 1)


def test_a_zone_that_is_held_out_is_not_frozen() -> None:
    two = [*_machines("Running"), *_machines("Pending", suffix="2")]
    assert _form(2, 1, 0, machines={0: two}, held=True)[0].bounds == Bounds(1, 3)


def test_machines_that_go_make_no_zone_roll() -> None:
    two = [*_machines("Running"), *_machines("Terminating", suffix="2")]
    assert not _form(2, 1, 0, machines={0: two})[0].is_rolling


def test_what_is_named_for_removal_goes() -> None:
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
def test_placeholders_are_known_by_their_ids(text: str, expected: Placeholder | None) -> None:
    assert parse_placeholder(text) == expected


def test_machines_without_an_id_are_known_by_their_names() -> None:
    assert parse_machine("espalier:///ns/machine") == ("ns", "machine")
    assert parse_machine("espalier:///ns/name/3-2") is None
    assert parse_machine("aws:///ns/machine") is None
