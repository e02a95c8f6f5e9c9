"""The number of seeds of a set: ratio, tolerance, seeds not ready, demand, windows and rates."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.domain.sets.replica_calculator import (
    MetricProposal,
    SeedLoad,
    TargetValue,
    combine,
    propose_replicas,
)
from webhook.domain.sets.scale_behavior import (
    SCALE_DOWN,
    SCALE_UP,
    Behavior,
    History,
    Proposal,
    RatePolicy,
    ScaleEvent,
    ScaleRules,
    decide,
    record_change,
)

HALF = TargetValue("Utilization", Decimal(50))
NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


def _loads(*used: int, allocatable: int = 100, starting: int = 0) -> list[SeedLoad]:
    ready = [SeedLoad(Decimal(count), Decimal(allocatable)) for count in used]
    return ready + [SeedLoad(Decimal(0), Decimal(0), ready=False)] * starting


@pytest.mark.parametrize(
    ("replicas", "loads", "target", "pending", "expected"),
    [
        pytest.param(2, _loads(50, 50), HALF, 0, 2, id="on target: stays"),
        pytest.param(2, _loads(55, 55), HALF, 0, 2, id="10 % above is tolerated"),
        pytest.param(2, _loads(56, 56), HALF, 0, 3, id="more than 10 % above is not"),
        pytest.param(2, _loads(45, 45), HALF, 0, 2, id="10 % below is tolerated"),
        pytest.param(4, _loads(30, 30, 30, 30), HALF, 0, 3, id="well below: fewer, rounded up"),
        pytest.param(2, _loads(100, 0), HALF, 0, 2, id="the average counts, not the worst seed"),
        pytest.param(
            2, _loads(30, 30), TargetValue("AverageValue", Decimal(20)), 0, 3, id="amount per seed"
        ),
        pytest.param(
            3, _loads(90, 90, starting=1), HALF, 0, 4, id="one not ready counts as empty going up"
        ),
        pytest.param(
            4, _loads(10, 10, starting=2), HALF, 0, 3, id="not ready counts as on target going down"
        ),
        pytest.param(
            3, _loads(70, 70, starting=1), HALF, 0, 3, id="a seed on its way is enough: stays"
        ),
        pytest.param(2, _loads(40, 40), HALF, 100, 4, id="pending shoots are demand"),
        pytest.param(
            1,
            _loads(100),
            TargetValue("Utilization", Decimal(100)),
            1,
            2,
            id="one waits: no tolerance",
        ),
        pytest.param(
            2,
            _loads(100, starting=1),
            TargetValue("Utilization", Decimal(100)),
            1,
            2,
            id="one waits, a seed is on its way: stays",
        ),
        pytest.param(1, _loads(starting=1), HALF, 5, 1, id="no seed ready yet: waits for it"),
        pytest.param(0, [], HALF, 5, 1, id="nothing there and something waits: one seed"),
    ],
)
def test_one_metric_proposes(
    replicas: int, loads: list[SeedLoad], target: TargetValue, pending: int, expected: int
) -> None:
    assert propose_replicas(replicas, loads, target, Decimal(pending)).replicas == expected


@pytest.mark.parametrize(
    ("used", "stuck", "expected"),
    [
        pytest.param(50, 0, 6, id="on target, each can go: as many as the load needs"),
        pytest.param(45, 0, 5, id="10 % below, each can go: fewer would carry the load"),
        pytest.param(45, 5, 5, id="10 % below, one can go: the others"),
        pytest.param(45, 6, 6, id="10 % below, none can go: all"),
        pytest.param(30, 6, 4, id="well below: as many as the load needs, though none can go"),
    ],
)
def test_seeds_of_a_set_that_was_scaled_to_one_and_cannot_shrink(
    used: int, stuck: int, expected: int
) -> None:
    loads = [
        load._replace(removable=number >= stuck) for number, load in enumerate(_loads(*[used] * 6))
    ]
    starting = SeedLoad(Decimal(0), Decimal(0), ready=False, removable=False)
    assert propose_replicas(1, loads, HALF, Decimal(0)).replicas == expected
    assert propose_replicas(1, [*loads, starting], HALF, Decimal(0)).replicas == expected


def test_a_metric_without_a_ready_seed_has_no_value_and_no_proposal() -> None:
    assert propose_replicas(2, _loads(starting=2), HALF, Decimal(0)) == MetricProposal(None, None)


def test_a_proposal_contains_the_current_value() -> None:
    assert propose_replicas(2, _loads(30, 50), HALF, Decimal(0)).current == 40
    assert (
        propose_replicas(
            2, _loads(30, 50), TargetValue("AverageValue", Decimal(1)), Decimal(0)
        ).current
        == 40
    )


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        pytest.param([MetricProposal(2, None), MetricProposal(5, None)], 5, id="the largest wins"),
        pytest.param(
            [MetricProposal(2, None), MetricProposal(None, None)], 4, id="one unknown: not down"
        ),
        pytest.param(
            [MetricProposal(6, None), MetricProposal(None, None)],
            6,
            id="one unknown: up all the same",
        ),
        pytest.param([MetricProposal(None, None)], 4, id="all unknown: stays"),
    ],
)
def test_several_metrics_are_combined(measures: list[MetricProposal], expected: int) -> None:
    assert combine(4, measures).replicas == expected


def _decide(
    replicas: int, wanted: int, behavior: Behavior | None = None, history: History | None = None
) -> tuple[int, str | None]:
    result = decide(replicas, wanted, (1, 10), behavior or Behavior(), history or History(), NOW)
    return result.replicas, result.limited_by


@pytest.mark.parametrize(
    ("replicas", "wanted", "expected"),
    [
        pytest.param(3, 3, (3, None), id="nothing to do"),
        pytest.param(3, 5, (5, None), id="up at once"),
        pytest.param(3, 12, (7, "ScaleUpLimit"), id="at most four at once"),
        pytest.param(5, 12, (10, "ScaleUpLimit"), id="or double"),
        pytest.param(6, 14, (10, "TooManyReplicas"), id="never above the maximum"),
        pytest.param(1, 0, (1, "TooFewReplicas"), id="never below the minimum"),
        pytest.param(5, 2, (2, None), id="down when nothing else was proposed lately"),
    ],
)
def test_a_recommendation_is_limited_by_rates_and_bounds(
    replicas: int, wanted: int, expected: tuple[int, str | None]
) -> None:
    assert _decide(replicas, wanted) == expected


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        pytest.param(299, (5, "ScaleDownStabilized"), id="inside the window the larger one holds"),
        pytest.param(300, (2, None), id="at its end it is forgotten"),
    ],
)
def test_scaling_down_waits_for_the_stabilization_window(
    age: int, expected: tuple[int, str | None]
) -> None:
    history = History((Proposal(NOW - timedelta(seconds=age), 5),))
    assert _decide(5, 2, history=history) == expected


def test_scaling_up_waits_for_a_configured_window() -> None:
    behavior = Behavior(up=ScaleRules(timedelta(minutes=1), SCALE_UP.policies))
    history = History((Proposal(NOW - timedelta(seconds=30), 3),))
    assert _decide(3, 6, behavior, history) == (3, "ScaleUpStabilized")


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        pytest.param("Max", 5, id="the policy that allows most"),
        pytest.param("Min", 7, id="the policy that allows least"),
        pytest.param("Disabled", 8, id="this direction is switched off"),
    ],
)
def test_rate_policies_of_one_direction(select: str, expected: int) -> None:
    policies = (
        RatePolicy("Replicas", 1, timedelta(minutes=10)),
        RatePolicy("Percent", 37, timedelta(minutes=10)),
    )
    down = ScaleRules(timedelta(0), policies, select)  # type: ignore[arg-type]  # the table's strings
    assert _decide(8, 1, Behavior(down=down))[0] == expected


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        pytest.param(59, 4, id="what was done within the period counts"),
        pytest.param(60, 5, id="what was done before it does not"),
    ],
)
def test_a_rate_policy_counts_changes_within_its_period(age: int, expected: int) -> None:
    up = ScaleRules(timedelta(0), (RatePolicy("Replicas", 1, timedelta(minutes=1)),))
    history = History(changes=(ScaleEvent(NOW - timedelta(seconds=age), 1),))
    assert _decide(4, 9, Behavior(up=up), history)[0] == expected


def test_history_keeps_only_entries_within_a_window_or_period() -> None:
    old = History(
        (Proposal(NOW - timedelta(hours=1), 9),), (ScaleEvent(NOW - timedelta(hours=1), 3),)
    )
    assert decide(3, 3, (1, 10), Behavior(), old, NOW).history == History((Proposal(NOW, 3),))
    assert record_change(History(), 3, 5, NOW).changes == (ScaleEvent(NOW, 2),)
    assert record_change(History(), 3, 3, NOW).changes == ()


@given(
    st.integers(1, 20),
    st.lists(st.integers(0, 40), min_size=1, max_size=60),
    st.integers(1, 10),
    st.integers(10, 20),
)
def test_replicas_never_leave_their_bounds(
    replicas: int, proposals: list[int], low: int, high: int
) -> None:
    history = History()
    replicas = min(max(replicas, low), high)
    for step, wanted in enumerate(proposals):
        now = NOW + timedelta(seconds=15 * step)
        result = decide(replicas, wanted, (low, high), Behavior(), history, now)
        assert low <= result.replicas <= high
        history = record_change(result.history, replicas, result.replicas, now)
        replicas = result.replicas


@settings(deadline=None)
@given(st.lists(st.integers(-8, 8), min_size=120, max_size=120))
def test_noise_around_the_target_does_not_make_the_set_flap(noise: list[int]) -> None:
    history, replicas, turns, last = History(), 4, 0, 0
    demand = 200
    for step, wobble in enumerate(noise):
        now = NOW + timedelta(seconds=15 * step)
        used = Decimal(demand + wobble * 2) / replicas
        loads = [SeedLoad(used, Decimal(100))] * replicas
        wanted = combine(replicas, [propose_replicas(replicas, loads, HALF, Decimal(0))]).replicas
        result = decide(replicas, wanted, (1, 20), Behavior(), history, now)
        history = record_change(result.history, replicas, result.replicas, now)
        direction = (result.replicas > replicas) - (result.replicas < replicas)
        if direction:
            turns += last not in (0, direction)
            last = direction
        replicas = result.replicas
    assert turns == 0


def test_the_defaults_are_those_of_the_horizontal_pod_autoscaler() -> None:
    assert SCALE_UP.stabilization == timedelta(0)
    assert SCALE_DOWN.stabilization == timedelta(minutes=5)
