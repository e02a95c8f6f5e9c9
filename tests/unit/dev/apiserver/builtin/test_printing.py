"""The columns of `kubectl get` for built-in kinds."""

from datetime import UTC, datetime
from typing import Any

import pytest

from webhook.dev.apiserver.builtin.kinds import BUILTINS
from webhook.dev.apiserver.builtin.printing import table

NOW = datetime(2026, 1, 1, 1, 0, 0, tzinfo=UTC)


def _row(storage: str, obj: dict[str, Any]) -> dict[str, Any]:
    obj.setdefault("metadata", {}).setdefault("name", "x")
    return {heading.name: heading.cell(obj, NOW) for heading in table.printer_columns(storage)}


def test_every_kind_prints_an_empty_object():
    for row in BUILTINS:
        if "get" in row.verbs:
            assert _row(row.storage, {})["Name"] == "x", row.kind


def test_columns_belong_to_served_kinds():
    parts = {"scales.autoscaling"}
    assert set(table.PRINTER_COLUMNS) <= {row.storage for row in BUILTINS} | parts


def _pod(status: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]}
    return {"metadata": {"name": "p", **metadata}, "spec": spec, "status": status}


def _state(ready: bool = False, restarts: int = 0, **state: Any) -> dict[str, Any]:
    return {"ready": ready, "restartCount": restarts, "state": state}


@pytest.mark.parametrize(
    ("pod", "ready", "status", "restarts"),
    [
        pytest.param(_pod({"phase": "Pending"}), "0/2", "Pending", "0", id="new"),
        pytest.param(
            _pod(
                {
                    "phase": "Running",
                    "containerStatuses": [_state(True, running={}), _state(False, 3, running={})],
                }
            ),
            "1/2",
            "Running",
            "3",
            id="half ready",
        ),
        pytest.param(
            _pod({"phase": "Running", "containerStatuses": [_state(waiting={"reason": "Crash"})]}),
            "0/2",
            "Crash",
            "0",
            id="a waiting container",
        ),
        pytest.param(
            _pod({"phase": "Failed", "containerStatuses": [_state(terminated={"exitCode": 2})]}),
            "0/2",
            "ExitCode:2",
            "0",
            id="a terminated container",
        ),
        pytest.param(
            _pod({"phase": "Pending", "initContainerStatuses": [_state(running={})]}),
            "0/2",
            "Init:0/1",
            "0",
            id="a running init container",
        ),
        pytest.param(
            _pod({"phase": "Failed", "reason": "Evicted"}),
            "0/2",
            "Evicted",
            "0",
            id="a reason in the status",
        ),
        pytest.param(
            _pod({"phase": "Running"}, deletionTimestamp="2026-01-01T00:00:00Z"),
            "0/2",
            "Terminating",
            "0",
            id="being deleted",
        ),
    ],
)
def test_pods(pod, ready, status, restarts):
    row = _row("pods", pod)
    assert (row["Ready"], row["Status"], row["Restarts"]) == (ready, status, restarts)


def test_restarts_show_the_time_of_the_last_one():
    ended = {"terminated": {"finishedAt": "2026-01-01T00:55:00Z"}}
    one = {**_state(True, 4, running={}), "lastState": ended}
    assert _row("pods", _pod({"containerStatuses": [one]}))["Restarts"] == "4 (5m ago)"


@pytest.mark.parametrize(
    ("node", "status", "roles"),
    [
        pytest.param({}, "Unknown", "<none>", id="no status"),
        pytest.param(
            {
                "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
                "spec": {"unschedulable": True},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            },
            "Ready,SchedulingDisabled",
            "worker",
            id="ready and unschedulable",
        ),
    ],
)
def test_nodes(node, status, roles):
    row = _row("nodes", node)
    assert (row["Status"], row["Roles"]) == (status, roles)


@pytest.mark.parametrize(
    ("spec", "state", "external", "ports"),
    [
        pytest.param(
            {"type": "ClusterIP", "ports": [{"port": 80}]},
            {},
            "<none>",
            "80/TCP",
            id="a cluster IP",
        ),
        pytest.param(
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001, "protocol": "UDP"}]},
            {},
            "<none>",
            "80:30001/UDP",
            id="a node port",
        ),
        pytest.param(
            {"type": "LoadBalancer"},
            {},
            "<pending>",
            "<none>",
            id="a load balancer without an address",
        ),
        pytest.param(
            {"type": "LoadBalancer"},
            {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            "1.2.3.4",
            "<none>",
            id="a load balancer with an address",
        ),
    ],
)
def test_services(spec, state, external, ports):
    row = _row("services", {"spec": spec, "status": state})
    assert (row["External-IP"], row["Port(s)"]) == (external, ports)


def test_an_autoscaler_shows_current_and_target_metrics():
    target = {"type": "Utilization", "averageUtilization": 80}
    spec = {
        "maxReplicas": 3,
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    storage = "horizontalpodautoscalers.autoscaling"
    assert _row(storage, {"spec": spec})["Targets"] == "cpu: <unknown>/80%"
    current = [{"resource": {"current": {"averageUtilization": 50}}}]
    row = _row(storage, {"spec": spec, "status": {"currentMetrics": current}})
    assert (row["Reference"], row["Targets"]) == ("Deployment/d", "cpu: 50%/80%")
