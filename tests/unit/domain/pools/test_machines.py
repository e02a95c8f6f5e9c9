"""The lifecycle of machines."""

from typing import Any

import pytest

from tests.support.machine_objects import make_deployment, make_machine, make_set
from webhook.api.decode import convert
from webhook.api.machines import Machine, MachineOperation
from webhook.domain.pools.machines import (
    has_joined,
    is_available,
    is_resource_exhausted,
    is_terminating,
)

OWNER = make_set(make_deployment())


def _machine(phase: str, **rest: Any) -> Machine:
    return convert(Machine, make_machine(OWNER, phase=phase, **rest))


@pytest.mark.parametrize(
    ("machine", "joined"),
    [
        pytest.param(_machine(""), False, id="just created"),
        pytest.param(_machine("Pending"), False, id="on its way"),
        pytest.param(_machine("CrashLoopBackOff"), False, id="could not be made"),
        pytest.param(_machine("Running"), True, id="serves"),
        pytest.param(_machine("Unknown"), True, id="lost sight of"),
        pytest.param(_machine("Terminating"), True, id="going: in doubt it was a Node"),
        pytest.param(
            _machine("Failed", status={"lastOperation": {"type": "Create"}}),
            False,
            id="failed before it was made",
        ),
        pytest.param(
            _machine("Failed", status={"lastOperation": {"type": "HealthCheck"}}),
            True,
            id="failed as a Node",
        ),
        pytest.param(
            _machine("Pending", status={"conditions": [{"type": "Ready", "status": "False"}]}),
            True,
            id="conditions of its Node are known",
        ),
    ],
)
def test_a_machine_has_become_a_node_or_not_yet(machine: Machine, joined: bool) -> None:
    assert has_joined(machine) is joined


@pytest.mark.parametrize("phase", ["Running", "Available"])
def test_two_phases_count_as_available_unless_it_is_deleted(phase: str) -> None:
    gone = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert is_available(_machine(phase))
    assert not is_available(_machine(phase, **gone))
    assert is_terminating(_machine(phase, **gone))
    assert not is_terminating(_machine(phase))


@pytest.mark.parametrize("phase", ["", "Pending", "Unknown", "Failed", "Terminating"])
def test_no_other_phase_counts_as_available(phase: str) -> None:
    assert not is_available(_machine(phase))
    assert is_terminating(_machine(phase)) is (phase == "Terminating")


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param(("Create", "Failed", "ResourceExhausted"), True, id="no quota"),
        pytest.param(("Create", "Failed", "Internal"), False, id="another error"),
        pytest.param(("Create", "Processing", "ResourceExhausted"), False, id="not failed"),
        pytest.param(("Delete", "Failed", "ResourceExhausted"), False, id="not a creation"),
    ],
)
def test_lack_of_resources_is_recognised_by_three_fields(
    operation: tuple[str, str, str], expected: bool
) -> None:
    kind, state, code = operation
    found = MachineOperation(type=kind, state=state, error_code=code)
    assert is_resource_exhausted(found) is expected
