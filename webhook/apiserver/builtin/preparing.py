"""PREPARATIONS: what the server itself puts into built-in objects before it stores them."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from webhook.apiserver.builtin import addresses, encoding, qos
from webhook.apiserver.builtin.generate import component
from webhook.apiserver.builtin.kinds import Builtin
from webhook.apiserver.builtin.reading import Reader

Object = dict[str, Any]

NAMESPACE_FINALIZER: Final = "kubernetes"
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Preparation(NamedTuple):
    """How a kind is made ready for storage when it is created and when it is updated."""

    create: Callable[[Object, Reader], None] | None = None
    update: Callable[[Object, Object, Reader], None] | None = None


def create(row: Builtin, obj: Object, reader: Reader) -> None:
    """Prepare a new object: nothing is known of its state yet."""
    if row.has_status:
        obj["status"] = encoding.zero(component(row.model)).get("status", {})
    function = PREPARATIONS.get(row.storage, _NONE).create
    if function is not None:
        function(obj, reader)


def update(row: Builtin, obj: Object, old: Object, reader: Reader) -> None:
    """Prepare a changed object; its status is the old one's already."""
    function = PREPARATIONS.get(row.storage, _NONE).update
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


def _note_stored_version(obj: Object) -> None:
    """Add the version that is stored to those in which objects may be found."""
    marked = [version for version in obj["spec"].get("versions") or () if version.get("storage")]
    status = obj.setdefault("status", {})
    stored = list(status.get("storedVersions") or ())
    status["storedVersions"] = stored + [
        version["name"] for version in marked[:1] if version["name"] not in stored
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
    "customresourcedefinitions.apiextensions.k8s.io": Preparation(
        lambda obj, _: _note_stored_version(obj), lambda obj, _, __: _note_stored_version(obj)
    ),
    "deployments.apps": Preparation(update=_update_deployment),
    "namespaces": Preparation(_create_namespace, _update_namespace),
    "nodes": Preparation(_create_node),
    "pods": Preparation(_create_pod),
    "services": Preparation(addresses.create, addresses.update),
}
