"""Where a machine is in its life, as machine-controller-manager tells it."""

from typing import Final

from webhook.api.machines import Machine, MachineOperation

NODE_LABEL: Final = "node"
"""The label of a Machine that names its Node; it is there before the Node is."""
EXHAUSTED: Final = "ResourceExhausted"

_UNBORN: Final = frozenset({"", "Pending", "CrashLoopBackOff"})
_AVAILABLE: Final = frozenset({"Running", "Available"})


def is_available(machine: Machine) -> bool:
    """Tell whether a machine serves; nothing but its phase counts."""
    return machine.status.current_status.phase in _AVAILABLE and not machine.is_deleting


def is_going(machine: Machine) -> bool:
    """Tell whether a machine is being removed."""
    return machine.is_deleting or machine.status.current_status.phase == "Terminating"


def has_joined(machine: Machine) -> bool:
    """Tell whether a machine has become a Node at some time; in doubt it has.

    Conditions are copied from the Node, so they prove it. A machine that failed while it was
    being created never was one.
    """
    status = machine.status
    phase = status.current_status.phase
    if status.conditions:
        return True
    if phase == "Failed":
        return status.last_operation.type != "Create"
    return phase not in _UNBORN


def lacks_resources(operation: MachineOperation) -> bool:
    """Tell whether an operation failed because its zone has nothing left to give."""
    return (
        operation.type == "Create"
        and operation.state == "Failed"
        and operation.error_code == EXHAUSTED
    )
