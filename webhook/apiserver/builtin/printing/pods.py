"""Cells of Pods and Nodes."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from webhook.apiserver import durations
from webhook.apiserver.builtin.printing.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Heading,
    field,
    find,
    joined,
)

Object = dict[str, Any]

_ROLE: Final = "node-role.kubernetes.io/"


def _statuses(pod: Object) -> list[Object]:
    found: list[Object] = find(pod, "status", "containerStatuses", default=[])
    return found


def _ready(pod: Object, now: datetime) -> str:
    del now
    ready = sum(
        bool(one.get("ready")) and "running" in (one.get("state") or {}) for one in _statuses(pod)
    )
    return f"{ready}/{len(find(pod, 'spec', 'containers', default=()))}"


def _status(pod: Object, now: datetime) -> str:
    del now
    reason = find(pod, "status", "reason") or find(pod, "status", "phase", default="")
    for condition in find(pod, "status", "conditions", default=()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    reason = _initializing(pod) or _container_reason(pod) or reason
    if pod["metadata"].get("deletionTimestamp"):
        return UNKNOWN if find(pod, "status", "reason") == "NodeLost" else "Terminating"
    return str(reason)


def _initializing(pod: Object) -> str:
    """Say how far the init containers are, if they are not through."""
    total = len(find(pod, "spec", "initContainers", default=()))
    for index, one in enumerate(find(pod, "status", "initContainerStatuses", default=())):
        state = one.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and ended.get("exitCode") == 0:
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or _exit(ended)}"
        if waiting is not None and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return ""


def _exit(ended: Object) -> str:
    signal = ended.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode', 0)}"


def _container_reason(pod: Object) -> str:
    reason = ""
    for one in reversed(_statuses(pod)):
        state = one.get("state") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting is not None and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = ended.get("reason") or _exit(ended)
    return reason


def _restarts(pod: Object, now: datetime) -> str:
    count, last = 0, ""
    for one in _statuses(pod):
        count += one.get("restartCount", 0)
        last = max(last, find(one, "lastState", "terminated", "finishedAt", default=""))
    return f"{count} ({durations.age(last, now)} ago)" if count and last else str(count)


def _or_none(*path: str) -> Cell:
    return field(*path, default=NONE)


def _gates(pod: Object, now: datetime) -> str:
    del now
    gates = find(pod, "spec", "readinessGates", default=())
    if not gates:
        return NONE
    states = {one["type"]: one["status"] for one in find(pod, "status", "conditions", default=())}
    return f"{sum(states.get(gate['conditionType']) == 'True' for gate in gates)}/{len(gates)}"


POD: Final = (
    NAME,
    Heading("Ready", _ready),
    Heading("Status", _status),
    Heading("Restarts", _restarts),
    AGE,
    Heading("IP", _or_none("status", "podIP"), wide=True),
    Heading("Node", _or_none("spec", "nodeName"), wide=True),
    Heading("Nominated Node", _or_none("status", "nominatedNodeName"), wide=True),
    Heading("Readiness Gates", _gates, wide=True),
)


def _node_status(node: Object, now: datetime) -> str:
    del now
    words = [
        "Ready" if condition["status"] == "True" else "NotReady"
        for condition in find(node, "status", "conditions", default=())
        if condition["type"] == "Ready"
    ]
    words = words or ["Unknown"]
    if find(node, "spec", "unschedulable"):
        words.append("SchedulingDisabled")
    return joined(words)


def _roles(node: Object, now: datetime) -> str:
    del now
    return joined(sorted(_role_names(node))) or NONE


def _role_names(node: Object) -> Iterator[str]:
    for key, value in (node["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE) and key != _ROLE:
            yield key.removeprefix(_ROLE)
        elif key == "kubernetes.io/role" and value:
            yield value


def _address(kind: str) -> Cell:
    def cell(node: Object, now: datetime) -> str:
        del now
        for address in find(node, "status", "addresses", default=()):
            if address["type"] == kind:
                return str(address["address"])
        return NONE

    return cell


def _info(key: str) -> Cell:
    def cell(node: Object, now: datetime) -> str:
        del now
        return find(node, "status", "nodeInfo", key) or UNKNOWN

    return cell


NODE: Final = (
    NAME,
    Heading("Status", _node_status),
    Heading("Roles", _roles),
    AGE,
    Heading("Version", field("status", "nodeInfo", "kubeletVersion")),
    Heading("Internal-IP", _address("InternalIP"), wide=True),
    Heading("External-IP", _address("ExternalIP"), wide=True),
    Heading("OS-Image", _info("osImage"), wide=True),
    Heading("Kernel-Version", _info("kernelVersion"), wide=True),
    Heading("Container-Runtime", _info("containerRuntimeVersion"), wide=True),
)
