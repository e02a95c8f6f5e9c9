"""Columns of workloads, HorizontalPodAutoscalers and PodDisruptionBudgets."""

from typing import Final

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
    format_selector,
    join,
)
from webhook.kube.meta import Raw

SCALE: Final = (
    NAME,
    PrinterColumn("Desired", field("spec", "replicas", default=0), type="integer"),
    PrinterColumn("Available", field("status", "replicas", default=0), type="integer"),
    AGE,
)


@cell
def _ready(obj: Raw) -> str:
    wanted = find(obj, "spec", "replicas", default=0)
    return f"{find(obj, 'status', 'readyReplicas', default=0)}/{wanted}"


def _containers(key: str) -> Cell:
    @cell
    def print_cell(obj: Raw) -> str:
        found = find(obj, "spec", "template", "spec", "containers", default=())
        return join(container.get(key, "") for container in found)

    return print_cell


@cell
def _selector(obj: Raw) -> str:
    return format_selector(find(obj, "spec", "selector"))


_TEMPLATE: Final = (
    PrinterColumn("Containers", _containers("name"), wide=True),
    PrinterColumn("Images", _containers("image"), wide=True),
)
DEPLOYMENT: Final = (
    NAME,
    PrinterColumn("Ready", _ready),
    PrinterColumn("Up-to-date", field("status", "updatedReplicas", default=0)),
    PrinterColumn("Available", field("status", "availableReplicas", default=0)),
    AGE,
    *_TEMPLATE,
    PrinterColumn("Selector", _selector, wide=True),
)
STATEFUL_SET: Final = (NAME, PrinterColumn("Ready", _ready), AGE, *_TEMPLATE)
REPLICA_SET: Final = (
    NAME,
    PrinterColumn("Desired", field("spec", "replicas", default=0), type="integer"),
    PrinterColumn("Current", field("status", "replicas", default=0), type="integer"),
    PrinterColumn("Ready", field("status", "readyReplicas", default=0), type="integer"),
    AGE,
    *_TEMPLATE,
    PrinterColumn("Selector", _selector, wide=True),
)


@cell
def _controller(obj: Raw) -> str:
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            group = reference["apiVersion"].rpartition("/")[0]
            kind = reference["kind"].lower()
            return f"{kind}.{group}/{reference['name']}" if group else f"{kind}/{reference['name']}"
    return NONE


CONTROLLER_REVISION: Final = (
    NAME,
    PrinterColumn("Controller", _controller),
    PrinterColumn("Revision", field("revision", default=0)),
    AGE,
)


@cell
def _target(obj: Raw) -> str:
    target = find(obj, "spec", "scaleTargetRef", default={})
    return f"{target.get('kind', '')}/{target.get('name', '')}"


@cell
def _metrics(obj: Raw) -> str:
    printed = []
    current = find(obj, "status", "currentMetrics", default=())
    for index, metric in enumerate(find(obj, "spec", "metrics", default=())):
        source = metric.get("resource")
        if metric.get("type") != "Resource" or source is None:
            printed.append(f"{UNKNOWN}/{UNKNOWN}")
            continue
        current_value = (
            find(current[index], "resource", "current", default={}) if index < len(current) else {}
        )
        printed.append(f"{source['name']}: {_resource(source.get('target') or {}, current_value)}")
    if not printed:
        return NONE
    more = f" + {len(printed) - 2} more..." if len(printed) > 2 else ""
    return ", ".join(printed[:2]) + more


def _resource(target: Raw, current_value: Raw) -> str:
    if target.get("averageValue") is not None:
        return f"{current_value.get('averageValue', UNKNOWN)}/{target['averageValue']}"
    used = current_value.get("averageUtilization")
    printed = UNKNOWN if used is None else f"{used}%"
    return f"{printed}/{target.get('averageUtilization', UNKNOWN)}%"


@cell
def _minimum(obj: Raw) -> str:
    return str(find(obj, "spec", "minReplicas", default="<unset>"))


AUTOSCALER: Final = (
    NAME,
    PrinterColumn("Reference", _target),
    PrinterColumn("Targets", _metrics),
    PrinterColumn("MinPods", _minimum),
    PrinterColumn("MaxPods", field("spec", "maxReplicas", default=0)),
    PrinterColumn("Replicas", field("status", "currentReplicas", default=0)),
    AGE,
)


def _bound(key: str) -> Cell:
    @cell
    def print_cell(obj: Raw) -> str:
        return str(find(obj, "spec", key, default="N/A"))

    return print_cell


BUDGET: Final = (
    NAME,
    PrinterColumn("Min Available", _bound("minAvailable")),
    PrinterColumn("Max Unavailable", _bound("maxUnavailable")),
    PrinterColumn(
        "Allowed Disruptions", field("status", "disruptionsAllowed", default=0), type="integer"
    ),
    AGE,
)
