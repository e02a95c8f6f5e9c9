"""PREPARATIONS: what the server itself puts into built-in objects before it stores them."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from webhook.apiserver.builtin import addresses, qos
from webhook.apiserver.builtin.reading import Reader

Object = dict[str, Any]

NAMESPACE_FINALIZER: Final = "kubernetes"
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Preparation(NamedTuple):
    """How a kind is made ready for storage when it is created and when it is updated."""

    create: Callable[[Object, Reader], None] | None = None
    update: Callable[[Object, Object, Reader], None] | None = None


def create(storage: str, obj: Object, reader: Reader) -> None:
    """Prepare a new object; its status was cleared before."""
    function = PREPARATIONS.get(storage, _NONE).create
    if function is not None:
        function(obj, reader)


def update(storage: str, obj: Object, old: Object, reader: Reader) -> None:
    """Prepare a changed object; its status is the old one's already."""
    function = PREPARATIONS.get(storage, _NONE).update
    if function is not None:
        function(obj, old, reader)


def _create_namespace(obj: Object, reader: Reader) -> None:
    del reader
    spec = obj.setdefault("spec", {})
    if NAMESPACE_FINALIZER not in (spec.get("finalizers") or ()):
        spec["finalizers"] = [*(spec.get("finalizers") or ()), NAMESPACE_FINALIZER]
    obj["status"] = {"phase": "Active"}


def _update_namespace(obj: Object, old: Object, reader: Reader) -> None:
    del reader
    finalizers = (old.get("spec") or {}).get("finalizers")
    obj.setdefault("spec", {}).pop("finalizers", None)
    if finalizers:
        obj["spec"]["finalizers"] = finalizers


def _create_pod(obj: Object, reader: Reader) -> None:
    del reader
    obj["status"] = {"phase": "Pending", "qosClass": qos.qos_class(obj["spec"])}
    if obj["spec"].get("schedulingGates"):
        obj["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": None,
            }
        ]


def _create_node(obj: Object, reader: Reader) -> None:
    """A node takes no pods until something reports that it is ready."""
    del reader
    taints = obj.setdefault("spec", {}).get("taints") or []
    if not any(all(taint.get(key) == _NOT_READY[key] for key in _NOT_READY) for taint in taints):
        obj["spec"]["taints"] = [*taints, dict(_NOT_READY)]


def _update_deployment(obj: Object, old: Object, reader: Reader) -> None:
    """A Deployment counts a change of its annotations, which its revisions carry on."""
    del reader
    before, after = old["metadata"], obj["metadata"]
    if (after.get("annotations") or {}) != (before.get("annotations") or {}):
        after["generation"] = int(before.get("generation", 0)) + 1


_NONE: Final = Preparation()

PREPARATIONS: Final[dict[str, Preparation]] = {
    "deployments.apps": Preparation(update=_update_deployment),
    "namespaces": Preparation(_create_namespace, _update_namespace),
    "nodes": Preparation(_create_node),
    "pods": Preparation(_create_pod),
    "services": Preparation(addresses.create, addresses.update),
}
