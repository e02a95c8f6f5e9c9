"""Backoff of zones without resources: its duration and its end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.machine_objects import make_deployment, make_machine, make_set
from webhook.api.decode import convert
from webhook.api.machines import Machine, MachineDeployment
from webhook.domain.options import NodeGroupsOptions
from webhook.domain.pools import zone_backoff
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.pool_record import PoolRecord, ZoneState, with_zone_state
from webhook.domain.pools.zone_backoff import ZoneFailure
from webhook.kube.timestamps import format_time

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OPTIONS = NodeGroupsOptions()
FIRST = ZoneFailure("u1", NOW)
STRUCK = zone_backoff.add_strike(None, FIRST, NOW, OPTIONS)


def later(**span: float) -> datetime:
    return NOW + timedelta(**span)


def failed(code: str = "ResourceExhausted", **operation: Any) -> MachineDeployment:
    operation_status = {
        "type": "Create",
        "state": "Failed",
        "errorCode": code,
        "lastUpdateTime": format_time(NOW),
        **operation,
    }
    machines = [{"name": "m", "lastOperation": operation_status}]
    return convert(MachineDeployment, make_deployment(status={"failedMachines": machines}))


def serving(at: datetime) -> Machine:
    status = {"currentStatus": {"phase": "Running", "lastUpdateTime": format_time(at)}}
    return convert(Machine, make_machine(make_set(make_deployment()), status=status))


@pytest.mark.parametrize(
    ("deployment", "found"),
    [
        pytest.param(failed(), [ZoneFailure("m", NOW)], id="no resources"),
        pytest.param(failed("Internal"), [], id="another error"),
        pytest.param(failed(type="Delete"), [], id="not while it was created"),
        pytest.param(failed(state="Processing"), [], id="not failed yet"),
    ],
)
def test_failures_for_lack_of_resources(
    deployment: MachineDeployment, found: list[ZoneFailure]
) -> None:
    assert zone_backoff.failures(deployment, ()) == found


@pytest.mark.parametrize(
    ("strikes", "minutes"),
    [(1, 5), (2, 10), (3, 20), (4, 30), (5, 30), (100, 30)],
)
def test_each_strike_doubles_the_time_up_to_half_an_hour(strikes: int, minutes: int) -> None:
    assert zone_backoff.backoff_duration(strikes, OPTIONS) == timedelta(minutes=minutes)


def test_a_zone_is_avoided_after_a_failure() -> None:
    state = zone_backoff.advance(None, [FIRST], (), NOW, OPTIONS)
    assert state == STRUCK
    assert (STRUCK.strikes, STRUCK.on_trial) == (1, True)
    assert STRUCK.until == "2026-01-01T12:05:00Z"


def test_an_empty_list_of_failures_ends_no_backoff() -> None:
    assert zone_backoff.advance(STRUCK, [], (), later(minutes=1), OPTIONS) == STRUCK


def test_failures_while_a_zone_is_avoided_are_only_recorded() -> None:
    again = ZoneFailure("u2", later(minutes=1))
    state = zone_backoff.advance(STRUCK, [again], (), later(minutes=1), OPTIONS)
    assert state is not None
    assert (state.until, state.strikes) == (STRUCK.until, 1)
    assert zone_backoff.advance(state, [again], (), later(minutes=6), OPTIONS) == state


def test_a_new_failure_after_the_backoff_adds_a_strike() -> None:
    again = ZoneFailure("u1", later(minutes=6))
    state = zone_backoff.advance(STRUCK, [again], (), later(minutes=6), OPTIONS)
    assert state is not None
    assert (state.strikes, state.until) == (2, "2026-01-01T12:16:00Z")


def test_strikes_expire_after_three_hours() -> None:
    again = ZoneFailure("u9", later(hours=4))
    healed = zone_backoff.advance(
        STRUCK, [], [serving(later(minutes=7))], later(minutes=8), OPTIONS
    )
    assert healed is not None
    struck = zone_backoff.advance(healed, [again], (), later(hours=4), OPTIONS)
    assert struck is not None
    assert struck.strikes == 1
    assert zone_backoff.advance(healed, [], (), later(hours=4), OPTIONS) is None


@pytest.mark.parametrize(
    ("joined", "on_trial"),
    [
        pytest.param(later(minutes=6), False, id="since the failure"),
        pytest.param(later(minutes=-6), True, id="before it"),
    ],
)
def test_a_machine_that_joins_ends_the_trial(joined: datetime, on_trial: bool) -> None:
    state = zone_backoff.advance(STRUCK, [], [serving(joined)], later(minutes=7), OPTIONS)
    assert state is not None
    assert state.on_trial is on_trial


@pytest.mark.parametrize(
    ("minutes", "zone_health"), [(0, "bad"), (4.9, "bad"), (5, "trial"), (90, "trial")]
)
def test_zone_health(minutes: float, zone_health: str) -> None:
    record = with_zone_state(PoolRecord(PoolKey("n", "d", "p")), "z", STRUCK)
    assert record.zone_health("z", later(minutes=minutes)) == zone_health


def test_a_zone_is_avoided_while_cluster_autoscaler_backs_off() -> None:
    state = zone_backoff.record_autoscaler_backoff(None, True, NOW)
    assert state == ZoneState(backed_off="2026-01-01T12:00:00Z")
    record = with_zone_state(PoolRecord(PoolKey("n", "d", "p")), "z", state)
    assert record.zone_health("z", later(hours=9)) == "bad"
    assert zone_backoff.avoided_since(state, OPTIONS) == NOW
    assert zone_backoff.record_autoscaler_backoff(state, True, later(minutes=1)) is state


@pytest.mark.parametrize(
    ("joined", "proven"),
    [
        pytest.param(later(minutes=6), True, id="since it backed off"),
        pytest.param(later(minutes=-6), False, id="before it"),
    ],
)
def test_a_zone_is_proven_by_a_machine_that_joins_after_cluster_autoscalers_backoff(
    joined: datetime, proven: bool
) -> None:
    state = zone_backoff.record_autoscaler_backoff(None, True, NOW)
    ended = zone_backoff.record_autoscaler_backoff(state, False, later(minutes=5))
    assert ended == ZoneState(unproven="2026-01-01T12:00:00Z")
    assert zone_backoff.avoided_since(ended, OPTIONS) == NOW
    record = with_zone_state(PoolRecord(PoolKey("n", "d", "p")), "z", ended)
    assert record.zone_health("z", later(minutes=5)) == "good", "its maximum is not limited"
    assert record.is_tried_again("z", later(minutes=5))
    after = zone_backoff.advance(ended, [], [serving(joined)], later(minutes=7), OPTIONS)
    assert (after is None) is proven


def test_since_when_a_zone_is_avoided() -> None:
    assert zone_backoff.avoided_since(STRUCK, OPTIONS) == NOW
