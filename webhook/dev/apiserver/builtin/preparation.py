"""PREPARATIONS: what the API server sets in built-in objects before it stores them."""

from collections.abc import Callable
from typing import Final, NamedTuple

from webhook.dev.apiserver.builtin import encoding, qos, serviceallocators
from webhook.dev.apiserver.builtin.kinds import Builtin
from webhook.dev.apiserver.builtin.reader import Reader
from webhook.kube.meta import Draft

NAMESPACE_FINALIZER: Final = "kubernetes"
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Preparation(NamedTuple):
    """How objects of a kind are prepared for create and for update."""

    create: Callable[[Draft, Reader], None] | None = None
    update: Callable[[Draft, Draft, Reader], None] | None = None


def prepare_create(row: Builtin, obj: Draft, reader: Reader) -> None:
    """Prepare a new object; its status is the zero value."""
    if row.has_status:
        obj["status"] = encoding.zero_value(row.component).get("status", {})
    function = PREPARATIONS.get(row.storage, _NONE).create
    if function is not None:
        function(obj, reader)


def prepare_update(row: Builtin, obj: Draft, old: Draft, reader: Reader) -> None:
    """Prepare an updated object, which has the status of the old one already."""
    function = PREPARATIONS.get(row.storage, _NONE).update
    if function is not None:
        function(obj, old, reader)


def _create_namespace(obj: Draft, reader: Reader) -> None:
    del reader
    spec = obj.setdefault("spec", {})
    if NAMESPACE_FINALIZER not in (spec.get("finalizers") or ()):
        spec["finalizers"] = [*(spec.get("finalizers") or ()), NAMESPACE_FINALIZER]
    obj["status"] = {"phase": "Active"}


def _update_namespace(obj: Draft, old: Draft, reader: Reader) -> None:
    del reader
    finalizers = (old.get("spec") or {}).get("finalizers")
    obj.setdefault("spec", {}).pop("finalizers", None)
    if finalizers:
        obj["spec"]["finalizers"] = finalizers


def _create_pod(obj: Draft, reader: Reader) -> None:
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


def _add_stored_version(obj: Draft) -> None:
    """Add the storage version to status.storedVersions."""
    marked = [version for version in obj["spec"].get("versions") or () if version.get("storage")]
    status = obj.setdefault("status", {})
    stored = list(status.get("storedVersions") or ())
    status["storedVersions"] = stored + [
        version["name"] for version in marked[:1] if version["name"] not in stored
    ]


def _create_node(obj: Draft, reader: Reader) -> None:
    """Taint a new Node as not ready; the taint is removed once the Node is reported as ready."""
    del reader
    taints = obj.setdefault("spec", {}).get("taints") or []
    if not any(all(taint.get(key) == _NOT_READY[key] for key in _NOT_READY) for taint in taints):
        obj["spec"]["taints"] = [*taints, dict(_NOT_READY)]


def _update_deployment(obj: Draft, old: Draft, reader: Reader) -> None:
    """Count a change of annotations as a new generation, since ReplicaSets inherit them."""
    del reader
    before, after = old["metadata"], obj["metadata"]
    if (after.get("annotations") or {}) != (before.get("annotations") or {}):
        after["generation"] = int(before.get("generation", 0)) + 1


_NONE: Final = Preparation()

PREPARATIONS: Final[dict[str, Preparation]] = {
    "customresourcedefinitions.apiextensions.k8s.io": Preparation(
        lambda obj, _: _add_stored_version(obj), lambda obj, _, __: _add_stored_version(obj)
    ),
    "deployments.apps": Preparation(update=_update_deployment),
    "namespaces": Preparation(_create_namespace, _update_namespace),
    "nodes": Preparation(_create_node),
    "pods": Preparation(_create_pod),
    "services": Preparation(serviceallocators.allocate_create, serviceallocators.allocate_update),
}
