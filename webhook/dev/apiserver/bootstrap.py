"""The objects of every cluster: namespaces, roles, priority classes, the API server's Service."""

from collections.abc import Iterator
from typing import Final

from webhook.dev.apiserver.auth import bootstrappolicy
from webhook.dev.apiserver.auth.rbac import GROUP
from webhook.dev.apiserver.builtin import serviceallocators
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.registry import objectmeta
from webhook.kube.meta import Draft

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


_PRIORITIES: Final = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another "
        "node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}


async def ensure(core: Core) -> None:
    """Create the objects that are missing."""
    for storage, obj in _objects():
        collection = core.store.collection(storage)
        metadata = obj["metadata"]
        namespace = metadata.get("namespace")
        key = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
        if collection.head(key) is None:
            objectmeta.fill_system_fields(obj, core.now())
            await core.store.put(collection, obj, None)


def _objects() -> Iterator[tuple[str, Draft]]:
    for name in NAMESPACES:
        yield "namespaces", _namespace(name)
    for role in bootstrappolicy.roles():
        yield f"clusterroles.{GROUP}", role
    for binding in bootstrappolicy.bindings():
        yield f"clusterrolebindings.{GROUP}", binding
    for name, (value, description) in _PRIORITIES.items():
        yield "priorityclasses.scheduling.k8s.io", _priority(name, value, description)
    yield "services", _service()


def _namespace(name: str) -> Draft:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _priority(name: str, value: int, description: str) -> Draft:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "generation": 1},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _service() -> Draft:
    address = str(serviceallocators.SERVICE_CLUSTER_IP_RANGE[1])
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
        },
        "status": {"loadBalancer": {}},
    }
