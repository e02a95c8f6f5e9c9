"""Cells of workloads and of what scales and protects them."""

from datetime import datetime
from typing import Any, Final

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
    selector,
)

Object = dict[str, Any]

SCALE: Final = (
    NAME,
    Heading("Desired", field("spec", "replicas", default=0), type="integer"),
    Heading("Available", field("status", "replicas", default=0), type="integer"),
    AGE,
)


def _ready(obj: Object, now: datetime) -> str:
    del now
    wanted = find(obj, "spec", "replicas", default=0)
    return f"{find(obj, 'status', 'readyReplicas', default=0)}/{wanted}"


def _containers(key: str) -> Cell:
    def cell(obj: Object, now: datetime) -> str:
        del now
        found = find(obj, "spec", "template", "spec", "containers", default=())
        return joined(container.get(key, "") for container in found)

    return cell


def _selector(obj: Object, now: datetime) -> str:
    del now
    return selector(find(obj, "spec", "selector"))


_TEMPLATE: Final = (
    Heading("Containers", _containers("name"), wide=True),
    Heading("Images", _containers("image"), wide=True),
)
DEPLOYMENT: Final = (
    NAME,
    Heading("Ready", _ready),
    Heading("Up-to-date", field("status", "updatedReplicas", default=0)),
    Heading("Available", field("status", "availableReplicas", default=0)),
    AGE,
    *_TEMPLATE,
    Heading("Selector", _selector, wide=True),
)
STATEFUL_SET: Final = (NAME, Heading("Ready", _ready), AGE, *_TEMPLATE)
REPLICA_SET: Final = (
    NAME,
    Heading("Desired", field("spec", "replicas", default=0), type="integer"),
    Heading("Current", field("status", "replicas", default=0), type="integer"),
    Heading("Ready", field("status", "readyReplicas", default=0), type="integer"),
    AGE,
    *_TEMPLATE,
    Heading("Selector", _selector, wide=True),
)


def _controller(obj: Object, now: datetime) -> str:
    del now
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            group = reference["apiVersion"].rpartition("/")[0]
            kind = reference["kind"].lower()
            return f"{kind}.{group}/{reference['name']}" if group else f"{kind}/{reference['name']}"
    return NONE


CONTROLLER_REVISION: Final = (
    NAME,
    Heading("Controller", _controller),
    Heading("Revision", field("revision", default=0)),
    AGE,
)


def _target(obj: Object, now: datetime) -> str:
    del now
    target = find(obj, "spec", "scaleTargetRef", default={})
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _metrics(obj: Object, now: datetime) -> str:
    del now
    shown = []
    current = find(obj, "status", "currentMetrics", default=())
    for index, metric in enumerate(find(obj, "spec", "metrics", default=())):
        source = metric.get("resource")
        if metric.get("type") != "Resource" or source is None:
            shown.append(f"{UNKNOWN}/{UNKNOWN}")
            continue
        have = (
            find(current[index], "resource", "current", default={}) if index < len(current) else {}
        )
        shown.append(f"{source['name']}: {_resource(source.get('target') or {}, have)}")
    if not shown:
        return NONE
    more = f" + {len(shown) - 2} more..." if len(shown) > 2 else ""
    return ", ".join(shown[:2]) + more


def _resource(target: Object, have: Object) -> str:
    if target.get("averageValue") is not None:
        return f"{have.get('averageValue', UNKNOWN)}/{target['averageValue']}"
    used = have.get("averageUtilization")
    shown = UNKNOWN if used is None else f"{used}%"
    return f"{shown}/{target.get('averageUtilization', UNKNOWN)}%"


def _minimum(obj: Object, now: datetime) -> str:
    del now
    return str(find(obj, "spec", "minReplicas", default="<unset>"))


AUTOSCALER: Final = (
    NAME,
    Heading("Reference", _target),
    Heading("Targets", _metrics),
    Heading("MinPods", _minimum),
    Heading("MaxPods", field("spec", "maxReplicas", default=0)),
    Heading("Replicas", field("status", "currentReplicas", default=0)),
    AGE,
)


def _bound(key: str) -> Cell:
    def cell(obj: Object, now: datetime) -> str:
        del now
        return str(find(obj, "spec", key, default="N/A"))

    return cell


BUDGET: Final = (
    NAME,
    Heading("Min Available", _bound("minAvailable")),
    Heading("Max Unavailable", _bound("maxUnavailable")),
    Heading(
        "Allowed Disruptions", field("status", "disruptionsAllowed", default=0), type="integer"
    ),
    AGE,
)
