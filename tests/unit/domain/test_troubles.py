"""Zones without resources: how long they are avoided, and what heals them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.machines import make_deployment, make_machine, make_set
from webhook.api.decode import convert
from webhook.api.machines import Machine, MachineDeployment
from webhook.api.timestamps import format_time
from webhook.domain import troubles
from webhook.domain.options import NodeGroupsOptions
from webhook.domain.poolrecord import Record, ZoneState, with_zone
from webhook.domain.pools import PoolKey
from webhook.domain.troubles import Failure

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OPTIONS = NodeGroupsOptions()
FIRST = Failure("u1", NOW)
STRUCK = troubles.strike(None, FIRST, NOW, OPTIONS)


def later(**span: float) -> datetime:
    return NOW + timedelta(**span)


def failed(code: str = "ResourceExhausted", **operation: Any) -> MachineDeployment:
    said = {
        "type": "Create",
        "state": "Failed",
        "errorCode": code,
        "lastUpdateTime": format_time(NOW),
        **operation,
    }
    machines = [{"name": "m", "lastOperation": said}]
    return convert(MachineDeployment, make_deployment(status={"failedMachines": machines}))


def serving(at: datetime) -> Machine:
    status = {"currentStatus": {"phase": "Running", "lastUpdateTime": format_time(at)}}
    return convert(Machine, make_machine(make_set(make_deployment()), status=status))


@pytest.mark.parametrize(
    ("deployment", "found"),
    [
        pytest.param(failed(), [Failure("m", NOW)], id="no resources"),
        pytest.param(failed("Internal"), [], id="another error"),
        pytest.param(failed(type="Delete"), [], id="not while it was created"),
        pytest.param(failed(state="Processing"), [], id="not failed yet"),
    ],
)
def test_failures_for_want_of_resources(
    deployment: MachineDeployment, found: list[Failure]
) -> None:
    assert troubles.failures(deployment, ()) == found


@pytest.mark.parametrize(
    ("strikes", "minutes"),
    [(1, 5), (2, 10), (3, 20), (4, 30), (5, 30), (100, 30)],
)
def test_each_strike_doubles_the_time_up_to_half_an_hour(strikes: int, minutes: int) -> None:
    assert troubles.duration(strikes, OPTIONS) == timedelta(minutes=minutes)


def test_a_failure_makes_a_zone_bad() -> None:
    state = troubles.follow(None, [FIRST], (), NOW, OPTIONS)
    assert state == STRUCK
    assert (STRUCK.strikes, STRUCK.on_trial) == (1, True)
    assert STRUCK.until == "2026-01-01T12:05:00Z"


def test_an_empty_list_heals_nothing() -> None:
    assert troubles.follow(STRUCK, [], (), later(minutes=1), OPTIONS) == STRUCK


def test_while_a_zone_is_bad_further_failures_are_only_noted() -> None:
    again = Failure("u2", later(minutes=1))
    state = troubles.follow(STRUCK, [again], (), later(minutes=1), OPTIONS)
    assert state is not None
    assert (state.until, state.strikes) == (STRUCK.until, 1)
    assert troubles.follow(state, [again], (), later(minutes=6), OPTIONS) == state


def test_a_new_failure_after_that_strikes_again() -> None:
    again = Failure("u1", later(minutes=6))
    state = troubles.follow(STRUCK, [again], (), later(minutes=6), OPTIONS)
    assert state is not None
    assert (state.strikes, state.until) == (2, "2026-01-01T12:16:00Z")


def test_strikes_are_forgotten_after_three_hours() -> None:
    again = Failure("u9", later(hours=4))
    healed = troubles.follow(STRUCK, [], [serving(later(minutes=7))], later(minutes=8), OPTIONS)
    assert healed is not None
    struck = troubles.follow(healed, [again], (), later(hours=4), OPTIONS)
    assert struck is not None
    assert struck.strikes == 1
    assert troubles.follow(healed, [], (), later(hours=4), OPTIONS) is None


@pytest.mark.parametrize(
    ("joined", "on_trial"),
    [
        pytest.param(later(minutes=6), False, id="since the failure"),
        pytest.param(later(minutes=-6), True, id="before it"),
    ],
)
def test_a_machine_that_joins_ends_the_trial(joined: datetime, on_trial: bool) -> None:
    state = troubles.follow(STRUCK, [], [serving(joined)], later(minutes=7), OPTIONS)
    assert state is not None
    assert state.on_trial is on_trial


@pytest.mark.parametrize(
    ("minutes", "standing"), [(0, "bad"), (4.9, "bad"), (5, "trial"), (90, "trial")]
)
def test_how_a_zone_stands(minutes: float, standing: str) -> None:
    record = with_zone(Record(PoolKey("n", "d", "p")), "z", STRUCK)
    assert record.standing("z", later(minutes=minutes)) == standing


def test_what_cluster_autoscaler_says_counts_while_it_says_so() -> None:
    state = troubles.back_off(None, True, NOW)
    assert state == ZoneState(backed_off="2026-01-01T12:00:00Z")
    record = with_zone(Record(PoolKey("n", "d", "p")), "z", state)
    assert record.standing("z", later(hours=9)) == "bad"
    assert troubles.since(state, OPTIONS) == NOW
    assert troubles.back_off(state, True, later(minutes=1)) is state
    assert troubles.back_off(state, False, later(minutes=1)) is None


def test_it_is_known_since_when_a_zone_is_bad() -> None:
    assert troubles.since(STRUCK, OPTIONS) == NOW
