"""The lifecycle of a machine, by its status from machine-controller-manager."""

from typing import Final

from webhook.api.machines import Machine, MachineOperation

NODE_LABEL: Final = "node"
"""The label of a Machine with the name of its Node; it is set before the Node exists."""
EXHAUSTED: Final = "ResourceExhausted"

_NOT_JOINED: Final = frozenset({"", "Pending", "CrashLoopBackOff"})
_AVAILABLE: Final = frozenset({"Running", "Available"})


def is_available(machine: Machine) -> bool:
    """Return whether a machine is available, by its phase."""
    return machine.status.current_status.phase in _AVAILABLE and not machine.is_deleting


def is_terminating(machine: Machine) -> bool:
    """Return whether a machine is being removed."""
    return machine.is_deleting or machine.status.current_status.phase == "Terminating"


def has_joined(machine: Machine) -> bool:
    """Return whether a machine has ever become a Node; if unknown, True.

    Conditions are copied from the Node, so they prove it. A machine whose creation failed never
    became one. Unknown counts as True, because a live Node is never given up like a machine that
    failed.
    """
    status = machine.status
    phase = status.current_status.phase
    if status.conditions:
        return True
    if phase == "Failed":
        return status.last_operation.type != "Create"
    return phase not in _NOT_JOINED


def is_resource_exhausted(operation: MachineOperation) -> bool:
    """Return whether an operation failed because the zone has no resources left."""
    return (
        operation.type == "Create"
        and operation.state == "Failed"
        and operation.error_code == EXHAUSTED
    )
