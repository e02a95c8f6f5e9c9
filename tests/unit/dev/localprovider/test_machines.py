"""Machines of the local provider join, fail and drain."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.machine_objects import decode_all, make_deployment, make_machine, make_set
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.machines import Machine
from webhook.dev.localprovider.machines import Behaviour, parse_behaviour, plan_machine
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import Patch, Plan
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HELD = {"finalizers": [names.MACHINE_FINALIZER], "creationTimestamp": format_time(NOW)}


def plan(
    phase: str = "", *, simulate: str = "join=2,drain=3", after: float = 0.0, **metadata: Any
) -> Plan:
    notes = {names.SIMULATE: simulate}
    owner = make_deployment(metadata={"annotations": notes})
    owned = make_set(owner)
    machine = make_machine(owned, phase=phase, metadata={**HELD, **metadata})
    snapshot = Snapshot.of(
        decode_all(owner, owned, machine), taken_at=NOW + timedelta(seconds=after)
    )
    return plan_machine(convert(Machine, machine), snapshot)


def phase_of(planned: Plan) -> str:
    (write,) = planned.actions
    assert isinstance(write, Patch)
    assert write.subresource == "status"
    phase: str = write.change["status"]["currentStatus"]["phase"]  # type: ignore[call-overload]
    return phase


@pytest.mark.parametrize(
    ("text", "behaviour"),
    [
        pytest.param("", Behaviour(), id="defaults"),
        pytest.param(
            "join=5, drain=9",
            Behaviour(5.0, 9.0, frozenset({"join=5", "drain=9"})),
            id="durations",
        ),
        pytest.param(
            "drain=999",
            Behaviour(drain=60.0, words=frozenset({"drain=999"})),
            id="drain is limited to a minute",
        ),
        pytest.param("join=soon", Behaviour(words=frozenset({"join=soon"})), id="malformed number"),
    ],
)
def test_the_behaviour_of_a_zone(text: str, behaviour: Behaviour) -> None:
    assert parse_behaviour(text) == behaviour


def test_the_finalizer_of_the_driver_is_added_first() -> None:
    (write,) = plan(finalizers=[]).actions
    assert isinstance(write, Patch)
    assert write.change == {"metadata": {"finalizers": [names.MACHINE_FINALIZER]}}


def test_a_machine_is_pending_until_it_joins() -> None:
    first = plan("")
    assert (phase_of(first), first.requeue_after) == ("Pending", 2.0)
    assert plan("Pending", after=1).requeue_after == 1.0
    (named,) = plan("Pending", after=2).actions
    assert isinstance(named, Patch)
    assert "node" in named.change["metadata"]["labels"]  # type: ignore[call-overload]
    assert plan("Running", after=9).actions == ()


def test_a_zone_without_quota_reports_the_error_of_a_driver() -> None:
    (write,) = plan("", simulate="no-quota").actions
    assert isinstance(write, Patch)
    operation = write.change["status"]["lastOperation"]  # type: ignore[call-overload]
    assert (operation["state"], operation["errorCode"]) == ("Failed", "ResourceExhausted")
    assert plan("CrashLoopBackOff", simulate="no-quota").actions == ()


def test_a_machine_that_is_never_ready_stays_pending() -> None:
    assert plan("Pending", simulate="never-ready", after=3600).actions == ()


def test_a_deleted_machine_drains_before_it_loses_its_finalizer() -> None:
    deleted: dict[str, Any] = {"deletionTimestamp": format_time(NOW)}
    first = plan("Running", **deleted)
    assert (phase_of(first), first.requeue_after) == ("Terminating", 3.0)
    assert plan("Terminating", after=1, **deleted).requeue_after == 2.0
    (write,) = plan("Terminating", after=3, **deleted).actions
    assert isinstance(write, Patch)
    assert write.change == {"metadata": {"finalizers": []}}
