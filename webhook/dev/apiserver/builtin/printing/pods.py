"""Columns of Pods and Nodes."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from webhook.dev.apiserver import durations
from webhook.dev.apiserver.builtin.printing.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    PrinterColumn,
    cell,
    field,
    find,
    join,
)
from webhook.kube.meta import Raw

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"


def _statuses(pod: Raw) -> list[Raw]:
    found: list[Raw] = find(pod, "status", "containerStatuses", default=[])
    return found


@cell
def _ready(pod: Raw) -> str:
    ready = sum(
        bool(one.get("ready")) and "running" in (one.get("state") or {}) for one in _statuses(pod)
    )
    return f"{ready}/{len(find(pod, 'spec', 'containers', default=()))}"


@cell
def _status(pod: Raw) -> str:
    reason = find(pod, "status", "reason") or find(pod, "status", "phase", default="")
    for condition in find(pod, "status", "conditions", default=()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    reason = _init_status(pod) or _container_reason(pod) or reason
    if pod["metadata"].get("deletionTimestamp"):
        return UNKNOWN if find(pod, "status", "reason") == "NodeLost" else "Terminating"
    return str(reason)


def _init_status(pod: Raw) -> str:
    """Return the progress of the init containers, empty once all have succeeded."""
    total = len(find(pod, "spec", "initContainers", default=()))
    for index, one in enumerate(find(pod, "status", "initContainerStatuses", default=())):
        state = one.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if terminated is not None and terminated.get("exitCode") == 0:
            continue
        if terminated is not None:
            return f"Init:{terminated.get('reason') or _exit_status(terminated)}"
        if waiting is not None and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return ""


def _exit_status(terminated: Raw) -> str:
    signal = terminated.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode', 0)}"


def _container_reason(pod: Raw) -> str:
    reason = ""
    for one in reversed(_statuses(pod)):
        state = one.get("state") or {}
        waiting, terminated = state.get("waiting"), state.get("terminated")
        if waiting is not None and waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = terminated.get("reason") or _exit_status(terminated)
    return reason


def _restarts(pod: Raw, now: datetime) -> str:
    count, last = 0, ""
    for one in _statuses(pod):
        count += one.get("restartCount", 0)
        last = max(last, find(one, "lastState", "terminated", "finishedAt", default=""))
    return f"{count} ({durations.age(last, now)} ago)" if count and last else str(count)


def _or_none(*path: str) -> Cell:
    return field(*path, default=NONE)


@cell
def _readiness_gates(pod: Raw) -> str:
    gates = find(pod, "spec", "readinessGates", default=())
    if not gates:
        return NONE
    states = {one["type"]: one["status"] for one in find(pod, "status", "conditions", default=())}
    return f"{sum(states.get(gate['conditionType']) == 'True' for gate in gates)}/{len(gates)}"


POD: Final = (
    NAME,
    PrinterColumn("Ready", _ready),
    PrinterColumn("Status", _status),
    PrinterColumn("Restarts", _restarts),
    AGE,
    PrinterColumn("IP", _or_none("status", "podIP"), wide=True),
    PrinterColumn("Node", _or_none("spec", "nodeName"), wide=True),
    PrinterColumn("Nominated Node", _or_none("status", "nominatedNodeName"), wide=True),
    PrinterColumn("Readiness Gates", _readiness_gates, wide=True),
)


@cell
def _node_status(node: Raw) -> str:
    parts = [
        "Ready" if condition["status"] == "True" else "NotReady"
        for condition in find(node, "status", "conditions", default=())
        if condition["type"] == "Ready"
    ]
    parts = parts or ["Unknown"]
    if find(node, "spec", "unschedulable"):
        parts.append("SchedulingDisabled")
    return join(parts)


@cell
def _roles(node: Raw) -> str:
    return join(sorted(_role_names(node))) or NONE


def _role_names(node: Raw) -> Iterator[str]:
    for key, value in (node["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE_PREFIX) and key != _ROLE_PREFIX:
            yield key.removeprefix(_ROLE_PREFIX)
        elif key == "kubernetes.io/role" and value:
            yield value


def _address(kind: str) -> Cell:
    @cell
    def print_cell(node: Raw) -> str:
        for address in find(node, "status", "addresses", default=()):
            if address["type"] == kind:
                return str(address["address"])
        return NONE

    return print_cell


def _node_info(key: str) -> Cell:
    @cell
    def print_cell(node: Raw) -> str:
        return find(node, "status", "nodeInfo", key) or UNKNOWN

    return print_cell


NODE: Final = (
    NAME,
    PrinterColumn("Status", _node_status),
    PrinterColumn("Roles", _roles),
    AGE,
    PrinterColumn("Version", field("status", "nodeInfo", "kubeletVersion")),
    PrinterColumn("Internal-IP", _address("InternalIP"), wide=True),
    PrinterColumn("External-IP", _address("ExternalIP"), wide=True),
    PrinterColumn("OS-Image", _node_info("osImage"), wide=True),
    PrinterColumn("Kernel-Version", _node_info("kernelVersion"), wide=True),
    PrinterColumn("Container-Runtime", _node_info("containerRuntimeVersion"), wide=True),
)
