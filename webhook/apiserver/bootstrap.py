"""What is there from the first start on: the namespaces that every cluster has."""

from typing import Final

from webhook.apiserver import meta
from webhook.apiserver.core import Core

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


async def ensure(core: Core) -> None:
    """Create what is missing."""
    collection = core.store.collection("namespaces")
    for name in NAMESPACES:
        if collection.head(name) is None:
            obj = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            }
            meta.fill_system_fields(obj, core.now())
            await core.store.put(collection, obj, None)
