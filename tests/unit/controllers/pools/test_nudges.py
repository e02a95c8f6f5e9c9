"""Zones that wait are nudged when they could proceed, and not too often."""

from datetime import timedelta
from typing import Any

import pytest

from tests.support.pool_objects import NOW, fleet, record, show, zone
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.machines import MachineDeployment
from webhook.controllers.pools.nudges import plan_nudge
from webhook.domain.pools.pool_record import PermitGrant
from webhook.kube.timestamps import format_micro_time
from webhook.runtime.actions import Patch, Plan


def plan(deployment: dict[str, Any], *around: Any, after: float = 0.0) -> Plan:
    found = convert(MachineDeployment, deployment)
    return plan_nudge(found, show(deployment, *around, after=after))


def is_nudge(plan: Plan) -> bool:
    return any(
        isinstance(each, Patch) and names.NUDGE in each.change["metadata"]["labels"]  # type: ignore[call-overload]
        for each in plan.actions
    )


def at_rest(owner: dict[str, Any]) -> list[dict[str, Any]]:
    return fleet(owner, "1", owner["spec"]["replicas"])


def waiting(owner: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a zone whose new set has no machines yet."""
    return [*at_rest(owner), *fleet(owner, "2", 0, revision=2)]


def surging(owner: dict[str, Any], serving: int = 0) -> list[dict[str, Any]]:
    return [*at_rest(owner), *fleet(owner, "2", 1, serving, revision=2)]


A, B = zone(0, 2), zone(1, 2)


@pytest.mark.parametrize(
    ("around", "nudged"),
    [
        pytest.param(at_rest(A), False, id="complete"),
        pytest.param(waiting(A), True, id="a permit is free"),
        pytest.param([*waiting(A), B, *surging(B)], False, id="another zone has it"),
        pytest.param(surging(A), False, id="has the permit and waits for its machine"),
        pytest.param(surging(A, serving=1), True, id="an old machine may be removed"),
        pytest.param(fleet(A, "1", 1), True, id="sets do not sum to the replicas"),
        pytest.param([], True, id="no set, as after an outage"),
    ],
)
def test_zones_that_are_nudged(around: list[dict[str, Any]], nudged: bool) -> None:
    assert is_nudge(plan(A, *around)) is nudged


def test_a_grant_holds_the_permit() -> None:
    grant = PermitGrant(size=1, time=format_micro_time(NOW), zone=B["metadata"]["name"])
    assert not is_nudge(plan(A, *waiting(A), B, *waiting(B), record(grants={"new": grant})))


def test_pools_that_are_not_adaptive_are_ignored() -> None:
    still = zone(0, 2, adaptive=False)
    assert plan(still, *waiting(still)).actions == ()


def label(value: str) -> dict[str, Any]:
    return zone(0, 2, metadata={"labels": {names.NUDGE: value}})


def test_the_same_state_is_nudged_again_only_after_a_while() -> None:
    first = plan(A, *waiting(A))
    (write,) = first.actions
    assert isinstance(write, Patch)
    nudged = label(write.change["metadata"]["labels"][names.NUDGE])  # type: ignore[call-overload]
    soon = plan(nudged, *waiting(nudged), after=1)
    assert not is_nudge(soon)
    assert soon.requeue_after == pytest.approx(9, abs=0.1)
    assert is_nudge(plan(nudged, *waiting(nudged), after=10))


def test_another_state_is_nudged_soon_but_not_at_once() -> None:
    stamp = int((NOW - timedelta(seconds=0.1)).timestamp() * 1000)
    nudged = label(f"{stamp}-another")
    assert plan(nudged, *waiting(nudged)).requeue_after == pytest.approx(0.2, abs=0.01)
    assert is_nudge(plan(nudged, *waiting(nudged), after=0.3))
